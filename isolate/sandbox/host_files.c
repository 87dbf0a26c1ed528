/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host's files a program is shown. See plan_build.h.
 *
 * The tables have all of it: programs and libraries, and of /etc only what they need and what holds no
 * secrets. Users, groups, names and resolvers are made up. Paths are handed on as they were given:
 * they are opened once, inside, by the process that mounts them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/plan_build.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/init/mounts.h"

#define COPIED_MOST (64 * 1024)

enum {
	OPTIONAL = PLAN_BIND_OPTIONAL,
	LIKE_HOST = PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL,
	COMMANDS_ONLY = 1 << 16,
	COPIED = 1 << 17,
};

/*
 * The system runtime, and public configuration of the programs in it: what is world-readable and
 * holds no secrets in. COMMANDS_ONLY: of no use to a function body. COPIED: a small file, for which
 * a mount of its own would cost more than its text.
 */
static const struct {
	const char *path;
	unsigned flags;
	const char *why;
} RUNTIME[] = {
	{ "/usr", 0, "programs and libraries" },
	{ "/bin", LIKE_HOST, "programs" },
	{ "/sbin", LIKE_HOST, "programs" },
	{ "/lib", LIKE_HOST, "libraries" },
	{ "/lib32", LIKE_HOST, "libraries" },
	{ "/lib64", LIKE_HOST, "libraries" },
	{ "/libx32", LIKE_HOST, "libraries" },
	{ "/etc/ld.so.cache", OPTIONAL, "where the dynamic linker finds libraries" },
	{ "/etc/alternatives", OPTIONAL, "links of /usr/bin lead through it" },
	{ "/etc/localtime", LIKE_HOST, "the time zone" },
	{ "/etc/timezone", COPIED, "the time zone's name" },
	{ "/etc/os-release", LIKE_HOST, "which distribution this is" },
	{ "/etc/ssl/certs", OPTIONAL, "certificates of authorities" },
	{ "/etc/ssl/openssl.cnf", COPIED, "OpenSSL fails without its configuration" },
	{ "/etc/pki/tls/certs", OPTIONAL, "certificates of authorities (Fedora)" },
	{ "/etc/pki/ca-trust", OPTIONAL, "certificates of authorities (Fedora)" },
	{ "/etc/crypto-policies", OPTIONAL, "included by OpenSSL's configuration (Fedora)" },
	{ "/etc/services", COPIED, "getservbyname(3)" },
	{ "/etc/protocols", COPIED, "getprotobyname(3)" },
	{ "/etc/mime.types", OPTIONAL, "types of files by their names" },
	{ "/etc/inputrc", COPIED | COMMANDS_ONLY, "keys of readline(3)" },
	{ "/etc/fonts", OPTIONAL, "fontconfig finds no font without it" },
	{ "/var/cache/fontconfig", OPTIONAL, "else each program reads all fonts" },
	{ "/etc/matplotlibrc", COPIED, "matplotlib cannot be imported without it" },
	{ "/etc/maven", OPTIONAL | COMMANDS_ONLY, "Maven does not start without it" },
	{ "/etc/ghostscript", OPTIONAL | COMMANDS_ONLY, "fonts" },
	{ "/var/lib/ghostscript", OPTIONAL | COMMANDS_ONLY, "fonts" },
	{ "/etc/R", OPTIONAL | COMMANDS_ONLY, "R finds no package without it" },
	{ "/etc/texmf", OPTIONAL | COMMANDS_ONLY, "TeX" },
	{ "/var/lib/texmf", OPTIONAL | COMMANDS_ONLY, "TeX formats" },
	{ "/etc/php", OPTIONAL | COMMANDS_ONLY, "which modules PHP loads" },
	{ "/etc/gnucobol", OPTIONAL | COMMANDS_ONLY, "the COBOL compiler" },
	{ "/etc/groff", OPTIONAL | COMMANDS_ONLY, "man(1)" },
	{ "/etc/manpath.config", COPIED | COMMANDS_ONLY, "man(1)" },
	{ "/etc/chromium.d", OPTIONAL | COMMANDS_ONLY,
		"Chromium's wrapper does not start without it" },
};

