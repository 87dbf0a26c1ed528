/* SPDX-License-Identifier: Apache-2.0 */
/* What a program changed. See scratch.h. The walk is iterative and by descriptors, as the one that copies is: names from inside are never parsed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/object.h"
#include "isolate/text.h"

#define DEEPEST 128

struct change { char kind; char *path, *note; /* what is said of it, or NULL */ };

struct walk {
	int host;
	DIR *stack[DEEPEST];
	size_t lengths[DEEPEST];  /* of the path at each level */
	unsigned depth;
	bool cut;                 /* some directory lies deeper than is looked at */
	char path[OBJECT_PATH_MAX];
	struct change *changes;
	size_t count, capacity;
	const struct workspace_caps *caps;
	struct error *err;
};

/* Adds a change of w->path. Takes the note. */
static int add(struct walk *w, char kind, bool is_directory, char *note)
{
	struct change *grown = w->changes;
	char *path = NULL;
	size_t capacity;

	if (w->count == w->capacity) {
		capacity = w->capacity ? 2 * w->capacity : 64;
		grown = realloc(w->changes, capacity * sizeof *grown);
		w->changes = grown ? grown : w->changes;
		w->capacity = grown ? capacity : w->capacity;
	}
	if (w->count < w->caps->files && grown && asprintf(&path, "%s%s", w->path, is_directory ? "/" : "") >= 0) {
		w->changes[w->count++] = (struct change){ kind, path, note };
		return 0;
	}
	free(note);
	if (w->count >= w->caps->files)
		return error_set(w->err, FAILURE_EXPORT_FAILED, EFBIG, "over %llu names were changed", (unsigned long long)w->caps->files);
	return error_set(w->err, FAILURE_EXPORT_FAILED, ENOMEM, "listing what was changed");
}

/* What is to be said of an object that is not copied out: where a link leads to, or what it is. NULL for a file or without memory. */
static char *note_of(int directory, const char *name, mode_t mode)
{
	static const struct { mode_t type; const char *note; } KINDS[] = { { S_IFIFO, " (pipe)" }, { S_IFSOCK, " (socket)" }, { S_IFCHR, " (device)" }, { S_IFBLK, " (device)" } };
	char target[PATH_MAX + 1], *note = NULL;
	ssize_t length;

	for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
		if (KINDS[i].type == (mode & S_IFMT))
			return strdup(KINDS[i].note);
	if (!S_ISLNK(mode))
		return NULL;
	length = readlinkat(directory, name, target, sizeof target - 1);
	return length < 0 || asprintf(&note, " -> %.*s", (int)length, target) < 0 ? strdup(" (link)") : note;
}

static bool same_bytes(int a, int b)
{
	char x[16384], y[16384];
	ssize_t got;

	do {
		got = read(a, x, sizeof x);
		for (ssize_t at = 0, more; at < got; at += more) {
			more = read(b, y, (size_t)(got - at));
			if (more <= 0 || memcmp(x + at, y, (size_t)more) != 0)
				return false;
		}
	} while (got > 0);
	return got == 0;
}

/* Whether a file in the layer holds what the host's has, and the same permissions: it was opened for writing and not changed. */
static bool is_as_before(const struct walk *w, int directory, const char *name, const struct stat *st, const struct stat *old)
{
	int ours, theirs;
	bool same;

	if (!S_ISREG(old->st_mode) || st->st_size != old->st_size || (st->st_mode & 0777) != (old->st_mode & 0777))
		return false;
	ours = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	theirs = object_open(w->host, w->path, O_RDONLY | O_NONBLOCK);
	same = ours >= 0 && theirs >= 0 && same_bytes(ours, theirs);
	if (ours >= 0)
		close(ours);
	if (theirs >= 0)
		close(theirs);
	return same;
}

static bool is_opaque(int fd)
{
	char value;

	return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

static int visit_directory(struct walk *w, int directory, const char *name, size_t length, bool is_new)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool deep;
	DIR *dir;

	if (fd < 0)
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno, "reading the changed directory %s", name);
	deep = w->depth >= DEEPEST || w->depth >= w->caps->depth;
	if ((is_new || deep || is_opaque(fd)) && add(w, is_new ? 'A' : deep ? 'M' : 'R', true, deep ? strdup(" (deeper than is looked at)") : NULL) < 0) {
		close(fd);
		return -1;
	}
	w->cut |= deep;
	dir = deep ? NULL : fdopendir(fd);
	if (!dir) {
		close(fd);
		return deep ? 0 : error_set(w->err, FAILURE_EXPORT_FAILED, errno, "reading the changed directory %s", name);
	}
	w->stack[w->depth] = dir;
	w->lengths[w->depth++] = length;
	return 0;
}

