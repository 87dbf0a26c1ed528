/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk for files with several names. See links.h.
 *
 * One list of directories grows while it is gone through; each is opened by its path below its
 * root, read, and closed. A file costs no call of its own: its number stands in the directory. A
 * directory that has gone from its place meanwhile may have been moved to one that was read before,
 * so the walk begins anew; a tree that never stands still counts as not seen.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/view/links.h"
#include "fs/view/view.h"

#define MOST_ENTRIES 4000000u
#define MOST_AT_START 50000u
#define ATTEMPTS 3
#define BLOCK 65536

struct walk {
	struct view *v;
	struct links *l;
	struct object_set walked, hidden;
	uint64_t entries, most; /* met so far; where to stop */
	bool stopped;           /* there was more below this root */
	bool moved;
	_Alignas(8) char block[BLOCK]; /* of raw_entry */
};

static bool widen(void **array, size_t *capacity, size_t wanted, size_t size)
{
	size_t more = *capacity ? *capacity : 256;
	void *grown;

	if (wanted <= *capacity)
		return true;
	while (more < wanted)
		more *= 2;
	grown = more < UINT32_MAX ? realloc(*array, more * size) : NULL;
	if (!grown)
		return false;
	*array = grown;
	*capacity = more;
	return true;
}

/* Keeps a name. Returns where, or UINT32_MAX without memory. */
static uint32_t keep_text(struct links *l, const char *name)
{
	size_t length = strlen(name) + 1, at = l->text_length;

	if (!widen((void **)&l->text, &l->text_capacity, at + length, 1))
		return UINT32_MAX;
	memcpy(l->text + at, name, length);
	l->text_length += length;
	return (uint32_t)at;
}

static void add_directory(struct walk *w, uint32_t root, uint32_t parent, const char *name,
	struct policy_verdict verdict)
{
	struct links *l = w->l;
	uint32_t text = keep_text(l, name);

	if (text == UINT32_MAX ||
		!widen((void **)&l->directories, &l->directory_capacity, l->directory_count + 1,
			sizeof *l->directories))
		l->cut = true;
	else
		l->directories[l->directory_count++] = (struct link_directory){
			.parent = parent, .root = root, .name = text, .verdict = verdict
		};
}

static void add_name(
	struct walk *w, uint64_t ino, uint32_t directory, const char *name, int rule, bool again)
{
	struct links *l = w->l;
	uint32_t text = keep_text(l, name);

	if (text == UINT32_MAX ||
		!widen((void **)&l->names, &l->name_capacity, l->name_count + 1, sizeof *l->names))
		l->cut = true;
	else
		l->names[l->name_count++] =
			(struct link_name){ ino, directory, text, (int16_t)rule, again };
}

int links_place(const struct view *v, struct links *l, uint32_t directory, const char *name)
{
	const struct link_directory *d = &l->directories[directory];
	bool anchored = d->root >= v->tree_count;
	const char *base =
		anchored ? v->anchors[d->root - v->tree_count].path : v->trees[d->root].path;
	const char *own = anchored ? base + 1 : "";
	size_t length = strlen(own), at, base_length = strcmp(base, "/") == 0 ? 0 : strlen(base);

	for (const struct link_directory *up = d; up->parent != LINKS_NO_PARENT;
		up = &l->directories[up->parent])
		length += strlen(l->text + up->name) + (length > 0);
	if (name)
		length += strlen(name) + (length > 0);
	if (length >= sizeof l->relative)
		return -1;
	l->relative[at = length] = '\0';
	if (name) {
		at -= strlen(name);
		memcpy(l->relative + at, name, strlen(name));
		at -= at > 0;
		if (at > 0)
			l->relative[at] = '/';
	}
	for (const struct link_directory *up = d; up->parent != LINKS_NO_PARENT;
		up = &l->directories[up->parent]) {
		size_t part = strlen(l->text + up->name);

		at -= part;
		memcpy(l->relative + at, l->text + up->name, part);
		at -= at > 0;
		if (at > 0)
			l->relative[at] = '/';
	}
	memcpy(l->relative, own, at);
	if (anchored)
		base_length = 0;
	memcpy(l->full, base, base_length);
	if (length > 0 || base_length == 0)
		l->full[base_length++] = '/';
	memcpy(l->full + base_length, l->relative, length + 1);
	return anchored ? v->top : v->trees[d->root].fd;
}

static bool was_seen(struct walk *w, uint32_t directory)
{
	int top = links_place(w->v, w->l, directory, NULL);
	bool is_mount;
	struct stat st;

	return top >= 0 && object_stat(top, w->l->relative, &st, &is_mount) == 0 &&
		object_set_find(&w->v->known, st.st_dev, st.st_ino, true) >= 0;
}