/* The same for commands, by patterns of names in /etc. */
static const struct {
	const char *pattern, *why;
} PATTERNS[] = {
	{ "java-*", "Java does not start without it" },
	{ "ImageMagick-*", "without policy.xml all is allowed" },
	{ "fpc*.cfg", "the Pascal compiler finds no units without it" },
};

/* Made up: names of hosts. */
static const struct {
	const char *path, *content, *content_online;
} ETC[] = {
	{ "/etc/hostname", "cordon\n", NULL },
	{ "/etc/hosts", "127.0.0.1 localhost cordon\n::1 localhost\n", NULL },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n",
		"passwd: files\ngroup: files\nhosts: files dns\n" },
};

/*
 * A small file of the host's, as it is now. One that cannot be read is empty, or left out if it is
 * optional.
 */
static void add_host_file(struct plan_builder *b, const char *path, bool is_optional)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = malloc(COPIED_MOST);
	ssize_t length = fd < 0 || !text ? -1 : read(fd, text, COPIED_MOST);

	if (fd >= 0)
		close(fd);
	if (length >= 0 || !is_optional)
		plan_add_file(b, path, length > 0 ? text : "", length > 0 ? (size_t)length : 0);
}

unsigned runtime_flags(const struct options *o)
{
	return PLAN_BIND_RUNTIME | (o->view == VIEW_FUSE ? PLAN_BIND_VIEW : 0);
}

/* What in /etc matches a pattern of PATTERNS, in one pass. */
static void add_matches(struct plan_builder *b, unsigned flags)
{
	DIR *dir = opendir("/etc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[sizeof "/etc/" + sizeof entry->d_name];

		snprintf(path, sizeof path, "/etc/%s", entry->d_name);
		for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++)
			if (fnmatch(PATTERNS[i].pattern, entry->d_name, FNM_PERIOD) == 0)
				plan_add_bind(b, path, path, flags | OPTIONAL);
	}
	if (dir)
		closedir(dir);
}

/* World-readable only: a program that root runs is another user, which could not read the rest. */
static bool is_public(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_ISDIR(st.st_mode) ? 0005 : 0004));
}

static void add_runtime(struct plan_builder *b, const struct options *o, bool is_body)
{
	for (size_t i = 0; i < sizeof RUNTIME / sizeof *RUNTIME; i++) {
		unsigned flags =
			(RUNTIME[i].flags & ~(unsigned)(COMMANDS_ONLY | COPIED)) | runtime_flags(o);

		if (is_body && (RUNTIME[i].flags & COMMANDS_ONLY))
			continue;
		if ((RUNTIME[i].flags & COPIED) && is_public(RUNTIME[i].path))
			add_host_file(b, RUNTIME[i].path, true);
		else if (RUNTIME[i].flags & COPIED)
			continue;
		else if (!(flags & OPTIONAL) || is_public(RUNTIME[i].path))
			plan_add_bind(b, RUNTIME[i].path, RUNTIME[i].path, flags);
	}
	if (!is_body)
		add_matches(b, runtime_flags(o));
}

/*
 * A program that asks how much memory there is hears of its limit, if that is below what the host
 * has.
 */
static void add_meminfo(struct plan_builder *b, const struct confine_limits *limits)
{
	static const char *const LINES[] = { "MemTotal", "MemFree", "MemAvailable", "Buffers",
		"Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Shmem",
		"Slab", "SReclaimable" };
	struct buffer text = BUFFER_INIT;
	struct sysinfo host;

	if (limits->memory_bytes == 0 || sysinfo(&host) != 0 ||
		limits->memory_bytes >= (uint64_t)host.totalram * host.mem_unit)
		return;
	for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
		buffer_printf(&text, "%s:%*llu kB\n", LINES[i], (int)(23 - strlen(LINES[i])),
			i < 3 ? (unsigned long long)limits->memory_bytes / 1024 : 0);
	if (!text.failed)
		plan_add_file(b, "/" MOUNTS_MEMINFO, text.data, text.length);
	buffer_free(&text);
}

/*
 * passwd(5), group(5): the program's user stands first, since it may have one of the other numbers.
 */
