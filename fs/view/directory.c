/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings.
 *
 * A directory is read whole when it is opened, without what is hidden, and an offset is a place in
 * that list: it cannot shift when an entry that is hidden is left out or the host changes the
 * directory, so nothing is listed twice or skipped. Going back to the start reads it again if it
 * has changed. Names that are hidden by identity are left out when the attributes are taken, which
 * keeps the other offsets as they are.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/view/view.h"

struct entry {
	uint64_t ino;
	uint32_t name; /* where it begins in the names */
	uint8_t type;  /* DT_... */
	/* it has its event; a READDIR that ends before it is followed by one that begins with it */
	bool emitted;
};

struct listing {
	size_t *listed; /* bytes that all listings hold */
	int fd;         /* of the host's directory, or -1 */
	struct entry *entries;
	size_t count, capacity;
	char *names;
	size_t names_length, names_capacity;
	int64_t mtime_ns;
	bool started;
};

/*
 * A program may have many directories open, and each is listed in this process, which no limit of
 * the sandbox counts: all listings together have this much. One that is alone may have any size, so
 * that no directory is too large to be read.
 */
#define LISTED_MOST (64u << 20)

static size_t held(const struct listing *l)
{
	return l->capacity * sizeof *l->entries + l->names_capacity;
}

/*
 * Gives one of a listing's two blocks another size. Returns 0, ENOMEM, or ENFILE when all listings
 * together would hold too much.
 */
static int resize(struct listing *l, void **block, size_t from, size_t to)
{
	void *grown;

	if (to - from > LISTED_MOST || *l->listed + (to - from) > LISTED_MOST) {
		if (*l->listed > held(l))
			return ENFILE;
	}
	grown = realloc(*block, to);
	if (!grown)
		return ENOMEM;
	*block = grown;
	*l->listed += to - from;
	return 0;
}

static void release(struct listing *l)
{
	*l->listed -= held(l);
	free(l->entries);
	free(l->names);
	l->entries = NULL;
	l->names = NULL;
	l->count = l->capacity = l->names_length = l->names_capacity = 0;
}

static int add(struct listing *l, const char *name, uint64_t ino, uint8_t type)
{
	size_t length = strlen(name) + 1;

	if (l->count == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 64;
		void *block = l->entries;
		int status = resize(
			l, &block, l->capacity * sizeof *l->entries, capacity * sizeof *l->entries);

		if (status)
			return status;
		l->entries = block;
		l->capacity = capacity;
	}
	if (l->names_length + length > l->names_capacity) {
		size_t capacity = 2 * l->names_capacity + length + 1024;
		void *block = l->names;
		int status = capacity < UINT32_MAX ? resize(l, &block, l->names_capacity, capacity)
						   : ENOMEM;

		if (status)
			return status;
		l->names = block;
		l->names_capacity = capacity;
	}
	memcpy(l->names + l->names_length, name, length);
	l->entries[l->count++] = (struct entry){ ino, (uint32_t)l->names_length, type, false };
	l->names_length += length;
	return 0;
}

static bool is_listed(const struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->names + l->entries[i].name, name) == 0)
			return true;
	return false;
}

/*
 * One name of the host's: in the list, unless a rule hides it, which is an event. v->full is the
 * directory's path with a slash at its end, length bytes.
 */
static int take(struct view *v, fuse_req_t req, const struct node *n, struct listing *l,
	const struct raw_entry *raw, size_t length)
{
	size_t name_length = strlen(raw->name);
	struct policy_verdict verdict;
	bool by_content;

	if (strcmp(raw->name, ".") == 0 || strcmp(raw->name, "..") == 0 ||
		length + name_length >= sizeof v->full)
		return 0;
	memcpy(v->full + length, raw->name, name_length + 1);
	verdict =
		policy_child(v->policy, &n->verdict, v->full, raw->name, v->trees[n->tree].runtime);
	if (verdict.decision == POLICY_MASK)
		return 0; /* listed below, whether the host has it or not */
	/*
	 * A name that is hidden for what the file holds is judged with its attributes, in
	 * describe().
	 */
	by_content = policy_rule_content(v->policy, verdict.rule) != POLICY_HOLDS_ANYTHING;
	if (!by_content && verdict.decision == POLICY_WALK && raw->type != DT_DIR &&
		raw->type != DT_UNKNOWN)
		return 0;
	if (!by_content && verdict.decision == POLICY_HIDE) {
		if (verdict.rule >= 0 && raw->type == DT_DIR)
			object_set_add(&v->hidden, n->dev, raw->ino, true, verdict.rule);
		if (verdict.rule >= 0)
			view_emit(v, req, EVENT_DENIED, EVENT_LIST, verdict.rule, NULL);
		return 0;
	}
	return add(l, raw->name, view_number(v, n->dev, raw->ino), raw->type);
}

