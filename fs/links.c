/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard links to what is hidden, and mounts of it.
 *
 * A file with one name is judged by that name. A file with several, or one that is mounted at a second place, may have a hidden one, and nothing in the file says which: so when
 * the first such file is reached, the named trees, and the hidden places that are known outside them, are gone through once, and what a rule hides is noted by its identity.
 * A file whose last change (a new link is one) is younger than that makes it be done again. Programs that use no hard links never pay for it.
 *
 * A walk that could not see everything (too deep or too large a tree, no descriptor left) says nothing about what it did not see: then every file with several
 * names that was not seen is hidden, by a rule of its own, and the walk is tried again a second later.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/view.h"

#define DEEPEST 256
#define MOST_ENTRIES 4000000u
#define AGAIN_NS INT64_C(1000000000)

struct level {
	DIR *dir;
	size_t length;               /* of the path up to here */
	struct policy_verdict verdict;
};

struct scan {
	struct view *v;
	bool runtime, cut;
	uint64_t entries;
	char path[OBJECT_PATH_MAX];
	struct level stack[DEEPEST];
	unsigned depth;
};

static int push(struct scan *s, int fd, size_t length, struct policy_verdict verdict)
{
	DIR *dir = s->depth < DEEPEST ? fdopendir(fd) : NULL;

	if (!dir) {
		close(fd);
		s->cut = true;
		return -1;
	}
	s->stack[s->depth++] = (struct level){ dir, length, verdict };
	return 0;
}

/* Notes a hidden file or directory. A masked one counts as hidden: what it holds is not to be seen. */
static void note(struct scan *s, int directory, const char *name, const struct policy_verdict *verdict)
{
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	    object_set_add(&s->v->hidden, st.st_dev, st.st_ino, verdict->rule) < 0)
		s->cut = true;
}

static void visit(struct scan *s, const struct dirent *entry)
{
	struct level *top = &s->stack[s->depth - 1];
	size_t length = top->length, name_length = strlen(entry->d_name);
	struct policy_verdict verdict;
	int fd;

	s->entries++;
	if (length + 1 + name_length >= sizeof s->path) {
		s->cut = true;
		return;
	}
	if (length != 1 || s->path[0] != '/')
		s->path[length++] = '/';
	memcpy(s->path + length, entry->d_name, name_length + 1);
	verdict = policy_child(s->v->policy, &top->verdict, s->path, entry->d_name, s->runtime);
	if (verdict.decision == POLICY_HIDE || verdict.decision == POLICY_MASK)
		note(s, dirfd(top->dir), entry->d_name, &verdict);
	if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
		fd = openat(dirfd(top->dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		/* Gone, or no directory after all: nothing was missed. One that may not be listed is not counted: it would hide every linked file of a tree that somebody else has a corner of. */
		if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EACCES)
			s->cut = true;
		else if (fd >= 0 && object_is_of_kernel(fd))
			close(fd);
		else if (fd >= 0)
			push(s, fd, length + name_length, verdict);
	}
}

static void walk(struct scan *s, int root, const char *path, struct policy_verdict verdict)
{
	int fd = object_open(root, "", O_RDONLY | O_DIRECTORY);

	s->depth = 0;
	if (fd < 0 || strlen(path) >= sizeof s->path) {
		if (fd >= 0)
			close(fd);
		s->cut = true;
		return;
	}
	strcpy(s->path, path);
	push(s, fd, strlen(path), verdict);
	while (s->depth > 0) {
		struct dirent *entry;

		errno = 0;
		entry = s->entries < MOST_ENTRIES ? readdir(s->stack[s->depth - 1].dir) : NULL;
		if (!entry && (errno != 0 || s->entries >= MOST_ENTRIES))
			s->cut = true;

		if (!entry)
			closedir(s->stack[--s->depth].dir);
		else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			visit(s, entry);
	}
}

static int64_t realtime_ns(void)
{
	struct timespec now;

	/* The coarse clock: it is the one that file systems take their times from. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void scan(struct view *v)
{
	struct scan *s = calloc(1, sizeof *s);

	v->scanned_ns = realtime_ns();
	v->scan_cut = true;
	if (!s)
		return;
	s->v = v;
	for (size_t i = 0; i < v->tree_count; i++)
		if (v->trees[i].fd >= 0 && v->trees[i].is_directory && !v->trees[i].runtime)
			walk(s, v->trees[i].fd, v->trees[i].path, policy_decide(v->policy, v->trees[i].path, false));
	for (size_t i = 0; i < v->anchor_count; i++) {
		struct policy_verdict hidden = { POLICY_HIDE, false, UINT16_MAX, (int16_t)v->anchor_rules[i] };
		struct stat st;

		if (fstat(v->anchors[i], &st) != 0)
			continue;
		object_set_add(&v->hidden, st.st_dev, st.st_ino, v->anchor_rules[i]);
		if (S_ISDIR(st.st_mode))
			walk(s, v->anchors[i], "", hidden);
	}
	v->scan_cut = s->cut;
	free(s);
}

int view_hidden_link(struct view *v, const struct stat *st, bool is_mount)
{
	int64_t changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	int rule;

	if (!policy_hides_anything(v->policy))
		return VIEW_NO_RULE;
	/* Nothing can be mounted here once the server runs, so for a mount the first time is enough. */
	if (v->scanned_ns == 0 || (!is_mount && changed_ns >= v->scanned_ns) || (v->scan_cut && realtime_ns() - v->scanned_ns > AGAIN_NS))
		scan(v);
	rule = object_set_find(&v->hidden, st->st_dev, st->st_ino);
	if (rule == -2 && v->scan_cut && !is_mount)
		return policy_rule_of_unseen(v->policy);
	return rule == -2 ? VIEW_NO_RULE : rule;
}
