/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view server over a socket pair: what it answers, what it never answers, and what it says has
 * happened. Needs neither /dev/fuse nor privileges. (No unit_* name, since valgrind does not know
 * openat2(2); the sanitizers look after it.)
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/view/fuse_client.h"
#include "tests/unit/tap.h"

static struct fuse_client client;
static char place[256];

static void put(const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s", place, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(2);
	close(fd);
}

static void directory(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", place, name);
	if (mkdir(path, 0755) != 0)
		exit(2);
}

static void link_to(const char *from, const char *to)
{
	char a[512], b[512];

	snprintf(a, sizeof a, "%s/%s", place, from);
	snprintf(b, sizeof b, "%s/%s", place, to);
	if (link(a, b) != 0)
		exit(2);
}

static void make_tree(void)
{
	const char *base = getenv("TMPDIR");
	char path[512];

	snprintf(place, sizeof place, "%s/cordon-view-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(place))
		exit(2);
	put("plain", "some text\n");
	directory("sub");
	put("sub/inner", "inner\n");
	directory(".ssh");
	put(".ssh/id_rsa", "private\n");
	put(".ssh/config", "config\n");
	link_to(".ssh/id_rsa", "sub/innocent");
	link_to("plain", "sub/twin");
	put(".env", "SECRET=1\n");
	put("caf\xe9", "latin\n");
	directory("many");
	for (int i = 0; i < 3000; i++) {
		snprintf(path, sizeof path, i % 3 == 0 ? "many/%04d.key" : "many/%04d", i);
		put(path, "");
	}
	snprintf(path, sizeof path, "%s/link", place);
	if (symlink("../out/of/here", path) != 0)
		exit(2);
	directory("walk");
	directory("walk/hidden");
	directory("walk/hidden/named");
	put("walk/hidden/named/file", "x");
	put("walk/hidden/other", "y");
}

static struct view *make_view(int events, const char *where)
{
	struct policy *policy = policy_new();
	struct event_sink *sink = event_sink_new(events, true);
	struct view *v;
	char path[512];

	policy_show(policy, "ro:1", where);
	snprintf(path, sizeof path, "%s/walk/hidden/named", where);
	policy_show(policy, "ro:2", path);
	policy_hide(policy, "hide:1", "*.key", false);
	snprintf(path, sizeof path, "%s/walk/hidden", where);
	policy_hide(policy, "hide:2", path, false);
	snprintf(path, sizeof path, "%s/sub/mask", where);
	policy_mask(policy, "mask:1", path, "stand-in\n", 9);
	policy_hide_secrets(policy);
	v = view_new(policy, sink, 1000, 1000);
	if (!v || view_add_tree(v, open(where, O_PATH | O_CLOEXEC), where, false) < 0 ||
		view_skip_tree(v) < 0)
		return NULL;
	snprintf(path, sizeof path, "%s/plain", where);
	if (view_add_tree(v, open(path, O_PATH | O_CLOEXEC), path, false) < 0 ||
		view_add_place(v, 0, "new/place", true) < 0)
		return NULL;
	v->proc = open("/proc", O_PATH | O_CLOEXEC);
	return v;
}

static uint64_t walk_to(const char *path)
{
	char copy[512], *save = NULL;
	struct fuse_entry_out e = { .nodeid = 1 };

	snprintf(copy, sizeof copy, "%s", path);
	for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save))
		if (fuse_lookup(&client, e.nodeid, name, &e) != 0 || e.nodeid == 0)
			return 0;
	return e.nodeid;
}

