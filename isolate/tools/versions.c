/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions. See versions.h. What is read to decide and what is written for it stand in one
 * transaction, so two processes at once never decide on the same numbers.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/versions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RUNS_KEPT 1000    /* of each version; the counts know of all */
#define TOUCHED_KEPT 2000 /* of each version */
#define ERROR_KEPT 4096

/* ---- spawning ---- */

/*
 * Whether the newest version is this one in everything that a version is made of. Returns 1, 0 or
 * -1.
 */
static int is_same(struct store *s, const struct item *newest, const struct spawning *n,
	enum tool_policy policy, int64_t threshold, struct error *err)
{
	sqlite3_stmt *row;
	int status;

	if (newest->id == 0 || strcmp(newest->hash, n->spec->hash) != 0 ||
		newest->policy != policy || newest->threshold != threshold)
		return 0;
	row = store_query(s, err, "SELECT spec = ? FROM versions WHERE id = ?", "ti",
		n->spec->canonical.data, newest->id);
	status = row ? store_step(s, row, err) : -1;
	if (status > 0)
		status = sqlite3_column_int(row, 0);
	sqlite3_finalize(row);
	return status;
}

/* Numbers go on, and the policy stays with the name, also when all its versions are forgotten. */
static int next_version(struct store *s, const char *name, enum tool_policy policy,
	int64_t threshold, int64_t *version, struct error *err)
{
	sqlite3_stmt *row = store_query(s, err,
		"INSERT INTO tools(name, last_version, policy, threshold) VALUES(?, 1, ?, ?) ON "
		"CONFLICT(name) DO UPDATE SET last_version = last_version + 1,"
		" policy = excluded.policy, threshold = excluded.threshold RETURNING last_version",
		"tti", name, promotion_policy_word(policy), threshold);
	int status = row ? store_step(s, row, err) : -1;

	if (status > 0) {
		*version = sqlite3_column_int64(row, 0);
		status = store_step(s, row, err);
	}
	sqlite3_finalize(row);
	return status < 0 ? -1 : 0;
}

/* A model may write as many tools as it likes; a library has an end. */
static int check_room(struct store *s, const char *name, struct error *err)
{
	sqlite3_stmt *row = store_query(s, err,
		"SELECT (SELECT count(DISTINCT name) FROM versions) >= ? AND NOT EXISTS (SELECT 1 "
		"FROM versions WHERE name = ?), (SELECT count(*) FROM versions) >= ?",
		"iti", (int64_t)VERSIONS_TOOLS_MAX, name, (int64_t)VERSIONS_MAX);
	int status = row ? store_step(s, row, err) : -1;

	if (status > 0 && (sqlite3_column_int(row, 0) || sqlite3_column_int(row, 1)))
		status = error_set(err, FAILURE_LIBRARY_FULL, 0,
			"spawning %s: the library of %s has %d tools, or %d versions", name,
			s->user, VERSIONS_TOOLS_MAX, VERSIONS_MAX);
	sqlite3_finalize(row);
	return status < 0 ? -1 : 0;
}

/*
 * Whether a count begins with this version: what ran before was other code, or was permitted less,
 * or was described in other words. Returns 1, 0 or -1.
 */
static int begins_anew(struct store *s, const struct spec *spec, struct error *err)
{
	struct item before;
	struct spec old;
	int status = item_first(s,
		store_query(s, err,
			ITEM_SELECT
			"WHERE v.name = ? AND v.hash = ? ORDER BY v.version DESC LIMIT 1",
			"tt", spec->name, spec->hash),
		&before, err);

	if (status <= 0)
		return status < 0 ? -1 : 1;
	if (versions_spec(s, before.id, &old, err) < 0)
		return -1;
	status = strcmp(old.description, spec->description) != 0 ||
		spec->timeout_s > old.timeout_s || spec->memory_mb > old.memory_mb;
	spec_free(&old);
	return status;
}

