/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of random operations on a view server over a socket pair, with a second process that
 * changes the host's tree all the while.
 *
 * Whatever is asked, well formed or not, the server answers or ignores it, never shows a hidden
 * name's content, and ends in good order. Three seconds in `make check`, two minutes in `make
 * storm`; STORM_SECONDS and STORM_SEED choose.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/view/fuse_client.h"
#include "tests/unit/tap.h"

#define KNOWN 512

static struct fuse_client client;
static char place[256];
static uint64_t known[KNOWN], state;
static unsigned long asked, answered, failed, leaked;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static const char *const NAMES[] = { "a", "b", "c", "secret.key", ".env", ".ssh", "id_rsa", "d",
	"mask", "link", "caf\xe9", "..", ".", "", "x/y", "zz", "new", "place" };

static const char *any_name(char *buffer, size_t size)
{
	size_t length;

	if (chance(8))
		return NAMES[chance(sizeof NAMES / sizeof *NAMES)];
	length = chance(size - 1);
	for (size_t i = 0; i < length; i++)
		buffer[i] = (char)(1 + chance(255));
	buffer[length] = '\0';
	return buffer;
}

static struct view *make_view(int events, const char *where)
{
	struct policy *policy = policy_new();
	struct view *v;
	char path[512];

	policy_show(policy, "ro:1", where);
	policy_hide(policy, "hide:1", "*.key", false);
	snprintf(path, sizeof path, "%s/mask", where);
	policy_mask(policy, "mask:1", path, "stand-in", 8);
	policy_hide_secrets(policy);
	v = view_new(policy, event_sink_new(events, true), 1000, 1000);
	if (!v || view_add_tree(v, open(where, O_PATH | O_CLOEXEC), where, false) < 0 ||
		view_add_place(v, 0, "new/place", false) < 0)
		return NULL;
	v->proc = open("/proc", O_PATH | O_CLOEXEC);
	return v;
}

/*
 * The other process: makes, removes, renames, links, truncates at random. Contents of hidden files
 * all hold one word.
 */
static void churn(void)
{
	char a[512], b[512];

	for (;;) {
		int fd;

		snprintf(a, sizeof a, "%s/%s%s", place, chance(2) ? "d/" : "", NAMES[chance(11)]);
		snprintf(b, sizeof b, "%s/%s%s", place, chance(2) ? "d/" : "", NAMES[chance(11)]);
		switch (chance(9)) {
		case 0:
			mkdir(a, 0755);
			break;
		case 1:
			rename(a, b);
			break;
		case 2:
			if (!strstr(a, ".key") && !strstr(a, "id_") && !strstr(a, ".env") &&
				link(a, b) != 0)
				unlink(b);
			break;
		case 3:
			unlink(a);
			break;
		case 4:
			if (symlink(b, a) != 0)
				rmdir(a);
			break;
		case 5:
			if (truncate(a, (off_t)chance(10000)) != 0)
				unlink(b);
			break;
		default:
			fd = open(
				a, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
			if (fd >= 0 && write(fd, "visible bytes", 13) < 0)
				unlink(a);
			if (fd >= 0)
				close(fd);
		}
	}
}

static size_t random_body(char *body, size_t most)
{
	size_t length = chance(most);

	for (size_t i = 0; i < length; i++)
		body[i] = chance(3) ? 0 : (char)chance(256);
	return length;
}

static void remember(uint32_t op)
{
	struct fuse_entry_out entry;

	if (op == FUSE_LOOKUP && client.length >= sizeof entry) {
		memcpy(&entry, client.answer, sizeof entry);
		if (entry.nodeid)
			known[chance(KNOWN)] = entry.nodeid;
	}
}

/* A whole use of a node, as the kernel would: a handle is only ever used as what it is. */
static void use(uint64_t node, bool directory)
{
	struct fuse_open_in in = { .flags = O_RDONLY };
	struct fuse_open_out out;
	int status = fuse_ask(
		&client, directory ? FUSE_OPENDIR : FUSE_OPEN, node, &in, sizeof in, NULL, 0);

	asked++;
	if (status != 0) {
		failed++;
		return;
	}
	memcpy(&out, client.answer, sizeof out);
	for (uint64_t i = chance(5); i > 0; i--) {
		struct fuse_read_in read_in = { .fh = out.fh,
			.offset = chance(3) ? 0 : chance(20000),
			.size = (uint32_t)chance(70000) };

		asked++;
		if (fuse_ask(&client,
			    directory ? (chance(2) ? FUSE_READDIR : FUSE_READDIRPLUS) : FUSE_READ,
			    node, &read_in, sizeof read_in, NULL, 0) == 0) {
			answered++;
			leaked += memmem(client.answer, client.length, "hidden bytes", 12) != NULL;
			leaked += directory &&
				memmem(client.answer, client.length, ".key", 4) != NULL;
		}
	}
	fuse_ask(&client, directory ? FUSE_RELEASEDIR : FUSE_RELEASE, node,
		&(struct fuse_release_in){ .fh = out.fh }, sizeof(struct fuse_release_in), NULL, 0);
}

static bool step(void)
{
	static const uint32_t OPS[] = { FUSE_LOOKUP, FUSE_LOOKUP, FUSE_LOOKUP, FUSE_GETATTR,
		FUSE_READLINK, FUSE_ACCESS, FUSE_STATFS, FUSE_MKDIR, FUSE_UNLINK, FUSE_RMDIR,
		FUSE_CREATE, FUSE_SYMLINK, FUSE_MKNOD, FUSE_RENAME, FUSE_LINK, FUSE_SETATTR,
		FUSE_SETXATTR, FUSE_GETXATTR, FUSE_FLUSH, FUSE_FSYNC, FUSE_RENAME2 };
	uint64_t node = chance(10) ? known[chance(KNOWN)] : chance(1000);
	uint32_t op = OPS[chance(sizeof OPS / sizeof *OPS)];
	char name[300], body[256];
	size_t length;
	int status;

	if (chance(4) == 0) {
		use(node, chance(2));
		return true;
	}
	if (chance(10) == 0) {
		struct fuse_forget_in forget = { .nlookup = chance(4) };

		/* has no answer */
		fuse_send(&client, FUSE_FORGET, node == 1 ? 0 : node, &forget, sizeof forget, NULL,
			0);
		return true;
	}
	if (op == FUSE_LOOKUP || op == FUSE_UNLINK || op == FUSE_RMDIR) {
		const char *text = any_name(name, sizeof name);

		status = fuse_ask(&client, op, node, text, strlen(text) + 1, NULL, 0);
	} else {
		/*
		 * A fixed part of zeros and noise as long as the longest there is, then two names.
		 */
		length = random_body(body, 8);
		memset(body + length, 0, sizeof body - length);
		status = fuse_ask(&client, op, node, body, 128, "one\0two", 8);
	}
	asked++;
	if (status == 0) {
		answered++;
		remember(op);
	} else {
		failed++;
	}
	return status >= 0;
}

static void drain_events(void)
{
	char bytes[65536];
	ssize_t got;

	while ((got = recv(client.events, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
		struct event e;
		size_t at = 0;
		int status;

		while ((status = event_parse(bytes, (size_t)got, &at, &e)) > 0)
			;
		leaked += status < 0;
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void put_hidden(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s", place, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "hidden bytes", 12) != 12)
		exit(2);
	close(fd);
}

int main(void)
{
	const char *base = getenv("TMPDIR"), *seconds = getenv("STORM_SECONDS"),
		   *seed = getenv("STORM_SEED");
	char path[512], link_path[512];
	time_t stop;
	pid_t other;
	bool alive = true;
	int status;

	plan(0);
	state = seed ? strtoull(seed, NULL, 10) | 1 : (uint64_t)time(NULL) * 2 + 1;
	diag("seed %llu", (unsigned long long)state);
	snprintf(place, sizeof place, "%s/cordon-storm-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(place))
		return 2;
	snprintf(path, sizeof path, "%s/d", place);
	mkdir(path, 0755);
	/*
	 * Hidden for good, under a name that the other process leaves alone, with a second name
	 * that looks like any.
	 */
	put_hidden("kept.key");
	snprintf(path, sizeof path, "%s/kept.key", place);
	snprintf(link_path, sizeof link_path, "%s/zz", place);
	if (link(path, link_path) != 0)
		return 2;
	ok(fuse_client_start(&client, make_view, place) == 0 && fuse_client_init(&client) == 0,
		"the server answers");
	other = fork();
	if (other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		state ^= 0x5555;
		churn();
	}
	for (size_t i = 0; i < KNOWN; i++)
		known[i] = 1 + i % 3;
	stop = time(NULL) + (seconds ? atoi(seconds) : 3);
	for (unsigned i = 0; alive && time(NULL) < stop; i++) {
		alive = step();
		if (i % 64 == 0)
			drain_events();
		if (i % 512 == 0)
			fuse_ask(&client, FUSE_LOOKUP, 1, "0", 2, NULL, 0), remember(FUSE_LOOKUP);
	}
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
	ok(alive, "the server answered to the end: %lu requests, %lu with success, %lu refused",
		asked, answered, failed);
	ok(answered > 100, "and much of it was real work");
	ok(leaked == 0, "nothing hidden was read or listed, and every event was whole");
	status = fuse_client_end(&client);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended in good order (%#x)", status);
	nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return done();
}
