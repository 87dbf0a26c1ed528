/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program changed. See scratch.h. The walk is iterative and by descriptors, as the one that
 * copies is: names from inside are never parsed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "fs/view/object.h"
#include "isolate/base/text.h"

#define LISTING "changes.txt"
#define DEEPEST 128
#define LISTED_MOST (16u << 20) /* bytes of paths that are kept */
#define LINE_BYTES 64           /* what a change takes besides */

struct change {
	char kind;
	char *path, *note; /* what is said of it, or NULL */
};

struct walk {
	int host;
	const struct scratch_below *below;
	size_t listed_bytes;
	struct {
		DIR *dir;
		size_t length; /* of the path */
		bool listed;   /* as changed itself */
		/* nothing in it was there before, whatever the host has at its place */
		bool fresh;
	} stack[DEEPEST];
	unsigned depth;
	/* some directory lies deeper, or has a longer path, than is looked at */
	bool cut;
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
	w->listed_bytes += strlen(w->path) + LINE_BYTES;
	if (w->count < w->caps->files && w->listed_bytes <= LISTED_MOST && grown &&
		asprintf(&path, "%s%s", w->path, is_directory ? "/" : "") >= 0) {
		w->changes[w->count++] = (struct change){ kind, path, note };
		return 0;
	}
	free(note);
	if (w->count >= w->caps->files || w->listed_bytes > LISTED_MOST)
		return error_set(w->err, FAILURE_EXPORT_FAILED, EFBIG,
			"over %zu changes of %s would be too many to list", w->count,
			w->below->path);
	return error_set(w->err, FAILURE_EXPORT_FAILED, ENOMEM, "listing what was changed");
}

/*
 * What is to be said of an object: where a link leads to, what it is that is no file, which
 * permissions it was given. NULL for nothing to say, or without memory.
 */
