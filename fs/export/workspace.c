/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into the workspace and out of it. See workspace.h.
 *
 * The walk keeps a stack of open directories, so its depth is bounded by a number and not by the
 * machine's stack; every name is opened relative to its parent's descriptor with O_NOFOLLOW, and
 * what it is was decided by fstat(2) of that descriptor. Names are bytes: they are never parsed,
 * only passed on.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/export/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/text.h"
#include "isolate/base/io.h"

#define DEEPEST 128
#define MOVED_MOST 1000000u /* names that are tried */

static int copy_bytes(int from, int to, uint64_t most)
{
	char block[65536];

	for (uint64_t done = 0;;) {
		ssize_t got = read(from, block, sizeof block);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (int)got;
		done += (uint64_t)got;
		if (done > most) {
			errno = EFBIG;
			return -1;
		}
		if (write_all(to, block, (size_t)got) < 0)
			return -1;
	}
}

int workspace_copy_in(int workspace, const char *name, int source, mode_t mode, struct error *err)
{
	int status = 0,
	    fd = openat(workspace, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		    mode & 0777);

	if (fd < 0)
		return error_set(err, FAILURE_BAD_INPUT, errno, "making %s in the workspace", name);
	if (lseek(source, 0, SEEK_SET) < 0 || copy_bytes(source, fd, UINT64_MAX) < 0)
		status = error_set(err,
			errno == ENOSPC ? FAILURE_BAD_INPUT : FAILURE_RESOURCES_EXHAUSTED, errno,
			"copying %s into the workspace%s", name,
			errno == ENOSPC ? ": it is full, see --workspace-size" : "");
	close(fd);
	return status;
}

/*
 * One directory being walked: the workspace's side and the side that is written (-1 when emptying).
 */
struct level {
	DIR *from;
	int to;
	char name[256];
};

struct walk {
	struct level stack[DEEPEST];
	unsigned depth;
	const struct workspace_caps *caps;
	bool (*leaves_out)(const char *name);
	struct workspace_totals *totals;
	struct error *err;
	char withheld[256]; /* the first name that was left out for what would run it */
};

static int push(struct walk *w, int from, int to, const char *name)
{
	DIR *dir = w->depth < DEEPEST ? fdopendir(from) : NULL;

	if (!dir) {
		close(from);
		if (to >= 0)
			close(to);
		return -1;
	}
	w->stack[w->depth].from = dir;
	w->stack[w->depth].to = to;
	snprintf(w->stack[w->depth].name, sizeof w->stack[w->depth].name, "%s", name);
	w->depth++;
	return 0;
}

static void pop(struct walk *w)
{
	struct level *top = &w->stack[--w->depth];

	closedir(top->from);
	if (top->to >= 0)
		close(top->to);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void note_written(const struct walk *w, const char *name)
{
	struct workspace_written *written = w->caps->written;
	struct buffer path = BUFFER_INIT, seen = BUFFER_INIT;

	if (!written)
		return;
	buffer_add_text(&path, written->below);
	for (unsigned i = 1; i < w->depth; i++)
		buffer_printf(&path, "%s/", w->stack[i].name);
	buffer_add_text(&path, name);
	text_visible(&seen, path.data, path.length, TEXT_ONE_LINE);
	buffer_add_text(&seen, "\n");
	if (!path.failed && !seen.failed && written->more == 0 &&
		written->count < WORKSPACE_NAMES_MOST &&
		written->names.length + seen.length <= WORKSPACE_NAMES_BYTES) {
		buffer_add(&written->names, seen.data, seen.length);
		written->count++;
	} else {
		written->more++;
	}
	buffer_free(&path);
	buffer_free(&seen);
}

/* A new regular file in place of whatever has the name, but never through it. */
static int export_file(struct walk *w, int from, const struct stat *st, int to, const char *name)
{
	int status = 0, fd;

	if ((uint64_t)st->st_size > w->caps->bytes - w->totals->bytes)
		return error_set(w->err, FAILURE_EXPORT_FAILED, EFBIG,
			"it holds over %llu bytes (at %s)", (unsigned long long)w->caps->bytes,
			name);
	if (w->caps->overwrite && unlinkat(to, name, 0) != 0 && errno != ENOENT)
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"replacing %s in the export directory", name);
	fd = openat(
		to, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, st->st_mode & 0777);
	if (fd < 0 && errno == EEXIST)
		return error_set(w->err, FAILURE_EXPORT_FAILED, 0,
			"%s is in the export directory already; --overwrite replaces it", name);
	if (fd < 0)
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"making %s in the export directory", name);
	if (copy_bytes(from, fd, (uint64_t)st->st_size) < 0)
		status = error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"writing %s in the export directory", name);
	close(fd);
	w->totals->bytes += (uint64_t)st->st_size;
	w->totals->files++;
	note_written(w, name);
	return status;
}

