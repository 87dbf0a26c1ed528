/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library of tools: its file, versions, promotion, decisions, transfer, the difference of two
 * texts. No sandbox has a part in it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/tools/identity.h"
#include "isolate/tools/versions.h"
#include "isolate/tools/tool_show.h"
#include "tests/unit/tap.h"

static char base[200];
static struct error err;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static void make_base(void)
{
	const char *directory = getenv("TMPDIR");

	snprintf(base, sizeof base, "%s/cordon-unit-XXXXXX", directory ? directory : "/tmp");
	if (!mkdtemp(base))
		exit(2);
}

static struct store open_store(const char *user)
{
	struct store s;

	err = (struct error)ERROR_INIT;
	if (store_open(&s, base, user, true, 0, &err) < 0)
		diag("%s", err.context);
	return s;
}

/* A specification whose implementation is this text. */
static struct spec make_spec(const char *name, const char *implementation, double timeout)
{
	struct spec spec;
	char text[400];

	snprintf(text, sizeof text,
		"{\"name\":\"%s\",\"description\":\"d\",\"parameters\":{},\"implementation\":\"%"
		"s\",\"timeout_s\":%g}",
		name, implementation, timeout);
	if (spec_read(&spec, text, strlen(text), &err) < 0)
		diag("%s", err.context);
	return spec;
}

struct wanted {
	const char *policy, *session, *fallback;
	int64_t threshold;
	double timeout;
};

static int spawn(struct store *s, const char *name, const char *implementation,
	const struct wanted *w, struct item *item)
{
	struct spec spec = make_spec(name, implementation, w && w->timeout > 0 ? w->timeout : 1);
	struct spawning n = { .spec = &spec, .who = "tester" };
	bool is_new = false;
	int status;

	if (w && w->policy) {
		n.has_policy = true;
		n.policy = promotion_policy_of(w->policy);
	}
	if (w && w->fallback)
		n.fallback_policy = promotion_policy_of(w->fallback);
	n.threshold = w ? w->threshold : 0;
	n.session = w ? w->session : NULL;
	status = versions_spawn(s, &n, item, &is_new, &err);
	if (status < 0 && s->in_transaction) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		s->in_transaction = false;
	}
	spec_free(&spec);
	return status < 0 ? -1 : is_new;
}

static enum promotion_step record(struct store *s, int64_t id, const char *error, struct item *item)
{
	struct touched touched[] = { { (char *)"files", (char *)"/etc/x", 1 },
		{ (char *)"syscalls", (char *)"ptrace", 2 } };
	const struct run run = { "an-id", error, 1500, touched, 2 };
	enum promotion_step step;

	if (versions_record(s, id, &run, item, &step, &err) < 0)
		diag("%s", err.context);
	return step;
}

/* One decision; whatever it was is over afterwards. */
static int decide(struct store *s,
	int (*function)(struct store *, const struct decision *, struct item *, struct error *),
	const struct item *on, bool with_version, struct item *item)
{
	struct decision d = { .name = on->name, .who = "tester", .reason = "because" };
	int status;

	memcpy(d.reference.hash, on->hash, sizeof on->hash);
	d.reference.version = with_version ? on->version : 0;
	err = (struct error)ERROR_INIT;
	status = function(s, &d, item, &err);
	if (s->in_transaction) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		s->in_transaction = false;
	}
	return status;
}

static int take_back(struct store *s, const struct decision *d, struct item *item, struct error *e)
{
	struct item restored;

	return decisions_revoke(s, d, item, &restored, e);
}

static int refuse(struct store *s, const struct decision *d, struct item *item, struct error *e)
{
	struct item restored;

	return decisions_reject(s, d, item, &restored, e);
}

static void forget(struct store *s, const struct item *item, bool with_version)
{
	struct decision d = { .name = item->name,
		.who = "tester",
		.reference = { .version = with_version ? item->version : 0 } };
	struct item restored;
	int64_t forgotten;

	if (decisions_forget(s, &d, &forgotten, &restored, &err) < 0)
		diag("%s", err.context);
}

static void state_is(struct store *s, const struct item *item, const char *wanted, const char *what)
{
	struct item now;

	item_of_id(s, item->id, &now, &err);
	is_str(now.id ? promotion_state_word(now.state) : "gone", wanted, "%s", what);
}

/* ---- the file ---- */

static void write_file(const char *path, const char *bytes, size_t length, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || pwrite(fd, bytes, length, at) != (ssize_t)length || close(fd) != 0)
		diag("cannot write %s", path);
}