static void add_accounts(struct plan_builder *b, const struct confine_limits *limits)
{
	char text[256];
	int length = snprintf(text, sizeof text,
		"user:x:%u:%u:user:/home/user:/bin/sh\nroot:x:0:0:root:/:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		(unsigned)limits->uid, (unsigned)limits->gid);

	plan_add_file(b, "/etc/passwd", text, (size_t)length);
	length = snprintf(text, sizeof text, "user:x:%u:\nroot:x:0:\nnogroup:x:65534:\n",
		(unsigned)limits->gid);
	plan_add_file(b, "/etc/group", text, (size_t)length);
}

/* Names of hosts, resolvers, users and groups. */
static void add_made_up(
	struct plan_builder *b, const struct options *o, const struct confine_limits *limits)
{
	bool online = o->network == NETWORK_ALLOW;

	for (size_t i = 0; i < sizeof ETC / sizeof *ETC; i++) {
		const char *content =
			online && ETC[i].content_online ? ETC[i].content_online : ETC[i].content;

		if (online && strcmp(ETC[i].path, "/etc/hosts") == 0)
			add_host_file(b, ETC[i].path, false);
		else
			plan_add_file(b, ETC[i].path, content, strlen(content));
	}
	if (online)
		add_host_file(b, "/etc/resolv.conf", false);
	else
		plan_add_file(b, "/etc/resolv.conf", "", 0);
	add_accounts(b, limits);
}

/* Whether a path inside lies in a directory that each execution has for itself. */
static bool is_private(const char *path)
{
	static const char *const PRIVATE[] = { "/tmp", "/var/tmp", "/workspace", "/dev/shm",
		"/home/user" };

	for (size_t i = 0; i < sizeof PRIVATE / sizeof *PRIVATE; i++) {
		size_t length = strlen(PRIVATE[i]);

		if (strncmp(path, PRIVATE[i], length) == 0 &&
			(path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

int host_files_add_tree(struct plan_builder *b, const char *source, const char *target,
	unsigned flags, struct runner_spawn *spawn, struct error *err)
{
	size_t length = strlen(target) + 1;

	plan_add_bind(b, source, target, flags);
	if (!is_private(target))
		return 0;
	if (length > sizeof spawn->targets - spawn->targets_length)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"the names of what is to be shown below /tmp, /workspace and /dev/shm are "
			"over %zu bytes long together; show a directory above them, or name places "
			"elsewhere with SRC:DST",
			sizeof spawn->targets);
	memcpy(spawn->targets + spawn->targets_length, target, length);
	spawn->targets_length += (uint32_t)length;
	return 0;
}

/*
 * The same place is named with --scratch, too: that has what this shows, and can be written to
 * (plan_view_check() saw that it is the same object).
 */
static bool is_replaced(const struct options *o, const struct bind *named)
{
	for (size_t i = 0; !named->scratch && i < o->ro_count; i++)
		if (o->ro[i].scratch && strcmp(o->ro[i].target, named->target) == 0)
			return true;
	return false;
}

static int add_named(const struct options *o, struct plan_builder *b, struct runner_spawn *spawn,
	struct error *err)
{
	for (size_t i = 0; i < o->ro_count; i++) {
		unsigned flags = (o->view != VIEW_BIND ? PLAN_BIND_VIEW : 0) |
			(o->ro[i].scratch ? PLAN_BIND_SCRATCH : 0);

		if (is_replaced(o, &o->ro[i]))
			continue;
		if (host_files_add_tree(b, o->ro[i].source, o->ro[i].target, flags, spawn, err) < 0)
			return -1;
	}
	/*
	 * connect(2) asks for the right to write to the socket alone, so a read-only bind is
	 * enough; through FUSE nothing listens.
	 */
	for (size_t i = 0; i < o->host_sockets.count; i++) {
		const char *path = o->host_sockets.items[i];

		if (path[0] != '/' || strstr(path, "/../"))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"--host-socket: %s is no absolute path without \"..\"", path);
		if (host_files_add_tree(b, path, path, PLAN_BIND_SOCKET, spawn, err) < 0)
			return -1;
	}
	return 0;
}

int host_files_add(const struct sandbox_request *in, struct plan_builder *b,
	struct runner_spawn *spawn, struct error *err)
{
	add_runtime(b, in->options, in->program->kind == PROGRAM_BODY);
	add_made_up(b, in->options, &spawn->limits);
	add_meminfo(b, &spawn->limits);
	return add_named(in->options, b, spawn, err);
}