static int visit(struct walk *w, const char *name)
{
	int directory = dirfd(w->stack[w->depth - 1]);
	size_t length = w->lengths[w->depth - 1];
	struct stat st, old;
	bool existed, is_mount;

	if (length + strlen(name) + 2 >= sizeof w->path || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	length += (size_t)sprintf(w->path + length, "%s%s", length ? "/" : "", name);
	existed = object_stat(w->host, w->path, &old, &is_mount) == 0;
	if (S_ISCHR(st.st_mode) && st.st_rdev == 0)
		return existed ? add(w, 'D', S_ISDIR(old.st_mode), NULL) : 0;
	if (S_ISDIR(st.st_mode))
		return visit_directory(w, directory, name, length, !existed || !S_ISDIR(old.st_mode));
	if (existed && S_ISREG(st.st_mode) && is_as_before(w, directory, name, &st, &old))
		return 0;
	return add(w, existed ? 'M' : 'A', false, note_of(directory, name, st.st_mode));
}

static int collect(struct walk *w, int upper)
{
	int fd = openat(upper, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;

	w->stack[0] = fd < 0 ? NULL : fdopendir(fd);
	if (!w->stack[0]) {
		if (fd >= 0)
			close(fd);
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno, "reading what was changed");
	}
	w->depth = 1;
	while (w->depth > 0) {
		struct dirent *entry = status == 0 ? readdir(w->stack[w->depth - 1]) : NULL;

		if (!entry)
			closedir(w->stack[--w->depth]);
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			status = visit(w, entry->d_name);
	}
	return status;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

static int write_listing(struct walk *w, int directory)
{
	int fd = openat(directory, "changes.txt", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	struct buffer text = BUFFER_INIT;
	int status = 0;

	if (w->count > 0)
		qsort(w->changes, w->count, sizeof *w->changes, by_path);
	for (size_t i = 0; i < w->count; i++) {
		buffer_printf(&text, "%c ", w->changes[i].kind);
		text_visible(&text, w->changes[i].path, strlen(w->changes[i].path), TEXT_ONE_LINE);
		if (w->changes[i].note)
			text_visible(&text, w->changes[i].note, strlen(w->changes[i].note), TEXT_ONE_LINE);
		buffer_add(&text, "\n", 1);
	}
	if (fd < 0 || text.failed || (text.length > 0 && write(fd, text.data, text.length) != (ssize_t)text.length))
		status = error_set(w->err, FAILURE_EXPORT_FAILED, errno, "writing changes.txt");
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	return status;
}

int scratch_export(int upper, int host, const char *destination, const struct workspace_caps *caps, uint64_t *changes,
		   struct workspace_totals *totals, struct error *err)
{
	struct walk *w = calloc(1, sizeof *w);
	char files[PATH_MAX];
	int status = -1, directory = -1;

	*changes = 0;
	memset(totals, 0, sizeof *totals);
	if (!w)
		return error_set(err, FAILURE_EXPORT_FAILED, ENOMEM, "listing what was changed");
	w->host = host;
	w->caps = caps;
	w->err = err;
	if (collect(w, upper) < 0)
		goto out;
	if ((mkdir(destination, 0755) != 0 && errno != EEXIST) || (directory = open(destination, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
		error_set(err, FAILURE_EXPORT_FAILED, errno, "making the directory %s", destination);
		goto out;
	}
	if (snprintf(files, sizeof files, "%s/files", destination) >= (int)sizeof files) {
		error_set(err, FAILURE_EXPORT_FAILED, ENAMETOOLONG, "the directory %s/files", destination);
		goto out;
	}
	if (write_listing(w, directory) < 0)
		goto out;
	*changes = w->count;
	if (workspace_export(upper, files, caps, totals, err) < 0)
		goto out;
	if (w->cut)
		error_set(err, FAILURE_EXPORT_FAILED, 0, "directories deeper than %u levels are not looked into; changes.txt names them", caps->depth < DEEPEST ? caps->depth : DEEPEST);
	else
		status = 0;
out:
	if (directory >= 0)
		close(directory);
	for (size_t i = 0; i < w->count; i++) {
		free(w->changes[i].path);
		free(w->changes[i].note);
	}
	free(w->changes);
	free(w);
	return status;
}