static void test_file(void)
{
	struct store s = open_store("file"), other;
	char path[400];
	struct stat st;

	snprintf(path, sizeof path, "%s/file/tools.sqlite", base);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "the file is its user's alone");
	snprintf(path, sizeof path, "%s/file", base);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700, "and so is its directory");
	snprintf(path, sizeof path, "%s/file/tools.sqlite-wal", base);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "and what stands beside it");
	is_int(store_check(&s, &err), 0, "integrity");
	store_close(&s);
	ok(store_open(&other, base, "nobody", false, 0, &err) == 0 && !other.db,
		"a library that does not exist is an empty one");
	snprintf(path, sizeof path, "%s/nobody", base);
	ok(stat(path, &st) != 0, "and looking makes none");
}

/* Opens a file that is no library of ours; it must be refused, and stay as it is. */
static void test_refused(const char *user, const char *words)
{
	char path[400], before[8192] = "", after[8192] = "";
	struct store s;
	FILE *file;
	size_t had, got;

	snprintf(path, sizeof path, "%s/%s/tools.sqlite", base, user);
	file = fopen(path, "re");
	had = file ? fread(before, 1, sizeof before, file) : 0;
	if (file)
		fclose(file);
	err = (struct error)ERROR_INIT;
	ok(store_open(&s, base, user, true, 0, &err) < 0 && err.code == FAILURE_LIBRARY_BROKEN,
		"%s is refused", user);
	has(err.context, words, "and it is said why");
	store_close(&s);
	file = fopen(path, "re");
	got = file ? fread(after, 1, sizeof after, file) : 0;
	if (file)
		fclose(file);
	ok(had == got && memcmp(before, after, got) == 0, "%s stays as it is", user);
}

