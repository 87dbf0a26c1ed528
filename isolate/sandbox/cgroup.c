/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup per execution. See cgroup.h.
 *
 * One is made anew for each execution and never reused, so no limit or count of an earlier one
 * applies. Because a supervisor that is killed cannot remove it, a janitor process (cordon-init in
 * another role) holds the other end of a pipe and does so when the pipe ends.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/sandbox/launch.h"

#define LEAF "cordon-caller"

static const char *const CONTROLLERS[] = { "memory", "pids" };

static ssize_t read_at(int directory, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
	return length;
}

static int write_at(int directory, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || at[-1] == ' ') &&
			(at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
			return true;
	return false;
}

/* Whether children of this directory get both controllers; turns them on where that is possible. */
static bool delegates_controllers(int directory)
{
	char text[512];

	for (size_t i = 0; i < sizeof CONTROLLERS / sizeof *CONTROLLERS; i++) {
		char request[32];

		if (read_at(directory, "cgroup.subtree_control", text, sizeof text) < 0)
			return false;
		if (has_word(text, CONTROLLERS[i]))
			continue;
		snprintf(request, sizeof request, "+%s", CONTROLLERS[i]);
		if (read_at(directory, "cgroup.controllers", text, sizeof text) < 0 ||
			!has_word(text, CONTROLLERS[i]) ||
			write_at(directory, "cgroup.subtree_control", request) != 0)
			return false;
	}
	return true;
}

/*
 * The mount point of the version 2 hierarchy, from /proc/self/mountinfo. Returns false when it is
 * not mounted.
 */
static bool find_mount(char *path, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[8192], point[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file)) {
		found = strstr(line, " - cgroup2 ") &&
			sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1;
		if (found)
			snprintf(path, size, "%s", point);
	}
	return found;
}

/* The caller's own cgroup: the line "0::/path" of /proc/self/cgroup. */
static bool find_own(char *path, size_t size)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file)) {
		found = strncmp(line, "0::/", 4) == 0;
		line[strcspn(line, "\n")] = '\0';
		if (found)
			snprintf(path, size, "%s", line + 3);
	}
	return found;
}

/* Whether the caller's process is the only one in a cgroup. */
static bool is_alone(int directory)
{
	char text[64], own[16];

	snprintf(own, sizeof own, "%d\n", (int)getpid());
	return read_at(directory, "cgroup.procs", text, sizeof text) > 0 && strcmp(text, own) == 0;
}

/*
 * Moves the caller to the leaf beside which sandboxes are made. The leaf stays: the unit's end
 * removes it.
 */
static bool move_to_leaf(int directory)
{
	char own[16];

	snprintf(own, sizeof own, "%d", (int)getpid());
	return (mkdirat(directory, LEAF, 0755) == 0 || errno == EEXIST) &&
		write_at(directory, LEAF "/cgroup.procs", own) == 0;
}

/* Whether the hierarchy at path has the controllers; version 1 may have taken them. */
static bool has_controllers(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[512];
	bool found = fd >= 0 && read_at(fd, "cgroup.controllers", text, sizeof text) > 0 &&
		has_word(text, "memory") && has_word(text, "pids");

	return found;
}

/*
 * The path of the cgroup below which sandboxes are made: the caller's own, or the one that its leaf
 * is in.
 */
static const char *find_path(char *path, size_t size)
{
	const char *named = getenv("CORDON_CGROUP");
	char own[PATH_MAX], mount[PATH_MAX], *last;

	if (named && named[0] == '/') {
		snprintf(path, size, "%s", named);
		return NULL;
	}
	if (!find_mount(mount, sizeof mount) || !find_own(own, sizeof own))
		return "the version 2 hierarchy is not mounted";
	if (!has_controllers(mount))
		return "this host is hybrid: the memory and pids controllers belong to version 1";
	last = strrchr(own, '/');
	if (last && strcmp(last + 1, LEAF) == 0)
		*last = '\0';
	snprintf(path, size, "%s%s", mount, own);
	return NULL;
}

/*
 * Opens a directory in which a cgroup can be made, and, to make one, lets the caller make room for
 * it. Returns -1 with *obstacle, why there is none.
 */