static int insert(struct store *s, const struct spawning *n, enum tool_policy policy,
	int64_t threshold, struct error *err)
{
	int64_t version = 0;
	int anew = begins_anew(s, n->spec, err);

	if (anew < 0 || check_room(s, n->spec->name, err) < 0 ||
		next_version(s, n->spec->name, policy, threshold, &version, err) < 0)
		return -1;
	if (anew &&
		store_run(s, err,
			"INSERT INTO counts(name, hash, since, successes, failures) VALUES(?, ?, "
			"?, 0, 0)",
			"tti", n->spec->name, n->spec->hash, version) < 0)
		return -1;
	if (store_run(s, err,
		    "UPDATE versions SET state = 'superseded' WHERE name = ? AND state IN "
		    "('trial', 'pending')",
		    "t", n->spec->name) < 0)
		return -1;
	return store_run(s, err,
		"INSERT INTO versions(name, version, hash, state, policy, threshold, created, "
		"created_by, session, agent, lines, description, spec)"
		" VALUES(?, ?, ?, 'trial', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"tittiitttitt", n->spec->name, version, n->spec->hash,
		promotion_policy_word(policy), threshold, store_now_us(), n->who, n->session,
		n->agent, (int64_t)spec_lines(n->spec), n->spec->description,
		n->spec->canonical.data);
}

/* The policy that was asked for, else that of the name, else the fallback. */
static int choose_policy(struct store *s, const struct spawning *n, enum tool_policy *policy,
	int64_t *threshold, struct error *err)
{
	sqlite3_stmt *row = store_query(s, err,
		"SELECT policy, threshold FROM tools WHERE name = ? AND policy IS NOT NULL", "t",
		n->spec->name);
	int status = row ? store_step(s, row, err) : -1;
	enum tool_policy before = n->fallback_policy;
	int64_t had = n->fallback_threshold;

	if (status > 0) {
		before = promotion_policy_of((const char *)sqlite3_column_text(row, 0));
		had = sqlite3_column_int64(row, 1);
		if (before == POLICY_COUNT)
			status = error_set(err, FAILURE_LIBRARY_BROKEN, 0,
				"a row of %.200s holds what no cordon wrote", s->path);
	}
	sqlite3_finalize(row);
	*policy = n->has_policy ? n->policy : before;
	*threshold = n->threshold          ? n->threshold
		: *policy == before && had ? had
					   : promotion_default_threshold(*policy);
	return status < 0 ? -1 : 0;
}

int versions_spawn(struct store *s, const struct spawning *n, struct item *item, bool *is_new,
	struct error *err)
{
	struct item newest;
	enum tool_policy policy;
	int64_t threshold;
	char why[VERSIONS_WHY_ROOM];
	int same, rejected;

	if (store_begin(s, err) < 0 ||
		(rejected = versions_rejection(s, n->spec->hash, why, err)) < 0)
		return -1;
	if (rejected)
		return error_set(
			err, FAILURE_TOOL_REJECTED, 0, "spawning %s: %s", n->spec->name, why);
	if (item_newest(s, n->spec->name, &newest, err) < 0 ||
		choose_policy(s, n, &policy, &threshold, err) < 0)
		return -1;
	same = is_same(s, &newest, n, policy, threshold, err);
	if (same < 0)
		return -1;
	*is_new = !same;
	if (same)
		*item = newest;
	else if (insert(s, n, policy, threshold, err) < 0 ||
		item_newest(s, n->spec->name, item, err) < 0)
		return -1;
	return store_commit(s, err);
}

/* ---- finding ---- */

int versions_rejection(
	struct store *s, const char *hash, char why[VERSIONS_WHY_ROOM], struct error *err)
{
	sqlite3_stmt *row = store_query(s, err,
		"SELECT name, version, decided_by, coalesce(reason, '') FROM decisions d WHERE "
		"hash = ? AND decision = 'rejected' AND NOT EXISTS"
		" (SELECT 1 FROM decisions WHERE hash = d.hash AND name = d.name AND version = "
		"d.version AND id > d.id) ORDER BY id DESC LIMIT 1",
		"t", hash);
	int status = row ? store_step(s, row, err) : -1;

	if (status > 0)
		snprintf(why, VERSIONS_WHY_ROOM,
			"this code (%.12s) was rejected as %s@%lld by %.60s: %.200s", hash,
			(const char *)sqlite3_column_text(row, 0),
			(long long)sqlite3_column_int64(row, 1),
			(const char *)sqlite3_column_text(row, 2),
			(const char *)sqlite3_column_text(row, 3));
	sqlite3_finalize(row);
	return status;
}

static int unknown(const struct store *s, const char *name, const char *what, struct error *err)
{
	return error_set(
		err, FAILURE_TOOL_UNKNOWN, 0, "the tool %s of %s: %s", name, s->user, what);
}

int versions_look_up(struct store *s, const char *name, const struct reference *r,
	struct item *item, struct error *err)
{
	char pattern[SPEC_HASH_ROOM + 1];
	struct item other;
	int status;

