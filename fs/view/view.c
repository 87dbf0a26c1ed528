/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name stands for. See view.h.
 *
 * The decision falls on the object that was reached: the kernel has resolved every link inside the
 * sandbox by the time a name arrives here, so the path from the tree's root is the path of the
 * object, and a file with several names is looked at by its identity as well. All owners are shown
 * as the one id that exists inside: an id without a mapping would make the kernel answer EACCES
 * where a read-only file system says EROFS, and could not be copied up by an overlay.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/view/links.h"

#define NUMBER_BITS 62 /* of an inode number, as it is shown */
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

struct view *view_new(struct policy *policy, struct event_sink *events, uid_t uid, gid_t gid)
{
	struct view *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->tree = tree_new();
	v->block = malloc(VIEW_BLOCK);
	v->request = malloc(VIEW_REQUEST);
	if (!v->tree || !v->block || !v->request) {
		tree_free(v->tree);
		free(v->block);
		free(v->request);
		free(v);
		return NULL;
	}
	v->policy = policy;
	v->events = events;
	v->uid = uid;
	v->gid = gid;
	v->proc = v->top = -1;
	v->most_descriptors = INT_MAX;
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->tree_count; i++) {
		if (v->trees[i].fd >= 0)
			close(v->trees[i].fd);
		free(v->trees[i].path);
	}
	for (size_t i = 0; i < v->place_count; i++)
		free(v->places[i].path);
	for (size_t i = 0; i < v->anchor_count; i++)
		free(v->anchors[i].path);
	if (v->proc >= 0)
		close(v->proc);
	if (v->top >= 0)
		close(v->top);
	free(v->block);
	free(v->request);
	free(v->trees);
	free(v->places);
	free(v->anchors);
	links_free(v->links);
	object_set_free(&v->hidden);
	object_set_free(&v->known);
	tree_free(v->tree);
	policy_free(v->policy);
	event_sink_free(v->events);
	free(v);
}

static int append_tree(struct view *v, struct view_tree tree)
{
	struct view_tree *grown = v->tree_count < VIEW_TREES_MAX
		? realloc(v->trees, (v->tree_count + 1) * sizeof *grown)
		: NULL;

	if (!grown)
		return -1;
	v->trees = grown;
	v->trees[v->tree_count] = tree;
	return (int)v->tree_count++;
}

int view_add_tree(struct view *v, int fd, const char *path, bool runtime)
{
	struct view_tree tree = { .fd = fd, .path = strdup(path), .runtime = runtime };
	struct stat st;
	int number;

	if (!tree.path || fstat(fd, &st) != 0) {
		free(tree.path);
		return -1;
	}
	tree.is_directory = S_ISDIR(st.st_mode);
	number = append_tree(v, tree);
	if (number < 0)
		free(tree.path);
	return number;
}

int view_skip_tree(struct view *v)
{
	return append_tree(v, (struct view_tree){ .fd = -1 });
}

int view_add_place(struct view *v, uint32_t tree, const char *path, bool is_directory)
{
	struct view_place *grown = realloc(v->places, (v->place_count + 1) * sizeof *grown);
	char *copy = strdup(path);

	if (!grown || !copy) {
		v->places = grown ? grown : v->places;
		free(copy);
		return -1;
	}
	v->places = grown;
	v->places[v->place_count++] = (struct view_place){ tree, is_directory, copy };
	return 0;
}

int view_add_anchor(struct view *v, const char *path, uint64_t most, bool bounded)
{
	struct view_anchor *grown = realloc(v->anchors, (v->anchor_count + 1) * sizeof *grown);
	char *copy = strdup(path);

	v->anchors = grown ? grown : v->anchors;
	if (!grown || !copy) {
		free(copy);
		return -1;
	}
	v->anchors[v->anchor_count++] = (struct view_anchor){ copy, most, bounded };
	return 0;
}

bool view_is_walked(const struct view *v, size_t tree)
{
	return v->trees[tree].fd >= 0 && v->trees[tree].is_directory && !v->trees[tree].runtime;
}

bool view_covers(const struct view *v, const char *path, size_t except)
{
	for (size_t i = 0; i < v->tree_count; i++) {
		const char *root = v->trees[i].path;
		size_t length = root ? strlen(root) : 0;

		if (i == except || !view_is_walked(v, i))
			continue;
		length = strcmp(root, "/") == 0 ? 0 : length;
		if (strncmp(path, root, length) == 0 &&
			(path[length] == '/' || (path[length] == '\0' && i < except)))
			return true;
	}
	return false;
}

int64_t view_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The place of a file system among those met, 255 for all beyond. */
static unsigned device_index(struct view *v, dev_t dev, bool *is_new)
{
	*is_new = false;
	for (unsigned i = 0; i < v->device_count; i++)
		if (v->devices[i] == dev)
			return i;
	if (v->device_count == 255)
		return 255;
	*is_new = true;
	v->devices[v->device_count] = dev;
	return v->device_count++;
}