static void test_lookup(void)
{
	struct fuse_entry_out e, twin;
	uint64_t top = walk_to("0"), sub = walk_to("0/sub");

	ok(top != 0, "the first named tree");
	ok(fuse_lookup(&client, 1, "1", &e) == ENOENT, "a number that was left out");
	ok(fuse_lookup(&client, 1, "00", &e) == ENOENT &&
			fuse_lookup(&client, 1, "9", &e) == ENOENT &&
			fuse_lookup(&client, 1, "x", &e) == ENOENT,
		"no other name at the top");
	ok(fuse_lookup(&client, 1, "2", &e) == 0 && S_ISREG(e.attr.mode), "a named file");
	ok(fuse_lookup(&client, top, "plain", &e) == 0 && e.attr.size == 10 && e.attr.uid == 1000,
		"a file with the owner that exists inside");
	ok(fuse_lookup(&client, sub, "twin", &twin) == 0 && twin.attr.ino == e.attr.ino &&
			twin.nodeid != e.nodeid,
		"a hard link has the same number");
	ok(fuse_lookup(&client, top, ".ssh", &e) == ENOENT, "a secret directory is absent");
	ok(fuse_lookup(&client, top, ".env", &e) == ENOENT, "a secret file is absent");
	ok(fuse_lookup(&client, sub, "innocent", &e) == ENOENT,
		"a hard link to a secret is absent, though nobody has asked for the secret itself");
	ok(fuse_lookup(&client, top, "missing", &e) == 0 && e.nodeid == 0 && e.entry_valid > 0,
		"what does not exist may be remembered as absent");
	ok(fuse_lookup(&client, top, "caf\xe9", &e) == 0 && e.nodeid != 0,
		"a name that is not UTF-8");
	ok(fuse_lookup(&client, sub, "mask", &e) == 0 && e.attr.size == 9,
		"a stand-in for a file that the host has not");
	ok(walk_to("0/walk/hidden") != 0,
		"a hidden directory that leads to something named can be walked");
	ok(walk_to("0/walk/hidden/named/file") != 0, "to what is named");
	ok(walk_to("0/walk/hidden/other") == 0, "and to nothing else");
	ok(walk_to("0/new/place") != 0, "a place to mount on that the host has not");
	ok(fuse_lookup(&client, walk_to("0/plain"), "x", &e) == ENOTDIR,
		"below a file there is nothing");
	ok(fuse_lookup(&client, 123456, "x", &e) == ESTALE, "an id that was never given out");
}

static void test_names(void)
{
	char longest[300];
	struct fuse_entry_out e;
	uint64_t top = walk_to("0");

	memset(longest, 'n', sizeof longest);
	longest[255] = '\0';
	ok(fuse_lookup(&client, top, longest, &e) == 0 && e.nodeid == 0, "255 bytes are a name");
	longest[255] = 'n';
	longest[256] = '\0';
	ok(fuse_lookup(&client, top, longest, &e) == ENAMETOOLONG, "256 are not");
	ok(fuse_lookup(&client, top, "..", &e) == EINVAL &&
			fuse_lookup(&client, top, ".", &e) == EINVAL,
		"dots are not names");
	ok(fuse_lookup(&client, top, "../../../etc/passwd", &e) == EINVAL &&
			fuse_lookup(&client, top, "sub/inner", &e) == EINVAL,
		"neither is what has a slash");
}

static int open_node(uint64_t node, uint32_t flags, uint64_t *handle)
{
	struct fuse_open_in in = { .flags = flags };
	struct fuse_open_out out = { 0 };
	int status = fuse_ask(&client, FUSE_OPEN, node, &in, sizeof in, NULL, 0);

	if (status == 0)
		memcpy(&out, client.answer, sizeof out);
	*handle = out.fh;
	return status;
}

static int read_node(uint64_t node, uint64_t handle, uint64_t offset, uint32_t size)
{
	struct fuse_read_in in = { .fh = handle, .offset = offset, .size = size };

	return fuse_ask(&client, FUSE_READ, node, &in, sizeof in, NULL, 0);
}

static void close_node(uint64_t node, uint64_t handle)
{
	struct fuse_release_in in = { .fh = handle };

	fuse_ask(&client, FUSE_RELEASE, node, &in, sizeof in, NULL, 0);
}

static void test_files(void)
{
	uint64_t node = walk_to("0/plain"), mask = walk_to("0/sub/mask"), named = walk_to("2"), h;
	char path[512], other[512];
	struct fuse_entry_out e;

	ok(open_node(node, O_RDONLY, &h) == 0 && read_node(node, h, 0, 4096) == 0 &&
			client.length == 10 && memcmp(client.answer, "some text\n", 10) == 0,
		"a file's bytes");
	ok(read_node(node, h, 5, 3) == 0 && client.length == 3 &&
			memcmp(client.answer, "tex", 3) == 0,
		"from the middle");
	ok(read_node(node, h, 500, 3) == 0 && client.length == 0, "nothing beyond its end");
	snprintf(path, sizeof path, "%s/plain", place);
	ok(truncate(path, 2) == 0 && read_node(node, h, 0, 4096) == 0 && client.length == 2,
		"cut short on the host: fewer bytes and no crash");
	close_node(node, h);
	ok(open_node(mask, O_RDONLY, &h) == 0 && read_node(mask, h, 0, 100) == 0 &&
			memcmp(client.answer, "stand-in\n", 9) == 0 && client.length == 9,
		"a stand-in's bytes");
	ok(read_node(mask, h, 100, 100) == 0 && client.length == 0, "and its end");
	close_node(mask, h);
	ok(open_node(named, O_RDONLY, &h) == 0 && read_node(named, h, 0, 100) == 0 &&
			client.length == 2,
		"a file that was named by itself");
	close_node(named, h);
	ok(open_node(node, O_WRONLY, &h) == EROFS && open_node(node, O_RDWR, &h) == EROFS &&
			open_node(node, O_RDONLY | O_TRUNC, &h) == EROFS,
		"no way of opening writes");
	put("other", "another file\n");
	snprintf(other, sizeof other, "%s/other", place);
	ok(rename(other, path) == 0 && open_node(node, O_RDONLY, &h) == ESTALE,
		"replaced on the host: the old node is stale, never the other file");
	ok(fuse_lookup(&client, walk_to("0"), "plain", &e) == 0 && e.nodeid != node,
		"and the name has a new one");
}