	item->id = 0;
	if (!s->db)
		return unknown(s, name, "this user has no library", err);
	snprintf(pattern, sizeof pattern, "%s*", r->hash);
	if (r->version)
		status = item_first(s,
			store_query(s, err,
				ITEM_SELECT "WHERE v.name = ? AND v.version = ? AND v.hash GLOB ?",
				"tit", name, r->version, pattern),
			item, err);
	else
		status = item_first(s,
			store_query(s, err,
				ITEM_SELECT "WHERE v.name = ? AND v.hash GLOB ? ORDER BY v.version "
					    "DESC LIMIT 1",
				"tt", name, pattern),
			item, err);
	if (status < 0)
		return -1;
	if (status == 0)
		return unknown(s, name,
			r->version || r->hash[0] ? "it has no such version"
						 : "there is none of this name",
			err);
	if (r->hash[0] && strlen(r->hash) < SPEC_HASH_ROOM - 1 && !r->version) {
		status = item_first(s,
			store_query(s, err,
				ITEM_SELECT
				"WHERE v.name = ? AND v.hash GLOB ? AND v.hash <> ? LIMIT 1",
				"ttt", name, pattern, item->hash),
			&other, err);
		if (status != 0)
			return status < 0
				? -1
				: unknown(s, name,
					  "several hashes begin like this one; give more of it",
					  err);
	}
	return 0;
}

int versions_find(struct store *s, const char *name, const struct reference *r, const char *session,
	struct item *item, struct error *err)
{
	char why[VERSIONS_WHY_ROOM];
	int status = 0;

	if (!s->db || r->version || r->hash[0]) {
		if (versions_look_up(s, name, r, item, err) < 0)
			return -1;
	} else {
		/*
		 * In a session its own come first; without one, what is promoted does. What another
		 * session put out of the running is still the newest of this one.
		 */
		static const char BY_NAME[] = ITEM_SELECT
			"WHERE v.name = ?1 AND (v.state = 'promoted' OR (v.session IS ?2 AND "
			"(v.state IN ('trial', 'pending') OR (v.state = 'superseded' AND"
			" v.version = (SELECT max(version) FROM versions WHERE name = ?1 AND "
			"session IS ?2)))))"
			" ORDER BY CASE WHEN ?2 IS NULL THEN v.state = 'promoted' ELSE v.session "
			"IS ?2 END DESC, v.version DESC LIMIT 1";

		status =
			item_first(s, store_query(s, err, BY_NAME, "tt", name, session), item, err);
		/* Nothing that can be called: say why, by what there is. */
		if (status < 0 || (status == 0 && versions_look_up(s, name, r, item, err) < 0))
			return -1;
		if (status == 0 && item->state != STATE_REJECTED)
			return unknown(s, name,
				"it is not promoted, and was spawned in another session: give "
				"--session, or @VERSION or @HASH behind the name",
				err);
	}
	if (item->state == STATE_REJECTED)
		return error_set(err, FAILURE_TOOL_REJECTED, 0,
			"calling %s, version %" PRId64 " (%.12s)", item->name, item->version,
			item->hash);
	status = versions_rejection(s, item->hash, why, err);
	return status > 0
		? error_set(err, FAILURE_TOOL_REJECTED, 0, "calling %s, version %" PRId64 ": %s",
			  item->name, item->version, why)
		: status;
}

int versions_spec(struct store *s, int64_t id, struct spec *spec, struct error *err)
{
	sqlite3_stmt *row =
		store_query(s, err, "SELECT spec, hash FROM versions WHERE id = ?", "i", id);
	int status = row ? store_step(s, row, err) : -1;
	struct error inner = ERROR_INIT;

	if (status == 0)
		status = error_set(
			err, FAILURE_TOOL_UNKNOWN, 0, "this version was forgotten meanwhile");
	if (status > 0 &&
		spec_read(spec, (const char *)sqlite3_column_text(row, 0),
			(size_t)sqlite3_column_bytes(row, 0), &inner) < 0) {
		status = error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"a specification in %.200s: %.200s", s->path, inner.context);
	} else if (status > 0 &&
		strcmp(spec->hash, (const char *)sqlite3_column_text(row, 1)) != 0) {
		spec_free(spec);
		status = error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"a specification in %.200s is not the one that its hash is of", s->path);
	}
	sqlite3_finalize(row);
	return status < 0 ? -1 : 0;
}

/* ---- running ---- */

int versions_decision(struct store *s, const struct item *item, const char *decision,
	const char *who, const char *reason, struct error *err)
{
	return store_run(s, err,
		"INSERT INTO decisions(time, name, version, hash, decision, decided_by, reason) "
		"VALUES(?, ?, ?, ?, ?, ?, ?)",
		"ititttt", store_now_us(), item->name, item->version, item->hash, decision, who,
		reason);
}