static int read_host(struct view *v, fuse_req_t req, const struct node *n, struct listing *l)
{
	size_t length = strlen(v->full);
	int status = 0;

	if (length == 0 || v->full[length - 1] != '/')
		v->full[length++] = '/';
	if (lseek(l->fd, 0, SEEK_SET) < 0)
		return errno;
	while (status == 0) {
		long got = syscall(SYS_getdents64, l->fd, v->block, 65536);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? errno : 0;
		for (long at = 0; at < got && status == 0;
			at += ((struct raw_entry *)(void *)(v->block + at))->length)
			status = take(
				v, req, n, l, (struct raw_entry *)(void *)(v->block + at), length);
	}
	return status;
}

/* Stand-ins, and places to mount on, that lie in this directory. */
static int add_invented(struct view *v, const struct node *n, struct listing *l)
{
	const char *name;
	int rule, status = view_path(v, n);
	size_t length;

	for (size_t i = 0; status == 0 && policy_mask_in(v->policy, v->full, i, &name, &rule);
		i++) {
		struct policy_verdict verdict;

		if (view_child_path(v, n, name) != 0)
			continue;
		verdict = policy_child(
			v->policy, &n->verdict, v->full, name, v->trees[n->tree].runtime);
		if (verdict.decision == POLICY_MASK)
			status = add(l, name, 0, DT_REG);
		view_path(v, n);
	}
	length = strlen(v->path);
	for (size_t i = 0; status == 0 && i < v->place_count; i++) {
		const char *rest = v->places[i].path;
		char piece[NAME_MAX + 1];

		if (v->places[i].tree != n->tree || strncmp(rest, v->path, length) != 0 ||
			(length > 0 && rest[length] != '/'))
			continue;
		rest += length + (length > 0);
		snprintf(piece, sizeof piece, "%.*s", (int)strcspn(rest, "/"), rest);
		if (!is_listed(l, piece))
			status = add(l, piece, 0,
				rest[strcspn(rest, "/")] || v->places[i].is_directory ? DT_DIR
										      : DT_REG);
	}
	return status;
}

static int64_t mtime_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0
		? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
		: 0;
}

static int fill(struct view *v, fuse_req_t req, const struct node *n, struct listing *l)
{
	int status = view_path(v, n);

	l->count = l->names_length = 0;
	l->mtime_ns = mtime_of(l->fd);
	if (status == 0)
		status = add(l, ".", n->id, DT_DIR);
	if (status == 0)
		status = add(l, "..", n->parent ? n->parent->id : n->id, DT_DIR);
	if (n->kind == NODE_TOP) {
		for (size_t i = 0; i < v->tree_count && status == 0; i++) {
			char name[24];

			snprintf(name, sizeof name, "%zu", i);
			if (v->trees[i].fd >= 0)
				status =
					add(l, name, 0, v->trees[i].is_directory ? DT_DIR : DT_REG);
		}
		return status;
	}
	if (status == 0 && l->fd >= 0)
		status = read_host(v, req, n, l);
	return status == 0 ? add_invented(v, n, l) : status;
}

static void listing_free(struct listing *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	release(l);
	free(l);
}

static int open_host(
	struct view *v, fuse_req_t req, const struct node *n, int *out, int64_t *mtime_ns)
{
	int fd = view_spare(v, req,
		object_open(v->trees[n->tree].fd, v->path, O_RDONLY | O_DIRECTORY),
		EVENT_DIRECTORY | EVENT_READ);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? ESTALE : errno;
	if (fstat(fd, &st) != 0 || st.st_dev != n->dev || st.st_ino != n->ino) {
		close(fd);
		return ESTALE;
	}
	*mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	*out = fd;
	return 0;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	struct listing *l;
	int64_t mtime_ns = 0;
	int status;