static void make_database(const char *user, const char *sql)
{
	char path[400];
	sqlite3 *db;

	snprintf(path, sizeof path, "%s/%s", base, user);
	mkdir(path, 0700);
	strcat(path, "/tools.sqlite");
	if (sqlite3_open(path, &db) != SQLITE_OK ||
		sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		diag("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void test_broken(void)
{
	char path[400];
	struct store s;

	snprintf(path, sizeof path, "%s/text", base);
	mkdir(path, 0700);
	strcat(path, "/tools.sqlite");
	write_file(path,
		"This is no database, and it is longer than a header of a hundred bytes would be, "
		"which is what is looked at.",
		109, 0);
	test_refused("text", "does not begin as a database does");
	make_database("newer",
		"PRAGMA application_id=1668248164; PRAGMA user_version=99; CREATE TABLE x(a)");
	test_refused("newer", "has schema version 99");
	make_database("foreign", "PRAGMA application_id=7; CREATE TABLE x(a)");
	test_refused("foreign", "of another program");
	make_database("plain", "CREATE TABLE x(a)");
	test_refused("plain", "of another program");
	s = open_store("damaged");
	store_close(&s);
	snprintf(path, sizeof path, "%s/damaged/tools.sqlite", base);
	for (off_t page = 1; page < 12; page++)
		write_file(path,
			"damage damage damage damage damage damage damage damage damage damage", 70,
			page * 4096);
	s = open_store("damaged");
	ok(s.db ? store_check(&s, &err) < 0 && err.code == FAILURE_LIBRARY_BROKEN
		: err.code == FAILURE_LIBRARY_BROKEN,
		"damaged pages are found: %s", err.context);
	store_close(&s);
	snprintf(path, sizeof path, "%s/linked", base);
	mkdir(path, 0700);
	strcat(path, "/tools.sqlite");
	if (symlink("/etc/passwd", path) != 0)
		diag("no link");
	ok(store_open(&s, base, "linked", true, 0, &err) < 0, "a link is not followed: %s",
		err.context);
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_migration(void)
{
	struct store s;
	struct item item;

	ok(store_open(&s, base, "old", true, 1, &err) == 0, "a library of the first schema");
	ok(sqlite3_exec(s.db,
		   "INSERT INTO tools VALUES('t', 1); INSERT INTO counts VALUES('t', '" HASH
		   "', 2, 1); INSERT INTO versions(name, version, hash, state, policy, threshold, "
		   "created, created_by, lines,"
		   " description, spec) VALUES('t', 1, '" HASH
		   "', 'trial', 'operator_approval', 4, 0, 'x', 1, 'd', 's')",
		   NULL, NULL, NULL) == SQLITE_OK,
		"with a tool");
	ok(sqlite3_exec(s.db, "SELECT * FROM touched", NULL, NULL, NULL) != SQLITE_OK,
		"has not everything");
	store_close(&s);
	s = open_store("old");
	ok(s.db && sqlite3_exec(s.db, "SELECT * FROM touched", NULL, NULL, NULL) == SQLITE_OK,
		"is brought up to date");
	ok(item_newest(&s, "t", &item, &err) == 1 && item.version == 1 && item.successes == 2 &&
			item.failures == 1,
		"with what it held, and was counted");
	sqlite3_exec(s.db, "DELETE FROM versions", NULL, NULL, NULL);
	ok(spawn(&s, "t", "return 1", NULL, &item) == 1 && item.version == 2 &&
			item.policy == POLICY_OPERATOR && item.threshold == 4,
		"and its policy stays");
	store_close(&s);
}

/* ---- versions and promotion ---- */

static void test_versions(void)
{
	struct store s = open_store("versions");
	struct item one, two, again;

	is_int(spawn(&s, "t", "return 1", NULL, &one), 1, "a first version");
	ok(one.version == 1 && one.state == STATE_TRIAL && one.policy == POLICY_THRESHOLD &&
			one.threshold == 3,
		"in trial, under the default policy");
	is_int(spawn(&s, "t", "return 1", NULL, &again), 0, "the same again is no new one");
	is_int(again.id, one.id, "but that one");
	record(&s, one.id, NULL, &again);
	is_int(spawn(&s, "t", "return 2", NULL, &two), 1,
		"a changed implementation is a new version");
	ok(two.version == 2 && two.successes == 0, "which starts from zero");
	state_is(&s, &one, "superseded", "the older one is out of the running");
	is_int(spawn(&s, "t", "return 2", &(struct wanted){ .timeout = 9 }, &two), 1,
		"so are other limits");
	is_int(two.version, 3, "a version of its own");
	is_int(spawn(&s, "t", "return 1", NULL, &again), 1, "and older code again");
	ok(again.version == 4 && again.successes == 1, "which has the counts of its hash");
	is_int(spawn(&s, "p", "return 1",
		       &(struct wanted){ .policy = "operator_approval", .threshold = 2 }, &one),
		1, "a policy that was chosen");
	is_int(spawn(&s, "p", "return 2", NULL, &two), 1, "another version of it");
	ok(two.policy == POLICY_OPERATOR && two.threshold == 2,
		"stays under it, so that a respawn is no way round an operator");
	store_close(&s);
}

static void test_promotion(void)
{
	struct store s = open_store("promotion");
	struct item item, next;

	spawn(&s, "three", "return 1", NULL, &item);
	ok(record(&s, item.id, NULL, &next) == STEP_NONE &&
			record(&s, item.id, "it failed", &next) == STEP_NONE &&
			record(&s, item.id, NULL, &next) == STEP_NONE && next.state == STATE_TRIAL,
		"two successes of three, and a failure that does not count");
	is_int(record(&s, item.id, NULL, &next), STEP_PROMOTE, "the third is enough");
	ok(next.state == STATE_PROMOTED && next.successes == 3 && next.failures == 1,
		"it is promoted");
	is_int(record(&s, item.id, NULL, &next), STEP_NONE, "once");
	spawn(&s, "eager", "return 1", &(struct wanted){ .policy = "eager" }, &item);
	is_int(record(&s, item.id, "no", &next), STEP_NONE, "eager: not after a failure");
	is_int(record(&s, item.id, NULL, &next), STEP_PROMOTE, "but after the first success");
	spawn(&s, "asked", "return 1",
		&(struct wanted){ .policy = "operator_approval", .threshold = 1 }, &item);
	is_int(record(&s, item.id, NULL, &next), STEP_WAIT, "operator_approval: it waits");
	ok(next.state == STATE_PENDING && record(&s, item.id, NULL, &next) == STEP_NONE,
		"and is told once");
	is_int(decide(&s, decisions_promote, &item, false, &next), 0, "an operator promotes it");
	is_int(next.state, STATE_PROMOTED, "then it is");
	spawn(&s, "asked", "return 2", NULL, &next);
	state_is(&s, &item, "promoted", "a newer version in trial leaves the promoted one");
	store_close(&s);
}

static void test_decisions(void)
{
	struct store s = open_store("decisions");
	struct item one, two, three, found;
	int64_t forgotten = 0;
	struct decision d = { .name = "t", .who = "tester" };

	spawn(&s, "t", "return 1",
		&(struct wanted){ .policy = "operator_approval", .threshold = 1 }, &one);
	record(&s, one.id, NULL, &one);
	spawn(&s, "t", "return 2", NULL, &two);
	ok(decide(&s, decisions_promote, &one, false, &found) < 0 &&
			err.code == FAILURE_TOOL_CHANGED,
		"what was replaced meanwhile cannot be promoted");
	ok(strstr(err.context, one.hash) && strstr(err.context, two.hash), "both hashes are named");
	ok(decide(&s, decisions_promote, &(struct item){ .name = "t", .hash = "0123456789abcdef" },
		   false, &found) < 0 &&
			err.code == FAILURE_TOOL_CHANGED,
		"nor a hash that there never was");
	ok(decide(&s, decisions_promote,
		   &(struct item){ .name = "none", .hash = "0123456789abcdef" }, false,
		   &found) < 0 &&
			err.code == FAILURE_TOOL_UNKNOWN,
		"nor a tool");
	ok(decide(&s, decisions_promote, &(struct item){ .name = "t" }, false, &found) < 0 &&
			err.code == FAILURE_BAD_OPTION,
		"nor anything without a hash");
	is_int(decide(&s, decisions_promote, &two, false, &found), 0,
		"the newest can, before it is due, too");
	is_int(decide(&s, decisions_promote, &two, true, &found), 0,
		"and again, when the answer was lost");
	spawn(&s, "t", "return 2", &(struct wanted){ .timeout = 7 }, &three);
	ok(decide(&s, decisions_promote, &two, false, &found) < 0 &&
			err.code == FAILURE_TOOL_CHANGED && strstr(err.context, "same code"),
		"two versions of one code: the hash alone is not enough");
	is_int(decide(&s, decisions_promote, &three, true, &found), 0, "with the version it is");
	state_is(&s, &two, "superseded", "the one before is superseded");
	is_int(decide(&s, take_back, &three, true, &found), 0, "revoked");
	state_is(&s, &three, "trial", "it is in trial again");
	state_is(&s, &two, "promoted", "and the one before is back");
	is_int(decide(&s, refuse, &three, true, &found), 0, "rejected");
	ok(versions_find(&s, "t", &(struct reference){ .version = 3 }, NULL, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_REJECTED,
		"it cannot be called");
	ok(versions_find(&s, "t", &(struct reference){ .version = 0 }, NULL, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_REJECTED,
		"nor the promoted one, which has the same code: %s", err.context);
	ok(spawn(&s, "t", "return 2", NULL, &found) < 0 && err.code == FAILURE_TOOL_REJECTED,
		"the same code cannot be spawned: %s", err.context);
	ok(spawn(&s, "renamed", "return 2", NULL, &found) < 0 && err.code == FAILURE_TOOL_REJECTED,
		"nor under another name");
	is_int(decide(&s, take_back, &three, true, &found), 0, "until that is revoked");
	ok(versions_find(&s, "t", &(struct reference){ .version = 0 }, NULL, &found, &err) == 0 &&
			found.id == two.id,
		"then a call of the name means the promoted one");
	is_int(spawn(&s, "t", "return 2", NULL, &found), 1, "and the code can be spawned");
	memcpy(d.reference.hash, one.hash, sizeof one.hash);
	ok(decisions_forget(&s, &d, &forgotten, &found, &err) == 0 && forgotten == 1,
		"one hash is forgotten");
	d.reference.hash[0] = '\0';
	ok(decisions_forget(&s, &d, &forgotten, &found, &err) == 0 && forgotten == 3 &&
			found.id == 0,
		"then all the others (%lld)", (long long)forgotten);
	ok(versions_look_up(&s, "t", &d.reference, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_UNKNOWN,
		"nothing is left");
	spawn(&s, "t", "return 1", NULL, &found);
	ok(found.version == 5 && found.successes == 0,
		"numbers are not used again, counts are gone");
	store_close(&s);
}

/*
 * What was promoted before is again when the promoted version is taken away, however that comes
 * about.
 */
static void test_restored(void)
{
	struct store s = open_store("restored");
	struct wanted eager = { .policy = "eager" };
	struct item one, two, three, again, found;

	spawn(&s, "t", "return 1", &eager, &one);
	record(&s, one.id, NULL, &found);
	spawn(&s, "t", "return 2", NULL, &two);
	record(&s, two.id, NULL, &found);
	spawn(&s, "t", "return 3", NULL, &three);
	record(&s, three.id, NULL, &found);
	state_is(&s, &two, "superseded", "three were promoted, one after the other");
	is_int(decide(&s, refuse, &three, false, &found), 0, "the last is rejected");
	state_is(&s, &two, "promoted", "then the one before is promoted again");
	ok(versions_find(&s, "t", &(struct reference){ .version = 0 }, NULL, &found, &err) == 0 &&
			found.id == two.id,
		"and is what a call of the name means");
	is_int(decide(&s, take_back, &three, false, &found), 0, "the rejection is revoked");
	is_int(decide(&s, decisions_promote, &three, false, &found), 0, "and it is promoted");
	forget(&s, &two, true);
	state_is(&s, &one, "superseded", "one in between is forgotten");
	forget(&s, &three, true);
	state_is(&s, &one, "promoted", "and the last: the first is promoted again");
	spawn(&s, "u", "return 4", &eager, &one);
	record(&s, one.id, NULL, &found);
	spawn(&s, "u", "return 5", NULL, &two);
	record(&s, two.id, NULL, &found);
	spawn(&s, "u", "return 5", &(struct wanted){ .timeout = 9 }, &again);
	is_int(decide(&s, decisions_promote, &again, true, &found), 0,
		"the same code with other limits is promoted");
	is_int(decide(&s, refuse, &again, true, &found), 0, "and rejected");
	state_is(&s, &two, "superseded", "what has the rejected code does not come back");
	state_is(&s, &one, "promoted", "but the one before that");
	store_close(&s);
}

/* Code that was rejected is rejected under every name. */
static void test_rejected_code(void)
{
	struct store s = open_store("rejected");
	struct item one, two, found;

	spawn(&s, "r1", "return 66", NULL, &one);
	spawn(&s, "r2", "return 66", &(struct wanted){ .threshold = 1 }, &two);
	is_int(decide(&s, refuse, &one, false, &found), 0, "rejected under one name");
	ok(versions_find(&s, "r2", &(struct reference){ .version = 0 }, NULL, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_REJECTED,
		"it is not called under another: %s", err.context);
	ok(versions_find(&s, "r2", &(struct reference){ .version = 1 }, NULL, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_REJECTED,
		"nor by its version");
	is_int(record(&s, two.id, NULL, &found), STEP_NONE,
		"a call that was on its way promotes nothing");
	ok(decide(&s, decisions_promote, &two, false, &found) < 0 &&
			err.code == FAILURE_TOOL_REJECTED,
		"nor does an operator: %s", err.context);
	forget(&s, &two, false);
	ok(spawn(&s, "r3", "return 66", NULL, &found) < 0 && err.code == FAILURE_TOOL_REJECTED,
		"and what happens to another name makes no difference");
	is_int(decide(&s, take_back, &one, false, &found), 0, "until that is revoked");
	is_int(spawn(&s, "r3", "return 66", NULL, &found), 1, "then it is as any other");
	store_close(&s);
}

/* A count goes on for what permits no more and is called the same. */
static void test_counts(void)
{
	struct store s = open_store("counts");
	struct wanted wide = { .timeout = 9 }, narrow = { .timeout = 2 };
	struct item one, two, three, found;

	spawn(&s, "t", "return 1", &(struct wanted){ .timeout = 3 }, &one);
	record(&s, one.id, NULL, &found);
	record(&s, one.id, "ValueError: no", &found);
	spawn(&s, "t", "return 1", &narrow, &two);
	ok(two.version == 2 && two.successes == 1 && two.failures == 1,
		"limits that are lower: the count goes on");
	spawn(&s, "t", "return 1", &wide, &three);
	ok(three.version == 3 && three.successes == 0 && three.failures == 0,
		"limits that were raised: from zero");
	is_int(record(&s, three.id, NULL, &found), STEP_NONE, "so one call does not promote it");
	ok(found.successes == 1 && item_of_id(&s, two.id, &two, &err) == 1 && two.successes == 1,
		"each counts its own");
	forget(&s, &three, true);
	narrow.timeout = 1.5;
	spawn(&s, "t", "return 1", &narrow, &found);
	ok(found.version == 4 && found.successes == 1,
		"a count that was forgotten is gone, and not the one before it");
	sqlite3_exec(s.db, "UPDATE versions SET spec = replace(spec, '\"d\"', '\"e\"')", NULL, NULL,
		NULL);
	spawn(&s, "t", "return 1", &narrow, &found);
	ok(found.version == 5 && found.successes == 0, "another description: from zero");
	store_close(&s);
}

static void test_policy_stays(void)
{
	struct store s = open_store("stays");
	struct item item;

	spawn(&s, "t", "return 1",
		&(struct wanted){ .policy = "operator_approval", .threshold = 7 }, &item);
	forget(&s, &item, false);
	ok(spawn(&s, "t", "return 1", NULL, &item) == 1 && item.policy == POLICY_OPERATOR &&
			item.threshold == 7,
		"the policy of a name stays when it is forgotten");
	ok(spawn(&s, "u", "return 2", &(struct wanted){ .fallback = "operator_approval" }, &item) ==
				1 &&
			item.policy == POLICY_OPERATOR && item.threshold == 3,
		"a name that is new has the fallback");
	ok(spawn(&s, "u", "return 3", &(struct wanted){ .fallback = "eager" }, &item) == 1 &&
			item.policy == POLICY_OPERATOR,
		"and one that is not has its own");
	store_close(&s);
}

static void test_sticky_policy(void)
{
	struct store s = open_store("revoked");
	struct item item, next;

	spawn(&s, "t", "return 1", &(struct wanted){ .policy = "eager" }, &item);
	record(&s, item.id, NULL, &next);
	ok(decide(&s, take_back, &item, false, &next) == 0 && next.state == STATE_PENDING,
		"what a policy promoted and an operator took back waits for the operator");
	is_int(record(&s, item.id, NULL, &next), STEP_NONE, "and is not promoted by the next call");
	is_int(next.state, STATE_PENDING, "whatever its policy");
	store_close(&s);
}

static void test_sessions(void)
{
	struct store s = open_store("sessions");
	struct reference none = { .version = 0 };
	struct item one, two, found;

	spawn(&s, "t", "return 1", &(struct wanted){ .session = "first" }, &one);
	ok(versions_find(&s, "t", &none, "first", &found, &err) == 0 && found.id == one.id,
		"a session has what it spawned");
	ok(versions_find(&s, "t", &none, "second", &found, &err) < 0 &&
			err.code == FAILURE_TOOL_UNKNOWN,
		"another one has not");
	for (int i = 0; i < 3; i++)
		record(&s, one.id, NULL, &found);
	ok(versions_find(&s, "t", &none, "second", &found, &err) == 0 && found.id == one.id,
		"until it is promoted");
	spawn(&s, "t", "return 2", &(struct wanted){ .session = "second" }, &two);
	ok(versions_find(&s, "t", &none, "second", &found, &err) == 0 && found.id == two.id,
		"its own comes first");
	ok(versions_find(&s, "t", &none, "third", &found, &err) == 0 && found.id == one.id,
		"and nobody else's");
	ok(versions_find(&s, "t", &none, NULL, &found, &err) == 0 && found.id == one.id,
		"without a session it is the promoted one");
	ok(versions_find(&s, "t", &(struct reference){ .version = 2 }, NULL, &found, &err) == 0 &&
			found.id == two.id,
		"and by its version the other");
	spawn(&s, "u", "return 3", NULL, &one);
	spawn(&s, "u", "return 4", &(struct wanted){ .session = "second" }, &two);
	ok(versions_find(&s, "u", &none, NULL, &found, &err) == 0 && found.id == one.id,
		"where none is promoted it is the newest that was spawned without a session");
	spawn(&s, "v", "return 5", &(struct wanted){ .session = "second" }, &two);
	ok(versions_find(&s, "v", &none, NULL, &found, &err) < 0 &&
			err.code == FAILURE_TOOL_UNKNOWN && strstr(err.context, "--session"),
		"and never what a session has in trial: %s", err.context);
	ok(versions_find(&s, "t", &(struct reference){ .hash = "ffffffff" }, NULL, &found, &err) <
			0,
		"a hash that is none");
	store_close(&s);
}

static void test_flood(void)
{
	struct store s = open_store("flood");
	struct buffer out = BUFFER_INIT;
	struct json_writer w;
	struct item item;
	char text[200];
	int made = 0;

	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "return %d", i);
		made += spawn(&s, "t", text,
				&(struct wanted){ .policy = "operator_approval", .threshold = 1 },
				&item) == 1;
		record(&s, item.id, NULL, &item);
	}
	json_begin(&w, &out);
	json_open_array(&w);
	ok(made == 50 && show_pending(&s, &w, &err) == 0,
		"50 versions of one tool, each of them due");
	json_close_array(&w);
	ok(out.data && strstr(out.data, "\"version\":50") &&
			!strstr(strstr(out.data, "\"version\":") + 1, "\"version\":"),
		"are one thing to decide on: the newest");
	buffer_free(&out);
	ok(versions_find(&s, "t", &(struct reference){ .version = 0 }, NULL, &item, &err) == 0 &&
			item.version == 50,
		"and a call means that one");
	snprintf(text, sizeof text,
		"WITH RECURSIVE n(i) AS (SELECT 51 UNION ALL SELECT i + 1 FROM n WHERE i < %d)",
		VERSIONS_MAX);
	buffer_printf(&out,
		"%s INSERT INTO versions(name, version, hash, state, policy, threshold, created, "
		"created_by, lines, description, spec)"
		" SELECT 't', i, 'x', 'superseded', 'eager', 1, 0, 'x', 1, 'd', 's' FROM n",
		text);
	ok(sqlite3_exec(s.db, out.data, NULL, NULL, NULL) == SQLITE_OK, "a full library");
	ok(spawn(&s, "u", "return 1", NULL, &item) < 0 && err.code == FAILURE_LIBRARY_FULL,
		"takes nothing more: %s", err.context);
	buffer_free(&out);
	store_close(&s);
}

static void test_rejected_newest(void)
{
	struct store s = open_store("fallback");
	struct item one, two, three, found;

	spawn(&s, "t", "return 1", &(struct wanted){ .policy = "eager" }, &one);
	record(&s, one.id, NULL, &one);
	spawn(&s, "t", "return 2", NULL, &two);
	spawn(&s, "t", "return 3", NULL, &three);
	ok(decide(&s, refuse, &three, false, &found) == 0, "the newest is rejected");
	ok(versions_find(&s, "t", &(struct reference){ .version = 0 }, NULL, &found, &err) == 0 &&
			found.id == one.id,
		"a call means the promoted one, and not what was never looked at");
	store_close(&s);
}

static void test_tampering(void)
{
	struct store s = open_store("tampered");
	struct item item;
	struct spec spec;

	spawn(&s, "t", "return 1", NULL, &item);
	ok(versions_spec(&s, item.id, &spec, &err) == 0, "a specification is read back");
	spec_free(&spec);
	sqlite3_exec(s.db, "UPDATE versions SET spec = replace(spec, 'return 1', 'return 9')", NULL,
		NULL, NULL);
	ok(versions_spec(&s, item.id, &spec, &err) < 0 && err.code == FAILURE_LIBRARY_BROKEN,
		"one that was changed behind our back does not run: %s", err.context);
	sqlite3_exec(s.db, "UPDATE versions SET state = 'blessed'", NULL, NULL, NULL);
	ok(item_newest(&s, "t", &item, &err) < 0 && err.code == FAILURE_LIBRARY_BROKEN,
		"a state that is none is not taken");
	store_close(&s);
}

/*
 * Several processes count at once; some of them are killed in the middle. Nothing that was counted
 * is lost.
 */
static void test_concurrency(void)
{
	enum { PROCESSES = 6, TURNS = 40 };
	struct store s = open_store("many");
	struct item item;
	int done_total = 0, pipes[2];
	char byte;

	spawn(&s, "t", "return 1", &(struct wanted){ .threshold = 1000000, .policy = "threshold" },
		&item);
	store_close(&s);
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return;
	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child == 0) {
			struct store mine = open_store("many");

			for (int turn = 0; turn < TURNS; turn++) {
				struct item found = { .id = 0 };

				/*
				 * On a slow machine (under valgrind, say) it may be held for longer
				 * than store.c waits.
				 */
				do {
					err = (struct error)ERROR_INIT;
					record(&mine, item.id, NULL, &found);
				} while (!found.id && err.code == FAILURE_LIBRARY_BUSY);
				if (found.id && write(pipes[1], "x", 1) != 1)
					break;
				if (i == 0 && turn == TURNS / 2)
					kill(getpid(), SIGKILL);
			}
			store_close(&mine);
			_exit(0);
		}
	}
	close(pipes[1]);
	while (read(pipes[0], &byte, 1) == 1)
		done_total++;
	close(pipes[0]);
	while (wait(NULL) > 0)
		;
	s = open_store("many");
	item_of_id(&s, item.id, &item, &err);
	ok(item.successes == done_total && done_total == (PROCESSES - 1) * TURNS + TURNS / 2 + 1,
		"%lld calls were counted, and %d acknowledged", (long long)item.successes,
		done_total);
	is_int(store_check(&s, &err), 0, "the file is sound");
	store_close(&s);
}

/* ---- showing and moving ---- */

static void test_show(void)
{
	struct store s = open_store("show");
	struct buffer out = BUFFER_INIT;
	struct json_writer w;
	struct item one, two;

	spawn(&s, "t", "a = 1\\nreturn a", &(struct wanted){ .policy = "eager" }, &one);
	record(&s, one.id, NULL, &one);
	spawn(&s, "t", "a = 2\\nreturn a", &(struct wanted){ .timeout = 4 }, &two);
	record(&s, two.id, "ValueError: no", &two);
	json_begin(&w, &out);
	json_open_object(&w);
	is_int(show_tool(&s, &two, &w, &err), 0, "shown");
	json_close_object(&w);
	has(out.data, "\"previous\":{\"version\":1,", "beside the version that is promoted");
	has(out.data, "{\"what\":\"timeout_s\",\"before\":\"1\",\"after\":\"4\",\"changed\":true}",
		"limits that changed");
	has(out.data, "{\"what\":\"imports\",\"before\":\"\",\"after\":\"\",\"changed\":false}",
		"imports that did not");
	has(out.data,
		"{\"what\":\"files\",\"before\":\"/etc/x\",\"after\":\"/etc/x\",\"changed\":false}",
		"what runs touched");
	has(out.data, "{\"what\":\"syscalls refused\",\"before\":\"ptrace\"", "and were refused");
	has(out.data, "-a = 1\\n+a = 2\\n return a", "the difference of the code");
	has(out.data, "\"success\":false,\"error\":\"ValueError: no\"", "the runs");
	buffer_free(&out);
	store_close(&s);
}

static int accept(const struct spec *spec, void *context)
{
	(void)spec;
	++*(int *)context;
	return 0;
}

static int object_to(const struct spec *spec, void *context)
{
	(void)context;
	return error_set(&err, FAILURE_TOOL_REFUSED, 0, "%s", spec->name);
}

static void test_transfer(void)
{
	struct store from = open_store("show"), to = open_store("imported");
	struct buffer out = BUFFER_INIT, line = BUFFER_INIT;
	struct json_writer w;
	struct item item;
	struct json_tree tree;
	int added = 0, validated = 0;
	struct transfer t = { .who = "tester", .validate = accept, .context = &validated },
			objecting = { .who = "tester", .validate = object_to };

	json_begin(&w, &out);
	json_open_array(&w);
	is_int(transfer_export(&from, &w, &err), 0, "exported");
	json_close_array(&w);
	ok(json_tree_read(&tree, out.data, out.length) == 0 && tree.nodes[0].count == 2,
		"two versions");
	ok(transfer_import(&to, &objecting, tree.nodes[1].raw, &err) < 0 &&
			err.code == FAILURE_TOOL_REFUSED && item_newest(&to, "t", &item, &err) == 0,
		"what validation objects to does not come in");
	for (int turn = 0; turn < 4; turn++)
		for (uint32_t at = 1; at < tree.nodes[0].end; at = tree.nodes[at].end) {
			t.keep = turn >= 2;
			is_int(transfer_import(&to, &t, tree.nodes[at].raw, &err), 0, "a line");
			added += t.is_new;
			if (turn == 0) {
				item_newest(&to, "t", &item, &err);
				is_int(item.state, STATE_TRIAL, "what comes in is in trial");
			}
			is_int(t.promoted, turn == 2 && at == 1,
				"what was promoted is promoted when that is wanted, once");
		}
	is_int(added, 2, "each line comes in once");
	is_int(validated, 2, "and was validated then");
	buffer_add(&line, tree.nodes[1].raw.text, tree.nodes[1].raw.length);
	memcpy(strstr(line.data, "a = 1"), "a = 7", 5);
	ok(transfer_import(&to, &t, json_slice(line.data, line.length), &err) < 0 &&
			strstr(err.context, "hash"),
		"a line that was changed is refused: %s", err.context);
	ok(transfer_import(&to, &t, json_slice("{\"x\":1}", 7), &err) < 0,
		"and one that is no version");
	ok(item_first(&to, store_query(&to, &err, ITEM_SELECT "WHERE v.state = 'promoted'", ""),
		   &item, &err) == 1 &&
			item.version == 1,
		"and stays so");
	json_tree_free(&tree);
	buffer_free(&out);
	buffer_free(&line);
	store_close(&from);
	store_close(&to);
}

static void test_diff(void)
{
	static const struct {
		const char *old, *new, *wanted;
	} CASES[] = {
		{ "", "", "" },
		{ "a\n", "a\n", "" },
		{ "", "a\n", "--- o\n+++ n\n@@ -0,0 +1,1 @@\n+a\n" },
		{ "a\n", "", "--- o\n+++ n\n@@ -1,1 +0,0 @@\n-a\n" },
		{ "a", "a\n",
			"--- o\n+++ n\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5x\n6\n7\n8\n9\n",
			"--- o\n+++ n\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+5x\n 6\n 7\n 8\n" },
		{ "a\nb\nc\n", "b\nc\nd\n", "--- o\n+++ n\n@@ -1,3 +1,3 @@\n-a\n b\n c\n+d\n" },
	};
	struct buffer out = BUFFER_INIT, old = BUFFER_INIT, new = BUFFER_INIT;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		diff_unified(CASES[i].old, strlen(CASES[i].old), CASES[i].new, strlen(CASES[i].new),
			"o", "n", &out);
		is_str(out.length ? out.data : "", CASES[i].wanted, "from %s to %s", CASES[i].old,
			CASES[i].new);
		buffer_free(&out);
	}
	for (int i = 0; i < 10000; i++) {
		buffer_printf(&old, "line %d\n", i);
		buffer_printf(&new, "line %d\n", i * 7919 % 10007);
	}
	diff_unified(old.data, old.length, new.data, new.length, "o", "n", &out);
	ok(out.length > old.length && !out.failed,
		"10,000 lines that all differ are told in one piece");
	buffer_free(&old);
	buffer_free(&new);
	buffer_free(&out);
}

static void test_authority(void)
{
	const struct authority agent = { SCOPE_AGENT, "somebody" },
			       own = authority_of_uid(geteuid()),
			       other = authority_of_uid(geteuid() + 12345);

	ok(authority_check(&own, SCOPE_OPERATOR, "promoting", &err) == 0,
		"this user is an operator");
	ok(authority_check(&agent, SCOPE_AGENT, "calling", &err) == 0, "an agent may call");
	ok(authority_check(&agent, SCOPE_OPERATOR, "promoting", &err) < 0 &&
			err.code == FAILURE_SCOPE_DENIED,
		"and not promote: %s", err.context);
	ok(other.scope == SCOPE_AGENT, "another user is no operator");
}

int main(void)
{
	plan(0);
	make_base();
	test_file();
	test_broken();
	test_migration();
	test_versions();
	test_promotion();
	test_decisions();
	test_restored();
	test_rejected_code();
	test_counts();
	test_policy_stays();
	test_sticky_policy();
	test_sessions();
	test_flood();
	test_rejected_newest();
	test_tampering();
	test_concurrency();
	test_show();
	test_transfer();
	test_diff();
	test_authority();
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return done();
}