/*
 * What the kernel has must be right before it is used, and a page that it waits for elsewhere is
 * locked.
 */
static void test_stores(void)
{
	uint64_t node, a, b;
	unsigned before;

	put("fresh", "fresh\n");
	node = walk_to("0/fresh");
	before = client.stores;
	ok(open_node(node, O_RDONLY, &a) == 0 && client.stores == before + 1 &&
			strcmp(client.stored, "fresh\n") == 0,
		"a small file's bytes come with the answer to its first open");
	put("fresh", "other\n");
	ok(open_node(node, O_RDONLY, &b) == 0 && client.stores == before + 1,
		"not while it is open elsewhere");
	close_node(node, a);
	close_node(node, b);
	ok(open_node(node, O_RDONLY, &a) == 0 && client.stores == before + 1,
		"nor again while the file is the same");
	close_node(node, a);
	put("fresh", "third time\n");
	ok(open_node(node, O_RDONLY, &a) == 0 && client.stores == before + 2 &&
			strcmp(client.stored, "third time\n") == 0,
		"but after it was changed");
	close_node(node, a);
}

/*
 * Lists a directory through one descriptor in steps; returns how many names came, with those that
 * end in .key counted apart.
 */
static int list(uint64_t node, uint32_t size, bool plus, int *keys)
{
	struct fuse_open_in open_in = { .flags = O_RDONLY };
	struct fuse_open_out opened;
	struct fuse_read_in in = { .size = size };
	int count = 0;

	*keys = 0;
	if (fuse_ask(&client, FUSE_OPENDIR, node, &open_in, sizeof open_in, NULL, 0) != 0)
		return -1;
	memcpy(&opened, client.answer, sizeof opened);
	in.fh = opened.fh;
	while (fuse_ask(&client, plus ? FUSE_READDIRPLUS : FUSE_READDIR, node, &in, sizeof in, NULL,
		       0) == 0 &&
		client.length > 0) {
		size_t length = client.length;

		for (size_t at = 0; at < length;) {
			struct fuse_dirent *d = (struct fuse_dirent *)(void *)(client.answer + at +
				(plus ? sizeof(struct fuse_entry_out) : 0));

			count++;
			*keys += d->namelen > 4 && memcmp(d->name + d->namelen - 4, ".key", 4) == 0;
			in.offset = d->off;
			at += plus ? FUSE_DIRENTPLUS_SIZE(
					     (struct fuse_direntplus *)(void *)(client.answer + at))
				   : FUSE_DIRENT_SIZE(d);
		}
	}
	fuse_ask(&client, FUSE_RELEASEDIR, node, &(struct fuse_release_in){ .fh = opened.fh },
		sizeof(struct fuse_release_in), NULL, 0);
	return count;
}

static void test_listing(void)
{
	int keys;

	ok(list(walk_to("0/many"), 4096, true, &keys) == 2002 && keys == 0,
		"a large directory in small steps: every shown name once, no hidden one");
	ok(list(walk_to("0/many"), 100000, false, &keys) == 2002 && keys == 0,
		"in large steps without attributes");
	ok(list(walk_to("0/sub"), 4096, true, &keys) == 5,
		"a directory with a stand-in, a twin and a hidden link: . .. inner twin mask");
	ok(list(walk_to("0/walk/hidden"), 4096, true, &keys) == 3,
		"a way shows where it leads and nothing else");
	ok(list(walk_to("0/new"), 4096, true, &keys) == 3,
		"a made-up directory lists the place in it");
	ok(list(1, 4096, true, &keys) == 4, "the top lists the named trees");
}