ino_t view_number(struct view *v, dev_t dev, ino_t ino)
{
	bool is_new;

	/*
	 * An overlay above (--scratch) takes the two highest bits for itself (xino); a number that
	 * has them is not stable there.
	 */
	return (ino & NUMBER_MASK) ^ ino >> NUMBER_BITS << 44 ^
		(ino_t)device_index(v, dev, &is_new) << (NUMBER_BITS - 8);
}

/* Whether an object lies on a file system that is never shown. Asked of each file system once. */
static bool is_of_kernel(struct view *v, const struct node *parent, const struct stat *st)
{
	bool is_new;
	unsigned at = device_index(v, st->st_dev, &is_new);

	if (is_new || at == 255) {
		int fd = object_open(v->trees[parent->tree].fd, v->path, O_PATH);

		v->device_hidden[at] = fd < 0 || object_is_of_kernel(fd);
		if (fd >= 0)
			close(fd);
	}
	return v->device_hidden[at];
}

void view_squash(struct view *v, struct stat *st)
{
	st->st_ino = view_number(v, st->st_dev, st->st_ino);
	st->st_uid = v->uid;
	st->st_gid = v->gid;
	/*
	 * A directory's links and size count what is hidden in it. One link is what other file
	 * systems say that do not count, too.
	 */
	if (S_ISDIR(st->st_mode)) {
		st->st_nlink = 1;
		st->st_size = 4096;
		st->st_blocks = 8;
	}
}

void view_invent(struct view *v, const struct node *n, struct stat *st)
{
	memset(st, 0, sizeof *st);
	st->st_ino = UINT64_C(0xff) << (NUMBER_BITS - 8) | n->id;
	/* an overlay above asks for the owner's right to write */
	st->st_mode = n->is_directory ? S_IFDIR | 0755 : S_IFREG | 0644;
	st->st_nlink = 1;
	st->st_uid = v->uid;
	st->st_gid = v->gid;
	st->st_blksize = 4096;
	if (n->kind == NODE_MASK) {
		size_t length;

		policy_mask_content(v->policy, n->verdict.rule, &length);
		st->st_size = (off_t)length;
		st->st_blocks = (blkcnt_t)(length + 511) / 512;
	}
}

/* v->full from v->path. */
static int complete(struct view *v, uint32_t tree)
{
	const char *root = v->trees[tree].path;
	size_t root_length = strlen(root), length = strlen(v->path);

	if (root_length + 1 + length >= sizeof v->full)
		return ENAMETOOLONG;
	if (root_length == 1) /* "/" */
		root_length = 0;
	memcpy(v->full, root, root_length);
	if (length > 0 || root_length == 0)
		v->full[root_length++] = '/';
	memcpy(v->full + root_length, v->path, length + 1);
	return 0;
}

int view_path(struct view *v, const struct node *n)
{
	if (!n->parent || !v->trees[n->tree].path) {
		v->path[0] = '\0';
		strcpy(v->full, "/");
		return 0;
	}
	if (tree_path(n, v->path, sizeof v->path) < 0)
		return ENAMETOOLONG;
	return complete(v, n->tree);
}

int view_child_path(struct view *v, const struct node *n, const char *name)
{
	ssize_t length = tree_path(n, v->path, sizeof v->path);
	size_t more = strlen(name);

	if (length < 0 || (size_t)length + 1 + more >= sizeof v->path)
		return ENAMETOOLONG;
	if (length > 0)
		v->path[length++] = '/';
	memcpy(v->path + length, name, more + 1);
	return complete(v, n->tree);
}

/* Whether something is to be mounted at v->path, or below it. */
static bool is_place(const struct view *v, uint32_t tree, bool *is_directory)
{
	size_t length = strlen(v->path);

	for (size_t i = 0; i < v->place_count; i++) {
		const struct view_place *place = &v->places[i];

		if (place->tree != tree || strncmp(place->path, v->path, length) != 0)
			continue;
		if (place->path[length] == '/' || place->path[length] == '\0') {
			*is_directory = place->path[length] == '/' || place->is_directory;
			return true;
		}
	}
	return false;
}

static int found_place(
	struct view *v, const struct node *parent, struct node_identity *found, struct stat *st)
{
	*found = (struct node_identity){ .kind = NODE_PLACE,
		.tree = parent->tree,
		.verdict = { POLICY_HIDE, 0, 0, POLICY_RULE_NONE } };
	memset(st, 0, sizeof *st);
	return is_place(v, parent->tree, &found->is_directory) ? 0 : ENOENT;
}