static char *note_of(int directory, const char *name, const struct stat *st, const struct stat *old)
{
	static const struct {
		mode_t type;
		const char *note;
	} KINDS[] = { { S_IFIFO, "(pipe)" }, { S_IFSOCK, "(socket)" }, { S_IFCHR, "(device)" },
		{ S_IFBLK, "(device)" } };
	char target[PATH_MAX + 1], *note = NULL;
	ssize_t length;

	for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
		if (KINDS[i].type == (st->st_mode & S_IFMT))
			return strdup(KINDS[i].note);
	if (S_ISLNK(st->st_mode)) {
		length = readlinkat(directory, name, target, sizeof target - 1);
		return length < 0 || asprintf(&note, "-> %.*s", (int)length, target) < 0
			? strdup("(link)")
			: note;
	}
	if (!old || (old->st_mode & S_IFMT) != (st->st_mode & S_IFMT) ||
		((old->st_mode ^ st->st_mode) & 0777) == 0)
		return NULL;
	return asprintf(&note, "(permissions %04o)", (unsigned)(st->st_mode & 0777)) < 0 ? NULL
											 : note;
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

/* What was shown in place of the host's file, or NULL. */
static const char *stand_in(const struct walk *w, size_t *length)
{
	char path[OBJECT_PATH_MAX];
	struct policy_verdict verdict;

	if (!w->below->policy ||
		snprintf(path, sizeof path, "%s/%s",
			strcmp(w->below->path, "/") == 0 ? "" : w->below->path,
			w->path) >= (int)sizeof path)
		return NULL;
	verdict = policy_decide(w->below->policy, path, false);
	return verdict.decision == POLICY_MASK
		? policy_mask_content(w->below->policy, verdict.rule, length)
		: NULL;
}

static bool holds(int fd, const char *content, size_t length)
{
	char block[16384];
	ssize_t got;

	while ((got = read(fd, block, sizeof block)) > 0) {
		if ((size_t)got > length || memcmp(block, content, (size_t)got) != 0)
			return false;
		content += got;
		length -= (size_t)got;
	}
	return got == 0 && length == 0;
}

/*
 * Whether a file in the layer holds what was shown before, the stand-in or what the host's has with
 * the same permissions: it was opened for writing and not changed.
 */
static bool is_as_before(const struct walk *w, int directory, const char *name,
	const struct stat *st, const struct stat *old)
{
	size_t length = 0;
	const char *shown = stand_in(w, &length);
	int ours, theirs;
	struct stat ignored;
	bool same;

	if (shown ? (uint64_t)st->st_size != length
		  : !old || !S_ISREG(old->st_mode) || st->st_size != old->st_size ||
				(st->st_mode & 0777) != (old->st_mode & 0777))
		return false;
	ours = workspace_open(directory, name, &ignored);
	theirs = shown ? -1 : object_open(w->host, w->path, O_RDONLY | O_NONBLOCK);
	same = ours >= 0 &&
		(shown ? holds(ours, shown, length) : theirs >= 0 && same_bytes(ours, theirs));
	if (ours >= 0)
		close(ours);
	if (theirs >= 0)
		close(theirs);
	return same;
}

/* Whether a link leads to where the host's does. */
static bool is_same_link(
	const struct walk *w, int directory, const char *name, const struct stat *old)
{
	char ours[PATH_MAX], theirs[PATH_MAX];
	ssize_t length = readlinkat(directory, name, ours, sizeof ours), other = -1;
	int fd = S_ISLNK(old->st_mode) ? object_open(w->host, w->path, O_PATH | O_NOFOLLOW) : -1;

	if (fd >= 0) {
		other = readlinkat(fd, "", theirs, sizeof theirs);
		close(fd);
	}
	return length >= 0 && length < (ssize_t)sizeof ours && length == other &&
		memcmp(ours, theirs, (size_t)length) == 0;
}

static bool is_opaque(int fd)
{
	char value;

	return fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

/* old: the directory that was there before, or NULL. */
static int visit_directory(
	struct walk *w, int directory, const char *name, size_t length, const struct stat *old)
{
	struct stat st;
	int fd = workspace_open(directory, name, &st);
	bool deep = w->depth >= DEEPEST || w->depth >= w->caps->depth ||
		length + NAME_MAX + 2 >= sizeof w->path,
	     opaque, listed;
	char *note;
	DIR *dir;

	if (fd < 0)
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"reading the changed directory %s", name);
	note = deep ? strdup("(deeper than is looked at)") : note_of(directory, name, &st, old);
	opaque = is_opaque(fd);
	listed = !old || deep || opaque || note;
	if (listed && add(w, !old ? 'A' : deep || !opaque ? 'M' : 'R', true, note) < 0) {
		close(fd);
		return -1;
	}
	if (deep) {
		w->cut = true;
		workspace_empty(fd);
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno,
			"reading the changed directory %s", name);
	}
	w->stack[w->depth].dir = dir;
	w->stack[w->depth].length = length;
	w->stack[w->depth].fresh = !old || opaque;
	w->stack[w->depth++].listed = listed;
	return 0;
}

/*
 * What is not changed, or not there any more, goes out of the layer, so that what is copied
 * afterwards is what is listed.
 */