static void test_refusals(void)
{
	static const char name[] = "new\0target";
	uint64_t top = walk_to("0"), node = walk_to("0/sub/inner");
	struct fuse_setattr_in attributes = { .valid = FATTR_MODE };
	struct fuse_mkdir_in mkdir_in = { .mode = 0755 };
	struct fuse_mknod_in mknod_in = { .mode = S_IFREG | 0644 };
	struct fuse_create_in create_in = { .flags = O_WRONLY | O_CREAT, .mode = 0644 };
	struct fuse_rename_in rename_in = { .newdir = top };
	struct fuse_link_in link_in = { .oldnodeid = node };
	struct fuse_access_in access_in = { .mask = W_OK };

	ok(fuse_ask(&client, FUSE_SETATTR, node, &attributes, sizeof attributes, NULL, 0) == EROFS,
		"setattr");
	ok(fuse_ask(&client, FUSE_MKDIR, top, &mkdir_in, sizeof mkdir_in, name, 4) == EROFS,
		"mkdir");
	ok(fuse_ask(&client, FUSE_MKNOD, top, &mknod_in, sizeof mknod_in, name, 4) == EROFS,
		"mknod");
	ok(fuse_ask(&client, FUSE_CREATE, top, &create_in, sizeof create_in, name, 4) == EROFS,
		"create");
	ok(fuse_ask(&client, FUSE_UNLINK, top, "plain", 6, NULL, 0) == EROFS, "unlink");
	ok(fuse_ask(&client, FUSE_RMDIR, top, "sub", 4, NULL, 0) == EROFS, "rmdir");
	ok(fuse_ask(&client, FUSE_SYMLINK, top, name, sizeof name, NULL, 0) == EROFS, "symlink");
	ok(fuse_ask(&client, FUSE_RENAME, top, &rename_in, 8, name, sizeof name) == EROFS,
		"rename");
	ok(fuse_ask(&client, FUSE_LINK, top, &link_in, sizeof link_in, name, 4) == EROFS, "link");
	ok(fuse_ask(&client, FUSE_ACCESS, node, &access_in, sizeof access_in, NULL, 0) == EROFS,
		"access for writing");
	ok(fuse_ask(&client, FUSE_GETXATTR, node, &(struct fuse_getxattr_in){ .size = 100 },
		   sizeof(struct fuse_getxattr_in), "user.x", 7) == ENOSYS,
		"attributes are not offered");
	ok(fuse_ask(&client, FUSE_FLUSH, node, &(struct fuse_flush_in){ .fh = 0 },
		   sizeof(struct fuse_flush_in), NULL, 0) == ENOSYS,
		"and closing never waits");
	ok(fuse_ask(&client, 9999, node, NULL, 0, NULL, 0) == ENOSYS, "an operation of the future");
}

static void test_events(void)
{
	bool denied = false, opened = false, refused = false, named = false, sound = true;
	struct pollfd polled = { client.events, POLLIN, 0 };

	while (poll(&polled, 1, 2000) > 0) {
		char bytes[65536];
		ssize_t got = recv(client.events, bytes, sizeof bytes, 0);
		struct event e;
		size_t at = 0;
		int status;

		if (got <= 0)
			break;
		while ((status = event_parse(bytes, (size_t)got, &at, &e)) > 0) {
			char path[EVENT_PATH_MAX + 1];

			memcpy(path, e.path, e.head.path_length);
			path[e.head.path_length] = '\0';
			denied |= e.head.kind == EVENT_DENIED && strstr(path, "/.env") &&
				e.head.rule >= 0;
			refused |= e.head.kind == EVENT_DENIED &&
				e.head.rule == EVENT_RULE_READ_ONLY &&
				(e.head.flags & EVENT_CREATE);
			opened |= e.head.kind == EVENT_OPENED && strstr(path, "/plain");
			named |= e.head.pid == getpid() && e.head.comm[0];
		}
		sound &= status == 0;
		if (denied && opened && refused && named)
			break;
	}
	ok(denied, "a hidden name that was reached, with its rule");
	ok(refused, "a refused write");
	ok(opened, "an open");
	ok(named, "with the process and its name");
	ok(sound, "every datagram is whole");
}