/*
 * A directory that could not be read. What others keep from the caller outside the named trees is
 * no part of what was to be seen; what has gone from a directory that is still in its place was
 * removed.
 */
static void unseen(struct walk *w, uint32_t directory, int error)
{
	uint32_t parent = w->l->directories[directory].parent;
	bool outside = w->l->directories[directory].root >= w->v->tree_count, is_mount;
	struct stat st;
	int top;

	if (error == EACCES && (outside || was_seen(w, directory)))
		return;
	if (error != ENOENT && error != ENOTDIR && error != ELOOP) {
		w->l->cut = true;
		return;
	}
	if (outside || parent == LINKS_NO_PARENT)
		return;
	top = links_place(w->v, w->l, parent, NULL);
	w->moved |= top < 0 || object_stat(top, w->l->relative, &st, &is_mount) != 0 ||
		st.st_dev != w->l->directories[parent].dev ||
		st.st_ino != w->l->directories[parent].ino;
}

/* Notes a hidden object. A masked one counts as hidden: what it holds is not to be seen. */
static void note(struct walk *w, int fd, const char *name, int rule)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
		(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
		object_set_add(&w->hidden, st.st_dev, st.st_ino, S_ISDIR(st.st_mode), rule) < 0)
		w->l->cut = true;
}

static bool is_ordinary(struct walk *w, int fd, const char *name, uint8_t type, int rule)
{
	return view_is_ordinary(
		w->v, policy_rule_content(w->v->policy, rule), fd, name, DTTOIF(type));
}