int versions_promote(struct store *s, const struct item *item, const char *who, const char *reason,
	struct error *err)
{
	if (store_run(s, err,
		    "UPDATE versions SET state = 'superseded', replaced_by = ? WHERE name = ? AND "
		    "state = 'promoted' AND id <> ?",
		    "iti", item->id, item->name, item->id) < 0 ||
		store_run(s, err,
			"UPDATE versions SET state = 'promoted', replaced_by = NULL, decided = ?, "
			"decided_by = ?, reason = ? WHERE id = ?",
			"itti", store_now_us(), who, reason, item->id) < 0)
		return -1;
	return versions_decision(s, item, "promoted", who, reason, err);
}

static int count_run(
	struct store *s, const struct item *item, const struct run *r, struct error *err)
{
	char error[ERROR_KEPT] = "";
	int64_t good = !r->error, bad = !good;

	if (r->error)
		snprintf(error, sizeof error, "%s", r->error);
	if (store_run(s, err,
		    "INSERT INTO counts(name, hash, since, successes, failures) VALUES(?1, ?2, "
		    "coalesce((SELECT max(since) FROM counts WHERE name = ?1 AND hash = ?2 AND "
		    "since <= ?5), 1), ?3, ?4)"
		    " ON CONFLICT(name, hash, since) DO UPDATE SET successes = successes + "
		    "excluded.successes, failures = failures + excluded.failures",
		    "ttiii", item->name, item->hash, good, bad, item->version) < 0 ||
		store_run(s, err,
			"INSERT INTO runs(version_id, execution_id, time, duration_us, success, "
			"error) VALUES(?, ?, ?, ?, ?, ?)",
			"itiiit", item->id, r->execution_id, store_now_us(), r->duration_us, good,
			r->error ? error : NULL) < 0 ||
		store_run(s, err,
			"DELETE FROM runs WHERE version_id = ? AND id <= (SELECT id FROM runs "
			"WHERE version_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
			"iii", item->id, item->id, (int64_t)RUNS_KEPT) < 0)
		return -1;
	for (size_t i = 0; i < r->touched_count; i++)
		if (store_run(s, err,
			    "INSERT INTO touched(version_id, kind, what, count) SELECT ?, ?, ?, ? "
			    "WHERE (SELECT count(*) FROM touched WHERE version_id = ?) < ? OR "
			    "EXISTS"
			    " (SELECT 1 FROM touched WHERE version_id = ? AND kind = ? AND what = "
			    "?) ON CONFLICT(version_id, kind, what) DO UPDATE SET count = count + "
			    "excluded.count",
			    "ittiiiitt", item->id, r->touched[i].kind, r->touched[i].what,
			    r->touched[i].count, item->id, (int64_t)TOUCHED_KEPT, item->id,
			    r->touched[i].kind, r->touched[i].what) < 0)
			return -1;
	return 0;
}

static int go_on(
	struct store *s, const struct item *item, enum promotion_step step, struct error *err)
{
	char who[40], reason[80];

	if (step == STEP_WAIT)
		return store_run(s, err,
			"UPDATE versions SET state = 'pending', due = ? WHERE id = ?", "ii",
			store_now_us(), item->id);
	if (step == STEP_NONE)
		return 0;
	snprintf(who, sizeof who, "policy:%s", promotion_policy_word(item->policy));
	snprintf(reason, sizeof reason, "%" PRId64 " successful calls", item->successes);
	return versions_promote(s, item, who, reason, err);
}

int versions_record(struct store *s, int64_t id, const struct run *r, struct item *item,
	enum promotion_step *step, struct error *err)
{
	char why[VERSIONS_WHY_ROOM];
	int found, rejected;

	*step = STEP_NONE;
	if (store_begin(s, err) < 0 || (found = item_of_id(s, id, item, err)) < 0)
		return -1;
	if (found == 0)
		return store_commit(s, err);
	if (count_run(s, item, r, err) < 0 || item_of_id(s, id, item, err) < 0 ||
		(rejected = versions_rejection(s, item->hash, why, err)) < 0)
		return -1;
	/* A call may have been on its way when an operator rejected its code. */
	if (!r->error && !rejected)
		*step = promotion_next(item->policy, item->threshold, item->state, item->successes);
	if (go_on(s, item, *step, err) < 0 || item_of_id(s, id, item, err) < 0)
		return -1;
	return store_commit(s, err);
}
