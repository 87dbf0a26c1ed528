/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host a program is shown. See runtime.h.
 *
 * The tables say it all: programs and libraries, and of /etc only what they need and nobody keeps secrets in. Users, groups, names and resolvers are made up.
 * Paths are handed on as they were given: they are opened once, inside, by the process that mounts them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/runtime.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The system runtime: what every program needs and nobody keeps secrets in. */
static const struct { const char *path; unsigned flags; } RUNTIME[] = {
	{ "/usr", 0 },
	{ "/bin", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/sbin", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib32", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/lib64", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/libx32", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/etc/ld.so.cache", PLAN_BIND_OPTIONAL },
	{ "/etc/alternatives", PLAN_BIND_OPTIONAL },
	{ "/etc/ssl/certs", PLAN_BIND_OPTIONAL },
	{ "/etc/localtime", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
	{ "/etc/os-release", PLAN_BIND_LIKE_HOST | PLAN_BIND_OPTIONAL },
};

static const struct { const char *path, *content, *content_online; } ETC[] = {
	{ "/etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000:user:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", NULL },
	{ "/etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n", NULL },
	{ "/etc/hostname", "cordon\n", NULL },
	{ "/etc/hosts", "127.0.0.1 localhost cordon\n::1 localhost\n", NULL },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", "passwd: files\ngroup: files\nhosts: files dns\n" },
};

/* A file of the host's, as the caller sees it, for programs that share the host's network. */
static void add_host_file(struct plan_builder *b, const char *path)
{
	char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	plan_add_file(b, path, text, length > 0 ? (size_t)length : 0);
}

unsigned runtime_flags(const struct options *o)
{
	return PLAN_BIND_RUNTIME | (o->view == VIEW_FUSE ? PLAN_BIND_VIEW : 0);
}

void runtime_add(struct plan_builder *b, const struct options *o)
{
	bool online = o->network == NETWORK_ALLOW;

	for (size_t i = 0; i < sizeof RUNTIME / sizeof *RUNTIME; i++)
		plan_add_bind(b, RUNTIME[i].path, RUNTIME[i].path, RUNTIME[i].flags | runtime_flags(o));
	for (size_t i = 0; i < sizeof ETC / sizeof *ETC; i++) {
		const char *content = online && ETC[i].content_online ? ETC[i].content_online : ETC[i].content;

		if (online && strcmp(ETC[i].path, "/etc/hosts") == 0)
			add_host_file(b, ETC[i].path);
		else
			plan_add_file(b, ETC[i].path, content, strlen(content));
	}
	if (online)
		add_host_file(b, "/etc/resolv.conf");
	else
		plan_add_file(b, "/etc/resolv.conf", "", 0);
}

/* Whether a path inside lies in a directory that each execution has for itself. */
static bool is_private(const char *path)
{
	static const char *const PRIVATE[] = { "/tmp", "/workspace", "/dev/shm" };

	for (size_t i = 0; i < sizeof PRIVATE / sizeof *PRIVATE; i++) {
		size_t length = strlen(PRIVATE[i]);

		if (strncmp(path, PRIVATE[i], length) == 0 && (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

int runtime_add_tree(struct plan_builder *b, const char *source, const char *target, unsigned flags, struct runner_spawn *spawn, struct error *err)
{
	size_t length = strlen(target) + 1;

	plan_add_bind(b, source, target, flags);
	if (!is_private(target))
		return 0;
	if (length > sizeof spawn->targets - spawn->targets_length)
		return error_set(err, FAILURE_BAD_OPTION, 0, "the names of what is to be shown below /tmp, /workspace and /dev/shm are over %zu bytes long together; show a directory above them, or name places elsewhere with SRC:DST",
				 sizeof spawn->targets);
	memcpy(spawn->targets + spawn->targets_length, target, length);
	spawn->targets_length += (uint32_t)length;
	return 0;
}

/* The same place is named with --scratch, too: that has what this shows, and can be written to (compose_view_check() saw that it is the same object). */
static bool is_replaced(const struct options *o, const struct bind *named)
{
	for (size_t i = 0; !named->scratch && i < o->ro_count; i++)
		if (o->ro[i].scratch && strcmp(o->ro[i].target, named->target) == 0)
			return true;
	return false;
}

int runtime_add_named(struct plan_builder *b, const struct options *o, struct runner_spawn *spawn, struct error *err)
{
	for (size_t i = 0; i < o->ro_count; i++) {
		unsigned flags = (o->view != VIEW_BIND ? PLAN_BIND_VIEW : 0) | (o->ro[i].scratch ? PLAN_BIND_SCRATCH : 0);

		if (is_replaced(o, &o->ro[i]))
			continue;
		if (runtime_add_tree(b, o->ro[i].source, o->ro[i].target, flags, spawn, err) < 0)
			return -1;
	}
	return 0;
}