/* length: of l->full, up to and with the slash after the directory. */
static void visit(struct walk *w, uint32_t directory, int fd, const struct raw_entry *raw,
	size_t length, bool again)
{
	struct links *l = w->l;
	struct policy_verdict above = l->directories[directory].verdict, verdict;
	size_t name_length = strlen(raw->name);
	uint8_t type = raw->type;
	struct stat st;
	bool hidden;

	if (strcmp(raw->name, ".") == 0 || strcmp(raw->name, "..") == 0)
		return;
	w->entries++;
	if (type == DT_UNKNOWN &&
		fstatat(fd, raw->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
		type = IFTODT(st.st_mode);
	if (length + name_length >= sizeof l->full) {
		l->cut = true;
		return;
	}
	memcpy(l->full + length, raw->name, name_length + 1);
	verdict = policy_child(w->v->policy, &above, l->full, raw->name, false);
	if (is_ordinary(w, fd, raw->name, type, verdict.rule))
		verdict = policy_child_without(w->v->policy, &above, l->full, raw->name);
	hidden = verdict.rule >= 0 &&
		(verdict.decision == POLICY_HIDE || verdict.decision == POLICY_MASK ||
			(verdict.decision == POLICY_WALK && type != DT_DIR));
	if (hidden)
		note(w, fd, raw->name, verdict.rule);
	if (type == DT_REG)
		add_name(w, raw->ino, directory, raw->name, hidden ? verdict.rule : LINKS_SHOWN,
			again);
	if (type == DT_DIR)
		add_directory(w, l->directories[directory].root, directory, raw->name, verdict);
}

/* Whether a directory is to be read, and was met before. Its identity is noted. */
static bool enter(struct walk *w, uint32_t directory, int fd, bool *again)
{
	struct link_directory *d = &w->l->directories[directory];
	uint32_t parent = d->parent;
	struct stat st;

	if (fstat(fd, &st) != 0) {
		w->l->cut = true;
		return false;
	}
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	if ((parent == LINKS_NO_PARENT || w->l->directories[parent].dev != d->dev) &&
		object_is_of_kernel(fd))
		return false;
	*again = object_set_find(&w->walked, st.st_dev, st.st_ino, true) != -2;
	if (object_set_add(&w->walked, st.st_dev, st.st_ino, true, 0) < 0)
		w->l->cut = true;
	if (d->verdict.rule >= 0 && d->verdict.decision == POLICY_HIDE &&
		object_set_add(&w->hidden, st.st_dev, st.st_ino, true, d->verdict.rule) < 0)
		w->l->cut = true;
	return true;
}

static int read_entries(struct walk *w, uint32_t directory, int fd, size_t length, bool again)
{
	long got;

	do {
		got = syscall(SYS_getdents64, fd, w->block, sizeof w->block);
		for (long at = 0; at < got;
			at += ((struct raw_entry *)(void *)(w->block + at))->length)
			visit(w, directory, fd, (struct raw_entry *)(void *)(w->block + at), length,
				again);
	} while ((got > 0 && w->entries < w->most) || (got < 0 && errno == EINTR));
	w->stopped |= got > 0;
	return got < 0 ? -1 : 0;
}

static void read_directory(struct walk *w, uint32_t directory)
{
	struct links *l = w->l;
	int top = links_place(w->v, l, directory, NULL), fd;
	size_t length = strlen(l->full);
	bool again;

	if (top < 0 || length + 2 >= sizeof l->full) {
		l->cut = true;
		return;
	}
	fd = object_open(top, l->relative, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (fd < 0) {
		unseen(w, directory, errno);
		return;
	}
	if (length == 0 || l->full[length - 1] != '/')
		l->full[length++] = '/';
	if (enter(w, directory, fd, &again) && read_entries(w, directory, fd, length, again) < 0)
		unseen(w, directory, errno);
	close(fd);
}

/* Everything below one root. */
static void walk_root(struct walk *w, uint32_t root, const char *path, uint64_t most, bool bounded)
{
	size_t next = w->l->directory_count;

	w->stopped = false;
	w->most = most < MOST_ENTRIES - w->entries ? w->entries + most : MOST_ENTRIES;
	add_directory(w, root, LINKS_NO_PARENT, "", policy_decide(w->v->policy, path, false));
	for (; next < w->l->directory_count && w->entries < w->most; next++)
		read_directory(w, (uint32_t)next);
	if ((next < w->l->directory_count || w->stopped) &&
		(!bounded || w->entries >= MOST_ENTRIES))
		w->l->cut = true;
}

/* most: of each, in any case. */
static void walk_anchors(struct walk *w, uint64_t most)
{
	for (size_t i = 0; i < w->v->anchor_count; i++) {
		const struct view_anchor *a = &w->v->anchors[i];

		walk_root(w, (uint32_t)(w->v->tree_count + i), a->path,
			a->most < most ? a->most : most, a->bounded || most < a->most);
	}
}

static void walk_all(struct walk *w)
{
	const struct view *v = w->v;

	for (size_t i = 0; i < v->tree_count; i++)
		if (view_is_walked(v, i) && !view_covers(v, v->trees[i].path, i))
			walk_root(w, (uint32_t)i, v->trees[i].path, MOST_ENTRIES, false);
	walk_anchors(w, MOST_ENTRIES);
	w->l->cut |= v->anchors_cut;
}

static int by_ino(const void *a, const void *b)
{
	const struct link_name *x = a, *y = b;

	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Lets go of the names of files that have only one. */
static void compact(struct links *l)
{
	size_t kept = 0;

	if (l->name_count > 0)
		qsort(l->names, l->name_count, sizeof *l->names, by_ino);
	for (size_t i = 0; i < l->name_count; i++) {
		bool twin = (i > 0 && l->names[i - 1].ino == l->names[i].ino) ||
			(i + 1 < l->name_count && l->names[i + 1].ino == l->names[i].ino);

		/*
		 * Only what lies before i is written over; a twin of it is kept in any case, so
		 * that i - 1 still has its number.
		 */
		if (twin || l->names[i].rule != LINKS_SHOWN)
			l->names[kept++] = l->names[i];
	}
	l->name_count = kept;
}

static struct walk *begin(struct view *v)
{
	struct walk *w = calloc(1, sizeof *w);

	if (w)
		w->l = calloc(1, sizeof *w->l);
	if (!w || !w->l) {
		free(w);
		return NULL;
	}
	w->v = v;
	w->l->began_ns = links_clock_ns();
	return w;
}

static struct links *end(struct walk *w)
{
	struct links *l = w->l;

	object_set_free(&w->walked);
	object_set_free(&w->hidden);
	free(w);
	return l;
}

struct links *links_walk(struct view *v)
{
	int64_t began_ns = view_now_ns();
	struct walk *w = NULL;
	struct links *l;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (w)
			links_free(end(w));
		w = begin(v);
		if (!w)
			return NULL;
		walk_all(w);
		if (!w->moved)
			break;
	}
	w->l->cut |= w->moved;
	compact(w->l);
	/* What was found hidden before stays so only where a new walk has seen everything. */
	if (w->l->cut && object_set_join(&w->hidden, &v->hidden) < 0)
		w->l->cut = true;
	else {
		struct object_set old = v->hidden;

		v->hidden = w->hidden;
		w->hidden = old;
	}
	l = end(w);
	l->ended_ns = view_now_ns();
	l->took_ns = l->ended_ns - began_ns;
	return l;
}

int links_walk_anchors(struct view *v)
{
	struct walk *w = begin(v);
	int status;

	if (!w)
		return -1;
	walk_anchors(w, MOST_AT_START);
	status = w->l->cut ? -1 : object_set_join(&v->known, &w->hidden);
	links_free(end(w));
	return status;
}