static int visit(struct walk *w, const char *name)
{
	int directory = dirfd(w->stack[w->depth - 1].dir);
	size_t length = w->stack[w->depth - 1].length;
	struct stat st, old;
	bool fresh = w->stack[w->depth - 1].fresh, existed, is_mount, other_kind;

	if (length + strlen(name) + 2 >= sizeof w->path)
		return error_set(
			w->err, FAILURE_EXPORT_FAILED, ENAMETOOLONG, "listing what was changed");
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return error_set(
			w->err, FAILURE_EXPORT_FAILED, errno, "looking at the changed %s", name);
	length += (size_t)sprintf(w->path + length, "%s%s", length ? "/" : "", name);
	existed = !fresh && object_stat(w->host, w->path, &old, &is_mount) == 0;
	if (S_ISCHR(st.st_mode) && st.st_rdev == 0) {
		unlinkat(directory, name, 0);
		return existed ? add(w, 'D', S_ISDIR(old.st_mode), NULL) : 0;
	}
	if ((!fresh && S_ISREG(st.st_mode) &&
		    is_as_before(w, directory, name, &st, existed ? &old : NULL)) ||
		(existed && S_ISLNK(st.st_mode) && is_same_link(w, directory, name, &old))) {
		unlinkat(directory, name, 0);
		return 0;
	}
	/*
	 * A directory in place of what was none, or the other way round: one has gone and another
	 * has come.
	 */
	other_kind = existed && S_ISDIR(st.st_mode) != S_ISDIR(old.st_mode);
	if (other_kind && add(w, 'D', S_ISDIR(old.st_mode), NULL) < 0)
		return -1;
	existed = existed && !other_kind;
	if (S_ISDIR(st.st_mode))
		return visit_directory(w, directory, name, length, existed ? &old : NULL);
	return add(w, existed ? 'M' : 'A', false,
		note_of(directory, name, &st, existed ? &old : NULL));
}

/*
 * Leaves a directory. One in which nothing has changed goes, too; one with something in it stays by
 * itself.
 */
static void leave(struct walk *w)
{
	const char *slash;

	w->depth--;
	w->path[w->stack[w->depth].length] = '\0';
	closedir(w->stack[w->depth].dir);
	slash = strrchr(w->path, '/');
	if (w->depth > 0 && !w->stack[w->depth].listed)
		unlinkat(dirfd(w->stack[w->depth - 1].dir), slash ? slash + 1 : w->path,
			AT_REMOVEDIR);
}

/* The directory itself has no name below itself. */
static int visit_top(struct walk *w, int upper)
{
	struct stat st, old;
	char *note = fstat(upper, &st) == 0 && fstat(w->host, &old) == 0
		? note_of(upper, ".", &st, &old)
		: NULL;

	strcpy(w->path, ".");
	return note ? add(w, 'M', true, note) : 0;
}