static int find_place(bool may_move, const char **obstacle)
{
	_cleanup_close_ int fd = -1;
	char path[2 * PATH_MAX];

	*obstacle = find_path(path, sizeof path);
	if (*obstacle)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || faccessat(fd, "cgroup.procs", W_OK, 0) != 0 ||
		faccessat(fd, ".", W_OK, 0) != 0)
		*obstacle = "the caller's cgroup is not delegated to the caller";
	else if (delegates_controllers(fd))
		return steal_fd(&fd);
	else if (!has_controllers(path))
		*obstacle = "the caller's cgroup was not given the memory and pids controllers";
	else if (!is_alone(fd))
		*obstacle = "other processes are in the caller's cgroup, and none may have "
			    "processes and children";
	else if (!may_move || (move_to_leaf(fd) && delegates_controllers(fd)))
		return steal_fd(&fd);
	else
		*obstacle = "the caller could not move to a leaf of its cgroup";
	return -1;
}

void cgroup_make_room(void)
{
	const char *obstacle;
	_cleanup_close_ int fd = find_place(true, &obstacle);

	(void)fd;
}

const char *cgroup_obstacle(void)
{
	const char *obstacle;
	_cleanup_close_ int fd = find_place(false, &obstacle);

	return fd < 0 ? obstacle : NULL;
}

void cgroup_make(struct cgroup *g, const char *id, int64_t memory_bytes, int64_t processes)
{
	const char *obstacle;
	char number[32];
	pid_t janitor;

	*g = (struct cgroup)CGROUP_INIT;
	g->parent = find_place(true, &obstacle);
	if (g->parent < 0)
		return;
	snprintf(g->name, sizeof g->name, "cordon-%.48s", id);
	g->janitor = launch_keeper(g->name, g->parent, &janitor);
	if (g->janitor < 0 || mkdirat(g->parent, g->name, 0755) != 0)
		goto fail;
	g->directory = openat(g->parent, g->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (g->directory < 0)
		goto fail;
	snprintf(number, sizeof number, "%lld", (long long)memory_bytes);
	if (write_at(g->directory, "memory.max", number) != 0)
		goto fail;
	/* Without swap accounting there is no such file, and then no swap can be charged either. */
	if (write_at(g->directory, "memory.swap.max", "0") != 0 && errno != ENOENT)
		goto fail;
	write_at(g->directory, "memory.oom.group", "1");
	/* PID 1, and for a body the interpreter and its PID 1, are not the program's. */
	snprintf(number, sizeof number, "%lld", (long long)processes + 3);
	if (write_at(g->directory, "pids.max", number) == 0)
		return;
fail:
	cgroup_remove(g);
}

int cgroup_enter(struct cgroup *g, pid_t pid, struct error *err)
{
	char number[16];

	snprintf(number, sizeof number, "%d", (int)pid);
	if (write_at(g->directory, "cgroup.procs", number) != 0)
		return error_set(
			err, FAILURE_LIMIT_DENIED, errno, "moving the sandbox into its cgroup");
	return 0;
}

void cgroup_kill(struct cgroup *g)
{
	if (g->directory >= 0)
		write_at(g->directory, "cgroup.kill", "1");
}

static uint64_t read_number(int directory, const char *name)
{
	char text[64];

	return read_at(directory, name, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* The value of a line "key value" of a flat-keyed file. */
static uint64_t value_of(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

void cgroup_account(struct cgroup *g, struct cgroup_sums *sums)
{
	char text[1024];

	memset(sums, 0, sizeof *sums);
	if (g->directory < 0)
		return;
	/* since Linux 5.19 */
	sums->peak_memory_bytes = read_number(g->directory, "memory.peak");
	/* since Linux 6.1 */
	sums->peak_processes = (uint32_t)read_number(g->directory, "pids.peak");
	if (read_at(g->directory, "cpu.stat", text, sizeof text) > 0) {
		sums->user_us = value_of(text, "user_usec ");
		sums->system_us = value_of(text, "system_usec ");
	}
	if (read_at(g->directory, "memory.events", text, sizeof text) > 0)
		sums->out_of_memory = value_of(text, "oom_kill ") > 0;
}

void cgroup_remove(struct cgroup *g)
{
	if (g->directory >= 0)
		close(g->directory);
	/* The kernel frees the last process's place a moment after it is gone. */
	for (int attempt = 0; g->parent >= 0 && g->name[0] && attempt < 100; attempt++) {
		if (unlinkat(g->parent, g->name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			break;
		poll(NULL, 0, 10);
	}
	if (g->parent >= 0)
		close(g->parent);
	if (g->janitor >= 0)
		close(g->janitor);
	*g = (struct cgroup)CGROUP_INIT;
}