/* Where nobody asked for opens they are counted and not sent. */
static void test_counting(void)
{
	struct event_head refusal = { .kind = EVENT_DENIED, .rule = -1, .count = 1 };
	struct event_sink *sink;
	bool opened = false, denied = false;
	uint64_t sum = 0;
	char bytes[65536];
	ssize_t got;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		exit(2);
	sink = event_sink_new(pair[0], false);
	ok(event_counts(sink, EVENT_OPENED) && event_counts(sink, EVENT_OPENED),
		"an open is counted and no more");
	ok(!event_counts(sink, EVENT_DENIED), "a refusal is told all the same");
	event_put(sink, &refusal, "/x", 2, 1);
	event_finish(sink);
	while ((got = recv(pair[1], bytes, sizeof bytes, 0)) > 0) {
		struct event e;
		size_t at = 0;

		while (event_parse(bytes, (size_t)got, &at, &e) > 0) {
			opened |= e.head.kind == EVENT_OPENED;
			denied |= e.head.kind == EVENT_DENIED;
			sum += e.head.kind == EVENT_SUMMARY ? e.head.count : 0;
		}
	}
	ok(denied && !opened && sum == 2, "the refusal and the sum are sent, no open is");
	event_sink_free(sink);
	close(pair[0]);
	close(pair[1]);
}

static void test_parser(void)
{
	struct event_head good = { .magic = 0x434f4556u,
		.kind = EVENT_OPENED,
		.path_length = 2,
		.count = 1 },
			  bad;
	char bytes[sizeof good + 2];
	struct event e;
	size_t at;

	memcpy(bytes + sizeof good, "/x", 2);
#define PARSE(h, n) (memcpy(bytes, &(h), sizeof(h)), at = 0, event_parse(bytes, n, &at, &e))
	ok(PARSE(good, sizeof bytes) == 1 && at == sizeof bytes && e.head.path_length == 2,
		"an event is read as it was written");
	ok(PARSE(good, sizeof bytes - 1) == -1 && PARSE(good, 10) == -1, "a short one is refused");
	bad = good, bad.kind = 9;
	ok(PARSE(bad, sizeof bytes) == -1, "an unknown kind");
	bad = good, bad.flags = 1u << 31;
	ok(PARSE(bad, sizeof bytes) == -1, "an unknown flag");
	bad = good, bad.rule = EVENT_RULE_LEAST - 1;
	ok(PARSE(bad, sizeof bytes) == -1, "a rule that is none");
	bad = good, memset(bad.comm, 'a', sizeof bad.comm);
	ok(PARSE(bad, sizeof bytes) == -1, "a name without an end");
	bad = good, bad.magic = 1;
	ok(PARSE(bad, sizeof bytes) == -1, "another magic");
}

/* Nobody reads the events: the server goes on answering, and says later how many were lost. */
static void test_slow_reader(void)
{
	uint64_t top = walk_to("0");
	struct fuse_entry_out e;
	bool answered = true;

	for (int i = 0; i < 12000 && answered; i++) {
		char name[160];

		snprintf(name, sizeof name, "%0100d.key", i);
		if (i % 2 == 0)
			answered = fuse_ask(&client, FUSE_UNLINK, top, name, strlen(name) + 1, NULL,
					   0) == EROFS;
		else
			answered = fuse_lookup(&client, top, name, &e) == ENOENT;
	}
	ok(answered, "twelve thousand refusals that nobody reads: the server never waits");
}

/*
 * Only the supervisor goes: the device is still there, and the last read from it said that nothing
 * waits.
 */
static void test_supervisor_gone(void)
{
	static struct fuse_client other;
	struct fuse_entry_out e;
	struct pollfd gone = { -1, POLLIN, 0 };
	bool ended;

	if (fuse_client_start(&other, make_view, place) != 0 || fuse_client_init(&other) != 0) {
		ok(false, "a second server");
		return;
	}
	ok(fuse_lookup(&other, 1, "0", &e) == 0, "a second server answers");
	gone.fd = (int)syscall(SYS_pidfd_open, other.server, 0);
	close(other.events);
	other.events = -1;
	ended = poll(&gone, 1, 5000) == 1;
	ok(ended, "it ends when its supervisor does");
	if (!ended)
		kill(other.server, SIGKILL);
	waitpid(other.server, NULL, 0);
	close(gone.fd);
	close(other.socket);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int main(void)
{
	int status;

	plan(0);
	make_tree();
	ok(fuse_client_start(&client, make_view, place) == 0 && fuse_client_init(&client) == 0,
		"the server answers");
	test_lookup();
	test_names();
	test_files();
	test_stores();
	test_listing();
	test_refusals();
	test_events();
	test_counting();
	test_parser();
	test_slow_reader();
	test_supervisor_gone();
	status = fuse_client_end(&client);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		"the server ends in good order when its master goes (%#x)", status);
	nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return done();
}