static int export_directory(struct walk *w, int from, int to, const char *name)
{
	int fd;

	if (w->depth >= w->caps->depth || w->depth >= DEEPEST) {
		w->totals->skipped++;
		close(from);
		return 0;
	}
	if (mkdirat(to, name, 0777) != 0 && errno != EEXIST) {
		close(from);
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"making the directory %s in the export directory", name);
	}
	fd = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		close(from);
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"opening the directory %s in the export directory", name);
	}
	w->totals->directories++;
	if (push(w, from, fd, name) < 0)
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"reading the directory %s of the workspace", name);
	return 0;
}

int workspace_open(int directory, const char *name, struct stat *st)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat before;
	int fd;

	if (fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	fd = openat(directory, name, flags);
	if (fd < 0 && errno == EACCES && (S_ISREG(before.st_mode) || S_ISDIR(before.st_mode)) &&
		fchmodat(directory, name, (before.st_mode & 0777) | 0700, 0) == 0)
		fd = openat(directory, name, flags);
	if (fd < 0 || fstat(fd, st) != 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (S_ISDIR(st->st_mode) && (st->st_mode & 0700) != 0700)
		fchmod(fd, (st->st_mode & 0777) | 0700);
	st->st_mode = (st->st_mode & S_IFMT) | (before.st_mode & 07777);
	return fd;
}

int workspace_open_again(int directory)
{
	struct stat st;

	/* Without the right to look into it not even its own name "." can be used. */
	if (fstat(directory, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(directory, (st.st_mode & 0777) | 0700);
	return openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool workspace_is_run_by_tools(const char *name)
{
	static const char *const NAMES[] = {
		/* hooks, and commands in their configuration */
		".git",
		".hg",
		".svn",
		/* hooks that git is pointed at */
		".husky",
		".pre-commit-config.yaml",
		".vscode",
		".idea",
		".zed",
		".devcontainer", /* tasks of editors */
		/* editors, where they start */
		".vimrc",
		".exrc",
		".nvimrc",
		".nvim.lua",
		".dir-locals.el",
		/* the shell, on entering the directory */
		".envrc",
		".direnv",
		".mise.toml",
		".tool-versions",
		/* shells */
		".bashrc",
		".bash_profile",
		".bash_login",
		".bash_logout",
		".profile",
		".zshrc",
		".zshenv",
		".zprofile",
		".zlogin",
		/* keys that are trusted, commands in the configuration */
		".ssh",
		".gnupg",
		/* below .config: at login */
		"autostart",
		"systemd",
		/* configuration that names commands */
		".gitconfig",
		".npmrc",
		".gdbinit",
		".pythonrc",
		".cargo",
	};

	for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
		if (strcasecmp(name, NAMES[i]) == 0)
			return true;
	return false;
}

static int export_entry(struct walk *w, const char *name)
{
	const struct level top = w->stack[w->depth - 1];
	struct stat st;
	int status, fd;

	if (w->depth == 1 && w->leaves_out && w->leaves_out(name)) {
		w->totals->skipped++;
		return 0;
	}
	if (!w->caps->overwrite && workspace_is_run_by_tools(name)) {
		w->totals->skipped++;
		if (!w->withheld[0])
			snprintf(w->withheld, sizeof w->withheld, "%s", name);
		return 0;
	}
	fd = workspace_open(dirfd(top.from), name, &st);
	if (fd < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		w->totals->skipped++;
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (w->totals->files + w->totals->directories >= w->caps->files) {
		close(fd);
		return error_set(w->err, FAILURE_EXPORT_FAILED, EFBIG, "it holds over %llu files",
			(unsigned long long)w->caps->files);
	}
	if (S_ISDIR(st.st_mode))
		return export_directory(w, fd, top.to, name);
	status = export_file(w, fd, &st, top.to, name);
	close(fd);
	return status;
}

int workspace_export(int workspace, const char *destination, const struct workspace_caps *caps,
	bool (*leaves_out)(const char *name), struct workspace_totals *totals, struct error *err)
{
	struct walk w = {
		.depth = 0, .caps = caps, .leaves_out = leaves_out, .totals = totals, .err = err
	};
	int from = workspace_open_again(workspace), to, status = 0;

	memset(totals, 0, sizeof *totals);
	if (mkdir(destination, 0777) != 0 && errno != EEXIST) {
		status = error_set(err, FAILURE_EXPORT_FAILED, errno,
			"making the export directory %s", destination);
		goto out;
	}
	to = open(destination, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0 || from < 0) {
		status = error_set(err, FAILURE_EXPORT_FAILED, errno,
			"opening the export directory %s", destination);
		if (to >= 0)
			close(to);
		goto out;
	}
	status = push(&w, from, to, "");
	from = -1;
	while (w.depth > 0 && status == 0) {
		struct dirent *entry = readdir(w.stack[w.depth - 1].from);

		if (!entry)
			pop(&w);
		else if (!is_dot(entry->d_name))
			status = export_entry(&w, entry->d_name);
	}
	while (w.depth > 0)
		pop(&w);
	if (status == 0 && w.withheld[0])
		status = error_set(err, FAILURE_EXPORT_FAILED, 0,
			"%s is left out, since tools of the host run what lies there; --overwrite "
			"copies it",
			w.withheld);
out:
	if (from >= 0)
		close(from);
	return status;
}

/*
 * Renames a directory that is too deep up to the top. The program may have taken the names that are
 * used here.
 */
static int move_up(struct walk *w, const char *name, unsigned *moved)
{
	char new_name[32];
	int status;

	do {
		snprintf(new_name, sizeof new_name, ".deep-%u", (*moved)++);
		status = renameat(dirfd(w->stack[w->depth - 1].from), name, dirfd(w->stack[0].from),
			new_name);
	} while (status != 0 && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) &&
		*moved < MOVED_MOST);
	if (status == 0)
		rewinddir(w->stack[0].from);
	return status;
}

/* Removes one entry, or goes into it. Returns -1 when it stays. */
static int empty_entry(struct walk *w, const char *name, unsigned *moved)
{
	int directory = dirfd(w->stack[w->depth - 1].from), fd;
	struct stat st;

	if (unlinkat(directory, name, 0) == 0)
		return 0;
	fd = workspace_open(directory, name, &st);
	if (fd >= 0 && S_ISDIR(st.st_mode) && w->depth < DEEPEST)
		return push(w, fd, -1, name);
	if (fd >= 0)
		close(fd);
	return fd >= 0 && S_ISDIR(st.st_mode) ? move_up(w, name, moved) : -1;
}

/*
 * Depth-first without a deep stack: a directory that is too deep to enter from here is renamed up
 * to the top and emptied from there, so that a chain of any length goes. What does not go is left,
 * and the rest goes all the same.
 */
int workspace_empty(int directory)
{
	struct walk w = { .depth = 0 };
	unsigned moved = 0;
	int status, from = workspace_open_again(directory);

	close(directory);
	status = from < 0 ? -1 : push(&w, from, -1, "");
	while (w.depth > 0) {
		struct dirent *entry = readdir(w.stack[w.depth - 1].from);
		char name[sizeof w.stack[0].name];

		if (entry) {
			if (!is_dot(entry->d_name) && empty_entry(&w, entry->d_name, &moved) != 0)
				status = -1;
			continue;
		}
		snprintf(name, sizeof name, "%s", w.stack[w.depth - 1].name);
		pop(&w);
		if (w.depth > 0 &&
			unlinkat(dirfd(w.stack[w.depth - 1].from), name, AT_REMOVEDIR) != 0)
			status = -1;
	}
	return status;
}

int workspace_remove(const char *path)
{
	struct stat st;
	int fd = workspace_open(AT_FDCWD, path, &st);

	if (fd >= 0 && S_ISDIR(st.st_mode))
		workspace_empty(fd);
	else if (fd >= 0)
		close(fd);
	return rmdir(path);
}