static int collect(struct walk *w, int upper)
{
	int status = visit_top(w, upper), fd = workspace_open_again(upper);

	w->stack[0].dir = fd < 0 ? NULL : fdopendir(fd);
	if (!w->stack[0].dir) {
		if (fd >= 0)
			close(fd);
		return error_set(w->err, FAILURE_EXPORT_FAILED, errno, "reading what was changed");
	}
	w->stack[0].fresh = false;
	w->depth = 1;
	while (w->depth > 0) {
		struct dirent *entry = status == 0 ? readdir(w->stack[w->depth - 1].dir) : NULL;

		if (!entry)
			leave(w);
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			status = visit(w, entry->d_name);
	}
	return status;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

/* Notes stand behind a tab, which no name has as it is shown. */
static void write_line(struct buffer *text, const struct change *c)
{
	size_t length = strlen(c->path), from;

	buffer_printf(text, "%c ", c->kind);
	from = text->length;
	text_visible(text, c->path, length, TEXT_ONE_LINE);
	if (text->length - from != length ||
		(length > 0 && memcmp(text->data + from, c->path, length) != 0))
		buffer_add_text(text, "\t(not printable)");
	if (c->note) {
		buffer_add_text(text, "\t");
		text_visible(text, c->note, strlen(c->note), TEXT_ONE_LINE);
	}
	buffer_add_text(text, "\n");
}

static int write_listing(struct walk *w, int directory, bool is_whole)
{
	_cleanup_close_ int fd = openat(
		directory, LISTING, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int status = 0;

	if (w->count > 0)
		qsort(w->changes, w->count, sizeof *w->changes, by_path);
	for (size_t i = 0; i < w->count; i++)
		write_line(&text, &w->changes[i]);
	if (!is_whole)
		buffer_add_text(&text, "?\t(not all is listed, and nothing is copied)\n");
	if (fd < 0 || text.failed ||
		(text.length > 0 && write(fd, text.data, text.length) != (ssize_t)text.length))
		status = error_set(w->err, FAILURE_EXPORT_FAILED, errno, "writing changes.txt");
	return status;
}

int scratch_check(int file, struct error *err)
{
	int fd = file >= 0 ? file : memfd_create("cordon-scratch", MFD_CLOEXEC);
	struct utsname host;
	int error = fd >= 0 && fsetxattr(fd, "user.cordon", "y", 1, 0) != 0 ? errno : 0;

	if (file < 0 && fd >= 0)
		close(fd);
	if (error != EOPNOTSUPP)
		return 0;
	return error_set(err, FAILURE_MOUNT_DENIED, 0,
		"--scratch needs extended attributes on tmpfs, which Linux has from 6.6 on, and "
		"this is Linux %s: without them `rm -r` and `mv` of "
		"a directory would end with EIO after its contents have gone; use --ro with "
		"--copy-in, or a newer kernel",
		uname(&host) == 0 ? host.release : "?");
}

bool scratch_is_layer(const char *name)
{
	size_t length = strlen(SCRATCH_LAYER);

	return strncmp(name, SCRATCH_LAYER, length) == 0 && name[length] != '\0' &&
		name[length + strspn(name + length, "0123456789")] == '\0';
}

/*
 * The directory of a layer: a new one, or, to be overwritten, an earlier export of a layer, which
 * is emptied, since what stays would pass for a change. A descriptor, or -1 with EXPORT_FAILED.
 */
static int make_destination(const char *path, bool overwrite, struct error *err)
{
	bool is_new = mkdir(path, 0777) == 0;
	int fd = -1;

	if (is_new || (errno == EEXIST && overwrite))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(
			err, FAILURE_EXPORT_FAILED, errno, "making the directory %s", path);
	if (is_new ||
		(faccessat(fd, LISTING, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
			workspace_empty(fcntl(fd, F_DUPFD_CLOEXEC, 3)) == 0))
		return fd;
	close(fd);
	return error_set(err, FAILURE_EXPORT_FAILED, EEXIST,
		"replacing %s, which has no " LISTING " of an earlier export or cannot be emptied",
		path);
}

int scratch_export(int upper, int host, const struct scratch_below *below, const char *destination,
	const struct workspace_caps *caps, uint64_t *changes, struct workspace_totals *totals,
	struct error *err)
{
	/* The changes are counted; the directories that lead to them are not. */
	const struct workspace_caps listed = { .files = UINT64_MAX,
		.bytes = caps->bytes,
		.depth = caps->depth,
		.overwrite = caps->overwrite,
		.written = caps->written };
	struct walk *w = calloc(1, sizeof *w);
	char files[PATH_MAX];
	int status = -1, directory = -1;
	bool is_whole;

	*changes = 0;
	memset(totals, 0, sizeof *totals);
	if (!w)
		return error_set(err, FAILURE_EXPORT_FAILED, ENOMEM, "listing what was changed");
	w->host = host;
	w->below = below;
	w->caps = caps;
	w->err = err;
	is_whole = collect(w, upper) == 0;
	directory = make_destination(destination, caps->overwrite, err);
	if (directory < 0)
		goto out;
	if (snprintf(files, sizeof files, "%s/files", destination) >= (int)sizeof files) {
		error_set(err, FAILURE_EXPORT_FAILED, ENAMETOOLONG, "the directory %s/files",
			destination);
		goto out;
	}
	if (write_listing(w, directory, is_whole) < 0)
		goto out;
	*changes = w->count;
	/*
	 * What is not listed is not copied, so what could not be listed whole is not copied at all.
	 */
	if (!is_whole || workspace_export(upper, files, &listed, NULL, totals, err) < 0)
		goto out;
	if (w->cut)
		error_set(err, FAILURE_EXPORT_FAILED, 0,
			"directories deeper than %u levels, or with paths of over %d bytes, are "
			"not looked into; changes.txt names them",
			caps->depth < DEEPEST ? caps->depth : DEEPEST,
			(int)(sizeof w->path - NAME_MAX - 2));
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