static int stat_child(struct view *v, const struct node *parent, const char *name, int at,
	struct stat *st, bool *is_mount)
{
	int status = at >= 0 ? object_stat_at(at, name, st, is_mount)
			     : object_stat(v->trees[parent->tree].fd, v->path, st, is_mount);

	return status == 0 ? 0 : errno;
}

/*
 * A name that a rule hides: remembers the object, so that it is hidden under its other names, and
 * says whether there is one.
 */
static int hide(struct view *v, const struct stat *st, int status, int by, int *rule)
{
	if (status != 0)
		return ENOENT;
	if (by >= 0 && (S_ISDIR(st->st_mode) || st->st_nlink > 1))
		object_set_add(&v->hidden, st->st_dev, st->st_ino, S_ISDIR(st->st_mode), by);
	*rule = by;
	return ENOENT;
}

bool view_holds(struct view *v, enum policy_content content, int fd)
{
	size_t length = 0;
	ssize_t got = 1;

	if (content == POLICY_HOLDS_ANYTHING)
		return true;
	while (length < VIEW_BLOCK &&
		(got = pread(fd, v->block + length, VIEW_BLOCK - length, (off_t)length)) > 0)
		length += (size_t)got;
	/* what cannot be read to its end is taken for one */
	return got != 0 || policy_content_found(content, v->block, length);
}

bool view_is_ordinary(
	struct view *v, enum policy_content content, int root, const char *path, mode_t mode)
{
	int fd;
	bool holds;

	if (content == POLICY_HOLDS_ANYTHING || !S_ISREG(mode))
		return content != POLICY_HOLDS_ANYTHING;
	fd = object_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	holds = view_holds(v, content, fd);
	if (fd >= 0)
		close(fd);
	return !holds;
}

/* Whether an object that the rules show under this name is hidden under another. */
static int hidden_otherwise(struct view *v, const struct node *parent,
	const struct policy_verdict *verdict, const struct stat *st, bool is_mount)
{
	int rule = VIEW_NO_RULE;

	if (st->st_dev != parent->dev && is_of_kernel(v, parent, st))
		return EVENT_RULE_KERNEL;
	if (verdict->exact || v->trees[parent->tree].runtime)
		return rule;
	if (is_mount || (S_ISREG(st->st_mode) && st->st_nlink > 1))
		return view_hidden_link(v, st, is_mount);
	/*
	 * Nothing is mounted later, so this goes through the trees once and looks the object up
	 * from then on.
	 */
	if (v->trees[parent->tree].has_mounts && S_ISREG(st->st_mode))
		return view_hidden_link(v, st, true);
	if (v->trees[parent->tree].bound && S_ISREG(st->st_mode)) {
		int known = object_set_find(&v->known, st->st_dev, st->st_ino, false);

		return known == -2 ? rule : known;
	}
	return S_ISDIR(st->st_mode) ? view_hidden_directory(v, st) : rule;
}

int view_resolve(struct view *v, const struct node *parent, const char *name, int at,
	struct node_identity *found, struct stat *st, int *rule)
{
	struct policy_verdict verdict = policy_child(
		v->policy, &parent->verdict, v->full, name, v->trees[parent->tree].runtime);
	bool is_mount = false;
	int status, by;

	*rule = VIEW_NO_RULE;
	if (verdict.decision == POLICY_MASK) {
		*found = (struct node_identity){ .kind = NODE_MASK,
			.tree = parent->tree,
			.ino = (ino_t)verdict.rule,
			.verdict = verdict };
		memset(st, 0, sizeof *st);
		return 0;
	}
	status = stat_child(v, parent, name, at, st, &is_mount);
	if (status == 0 && verdict.decision != POLICY_SHOW &&
		view_is_ordinary(v, policy_rule_content(v->policy, verdict.rule),
			v->trees[parent->tree].fd, v->path, st->st_mode))
		verdict = policy_child_without(v->policy, &parent->verdict, v->full, name);
	if (verdict.decision == POLICY_HIDE ||
		(verdict.decision == POLICY_WALK && (status != 0 || !S_ISDIR(st->st_mode)))) {
		if (v->place_count > 0 && found_place(v, parent, found, st) == 0)
			return 0;
		return hide(v, st, status, verdict.rule, rule);
	}
	if (status == ENOENT && v->place_count > 0 && found_place(v, parent, found, st) == 0)
		return 0;
	if (status == ENOENT && verdict.decision == POLICY_SHOW)
		*rule = VIEW_ABSENT;
	if (status != 0)
		return status;
	by = hidden_otherwise(v, parent, &verdict, st, is_mount);
	if (by != VIEW_NO_RULE)
		return hide(v, st, 0, by, rule);
	*found = (struct node_identity){ .kind = NODE_HOST,
		.is_directory = S_ISDIR(st->st_mode),
		.tree = parent->tree,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.verdict = verdict };
	view_squash(v, st);
	return 0;
}