	if (!n)
		return;
	l = calloc(1, sizeof *l);
	if (!l) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	l->fd = -1;
	l->listed = &v->listed;
	status = view_path(v, n);
	if (status == 0 && n->kind == NODE_HOST)
		status = open_host(v, req, n, &l->fd, &mtime_ns);
	if (status == 0 && n->kind != NODE_TOP)
		view_emit(
			v, req, EVENT_OPENED, EVENT_DIRECTORY | EVENT_READ, n->verdict.rule, NULL);
	if (status) {
		listing_free(l);
		fuse_reply_err(req, status);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)l;
	fi->cache_readdir = 1;
	fi->keep_cache = l->fd >= 0 && n->seen.mtime_ns == mtime_ns;
	n->seen.mtime_ns = mtime_ns;
	if (fuse_reply_open(req, fi) == -ENOENT)
		listing_free(l);
}

/* Reads the directory at its first use, and again after going back when it has changed. */
static int prepare(
	struct view *v, fuse_req_t req, const struct node *n, struct listing *l, off_t offset)
{
	int status;

	if (l->started && (offset != 0 || mtime_of(l->fd) == l->mtime_ns))
		return 0;
	status = fill(v, req, n, l);
	l->started = status == 0;
	if (status)
		release(l); /* a part of a listing would look like all of it */
	return status;
}

/*
 * The attributes of an entry, and a node for it. Returns 0, or an errno when the entry is not to be
 * listed.
 */
static int describe(struct view *v, fuse_req_t req, struct node *n, struct listing *l,
	struct entry *e, struct fuse_entry_param *out)
{
	const char *name = l->names + e->name;
	struct node_identity found;
	struct node *child;
	int rule = VIEW_NO_RULE;

	if (view_child_path(v, n, name) != 0 ||
		view_resolve(v, n, name, l->fd, &found, &out->attr, &rule) != 0) {
		if (!e->emitted && rule != VIEW_NO_RULE && rule != VIEW_ABSENT)
			view_emit(v, req, EVENT_DENIED, EVENT_LIST, rule, NULL);
		e->emitted = true;
		return ENOENT;
	}
	child = tree_enter(v->tree, n, name, &found);
	if (!child)
		return ENOMEM;
	if (child->kind != NODE_HOST)
		view_invent(v, child, &out->attr);
	out->ino = child->id;
	out->attr_timeout = out->entry_timeout = VIEW_TIMEOUT_S;
	return 0;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
	struct fuse_file_info *fi, bool plus)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;
	size_t used = 0;
	char *reply;
	int status;

	if (!n)
		return;
	status = prepare(v, req, n, l, offset);
	if (status == ENFILE) {
		view_path(v, n);
		view_full(v, req, EVENT_DIRECTORY | EVENT_READ);
	}
	reply = status ? NULL : malloc(size);
	if (!reply) {
		fuse_reply_err(req, status ? status : ENOMEM);
		return;
	}
	for (size_t i = offset < 0 ? l->count : (size_t)offset; i < l->count; i++) {
		const char *name = l->names + l->entries[i].name;
		struct fuse_entry_param entry = { .attr = { .st_ino = l->entries[i].ino,
							  .st_mode = (mode_t)DTTOIF(
								  l->entries[i].type) } };
		size_t need;

		/*
		 * The first two, and everything at the top, stand for themselves: they are listed
		 * without a node.
		 */
		if (plus && i >= 2 && n->kind != NODE_TOP &&
			describe(v, req, n, l, &l->entries[i], &entry) != 0)
			continue;
		need = plus ? fuse_add_direntry_plus(
				      req, reply + used, size - used, name, &entry, (off_t)i + 1)
			    : fuse_add_direntry(req, reply + used, size - used, name, &entry.attr,
				      (off_t)i + 1);
		if (need > size - used) {
			if (entry.ino)
				tree_forget(v->tree, entry.ino, 1);
			break;
		}
		used += need;
	}
	fuse_reply_buf(req, reply, used);
	free(reply);
}

static void op_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	list(req, ino, size, offset, fi, false);
}

static void op_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	list(req, ino, size, offset, fi, true);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	listing_free((struct listing *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

void view_operations_directory(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = op_opendir;
	ops->readdir = op_readdir;
	ops->readdirplus = op_readdirplus;
	ops->releasedir = op_releasedir;
}
