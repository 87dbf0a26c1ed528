/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that read: lookup, attributes, links, files.
 *
 * The kernel checks no permission bits here (no default_permissions): the server runs as the very
 * user that the program is on the host, so the host's answer to its own open(2) is the answer. So
 * refused writes arrive here and have events, instead of ending in the kernel. Every object is
 * reached anew by openat2(2) and compared with what its node stood for; another object under the
 * same name is ESTALE, and the kernel looks again. Files are read with pread(2) and never mapped,
 * so one that shrinks meanwhile is a short read and no signal.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fs/view/view.h"

/* as many as the protocol can name; the kernel bounds that by its max_user_bgreq */
#define BACKGROUND_MOST 65535u
#define EXECUTE_FLAG 0x20 /* the kernel's __FMODE_EXEC: it opens a program to run it */
#define MASK_HANDLE (UINT64_C(1) << 32) /* file handle: a rule's number and no descriptor */
#define EMPTY_HANDLE (UINT64_C(1) << 33)

struct node *view_node(fuse_req_t req, fuse_ino_t ino)
{
	struct node *n = tree_find(view_of(req)->tree, ino);

	if (!n)
		fuse_reply_err(req, ESTALE);
	return n;
}

/* The root of the mount: the named trees by their numbers. */
static int resolve_tree(
	struct view *v, const char *name, struct node_identity *found, struct stat *st)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);
	const struct view_tree *tree;

	if (*end || end == name || number >= v->tree_count || v->trees[number].fd < 0 ||
		(name[0] == '0' && name[1]))
		return ENOENT;
	tree = &v->trees[number];
	memset(found, 0, sizeof *found);
	found->tree = (uint32_t)number;
	found->verdict = policy_decide(v->policy, tree->path, tree->runtime);
	if (found->verdict.decision == POLICY_MASK) {
		found->kind = NODE_MASK;
		found->ino = (ino_t)found->verdict.rule;
		return 0;
	}
	if (fstat(tree->fd, st) != 0)
		return errno;
	found->kind = NODE_HOST;
	found->is_directory = S_ISDIR(st->st_mode);
	found->dev = st->st_dev;
	found->ino = st->st_ino;
	view_squash(v, st);
	return found->verdict.decision == POLICY_HIDE ? ENOENT : 0;
}

static void reply_entry(fuse_req_t req, struct node *parent, const char *name,
	const struct node_identity *found, const struct stat *st)
{
	struct view *v = view_of(req);
	struct fuse_entry_param entry = {
		.attr_timeout = VIEW_TIMEOUT_S, .entry_timeout = VIEW_TIMEOUT_S, .attr = *st
	};
	struct node *n = tree_enter(v->tree, parent, name, found);

	if (!n) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (n->kind != NODE_HOST)
		view_invent(v, n, &entry.attr);
	entry.ino = n->id;
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		/* the caller was interrupted, and the kernel will not count this one */
		tree_forget(v->tree, n->id, 1);
}

static void op_lookup(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct view *v = view_of(req);
	struct node *parent = view_node(req, ino);
	struct fuse_entry_param absent = { .entry_timeout = VIEW_ABSENT_TIMEOUT_S };
	struct node_identity found;
	struct stat st;
	int status, rule = VIEW_NO_RULE;

	if (!parent)
		return;
	/* The kernel resolves dots and slashes itself and never sends them. */
	if (strlen(name) > NAME_MAX || !*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
		strcmp(name, "..") == 0) {
		fuse_reply_err(req, strlen(name) > NAME_MAX ? ENAMETOOLONG : EINVAL);
		return;
	}
	if (parent->kind == NODE_TOP)
		status = resolve_tree(v, name, &found, &st);
	else if (!parent->is_directory)
		status = ENOTDIR;
	else if ((status = view_child_path(v, parent, name)) == 0)
		status = view_resolve(v, parent, name, -1, &found, &st, &rule);
	if (status == 0) {
		reply_entry(req, parent, name, &found, &st);
	} else if (rule == VIEW_ABSENT) {
		fuse_reply_entry(req, &absent);
	} else if (rule != VIEW_NO_RULE) {
		view_emit(v, req, EVENT_DENIED, EVENT_READ, rule, NULL);
		fuse_reply_err(req, ENOENT);
	} else {
		fuse_reply_err(req, status);
	}
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	tree_forget(view_of(req)->tree, ino, count);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		tree_forget(view_of(req)->tree, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static bool is_other(const struct node *n, const struct stat *st)
{
	return st->st_dev != n->dev || st->st_ino != n->ino;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	bool is_mount;
	struct stat st;
	int status;

	(void)fi;
	if (!n)
		return;
	if (n->kind != NODE_HOST) {
		view_invent(v, n, &st);
		fuse_reply_attr(req, &st, VIEW_TIMEOUT_S);
		return;
	}
	if ((status = view_path(v, n)) == 0)
		status = object_stat(v->trees[n->tree].fd, v->path, &st, &is_mount) != 0 ? errno
			: is_other(n, &st)                                               ? ESTALE
											 : 0;
	if (status == ENOENT)
		/* a node that is gone: what has its name now is for a new lookup to say */
		status = ESTALE;
	if (status == ESTALE && n->opens > 0 && fstat(n->kept, &st) == 0)
		/* unlinked, but still open: the kernel asks by the node and not by the open file */
		status = 0;
	if (status) {
		fuse_reply_err(req, status);
		return;
	}
	view_squash(v, &st);
	fuse_reply_attr(req, &st, VIEW_TIMEOUT_S);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	char text[PATH_MAX + 1];
	ssize_t length = -1;
	struct stat st;
	int status, fd;

	if (!n)
		return;
	status = n->kind != NODE_HOST ? EINVAL : view_path(v, n);
	if (status) {
		fuse_reply_err(req, status);
		return;
	}
	fd = object_open(v->trees[n->tree].fd, v->path, O_PATH);
	if (fd < 0 || fstat(fd, &st) != 0)
		status = errno == ENOENT ? ESTALE : errno;
	else if (is_other(n, &st))
		status = ESTALE;
	else if ((length = readlinkat(fd, "", text, PATH_MAX)) < 0)
		status = errno;
	if (fd >= 0)
		close(fd);
	if (status) {
		fuse_reply_err(req, status);
		return;
	}
	text[length] = '\0';
	fuse_reply_readlink(req, text);
}

static uint32_t flags_of(int flags)
{
	return ((flags & O_ACCMODE) == O_WRONLY ? 0 : EVENT_READ) |
		((flags & O_ACCMODE) != O_RDONLY ? EVENT_WRITE : 0) |
		(flags & O_TRUNC ? EVENT_TRUNCATE : 0) | (flags & O_APPEND ? EVENT_APPEND : 0) |
		(flags & EXECUTE_FLAG ? EVENT_EXECUTE : 0);
}

/* A file that was ordinary when its name was looked up may have got a key since. */
static bool has_become_secret(struct view *v, const struct node *n, int fd)
{
	struct policy_verdict now;
	enum policy_content content;

	if (n->verdict.exact || v->trees[n->tree].runtime || !n->parent->parent)
		return false;
	now = policy_child(v->policy, &n->parent->verdict, v->full, n->name, false);
	content = policy_rule_content(v->policy, now.rule);
	return now.decision == POLICY_HIDE && content != POLICY_HOLDS_ANYTHING &&
		view_holds(v, content, fd);
}

/* Opens and compares. Returns a descriptor, or -1 with errno. */
static int open_file(
	struct view *v, fuse_req_t req, struct node *n, uint32_t flags, struct stat *st)
{
	int fd = view_spare(v, req,
		    object_open(v->trees[n->tree].fd, v->path, O_RDONLY | O_NONBLOCK | O_NOCTTY),
		    flags),
	    error = 0;

	if (fd < 0) {
		if (errno == ENOENT || errno == ELOOP)
			errno = ESTALE;
		return -1;
	}
	if (fstat(fd, st) != 0)
		error = errno;
	else if (is_other(n, st))
		error = ESTALE;
	else if (!S_ISREG(st->st_mode))
		/* pipes, sockets and devices are the kernel's own business and do not come here */
		error = ENXIO;
	else if (has_become_secret(v, n, fd))
		error = ESTALE;
	else if (st->st_nlink > 1 && !n->verdict.exact && !v->trees[n->tree].runtime &&
		view_hidden_link(v, st, false) != VIEW_NO_RULE)
		error = ESTALE;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

/*
 * Whether the pages that the kernel has of this file are still good; if not, its size must be asked
 * for again, too.
 */
static bool is_unchanged(struct view *v, struct node *n, const struct stat *st)
{
	int64_t mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	int64_t ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	bool first = n->seen.ctime_ns == 0;
	bool same = n->seen.mtime_ns == mtime_ns && n->seen.ctime_ns == ctime_ns &&
		n->seen.size == st->st_size;

	n->seen.mtime_ns = mtime_ns;
	n->seen.ctime_ns = ctime_ns;
	n->seen.size = st->st_size;
	if (!same && !first && v->session)
		fuse_lowlevel_notify_inval_inode(v->session, n->id, -1, 0);
	return same;
}

/*
 * Gives the kernel what a small file holds together with the answer to the open, which saves the
 * request to read it. Only where no other open is known: a page that the kernel waits for elsewhere
 * is locked, and the kernel would wait for the server, which waits for the kernel
 * (fuse_lowlevel_notify_store()).
 */
#define FILL_MOST 32768
static bool fill(struct view *v, const struct node *n, int fd, off_t size)
{
	struct fuse_bufvec data = FUSE_BUFVEC_INIT((size_t)size);

	if (!v->session || n->opens > 0 || size <= 0 || size > FILL_MOST ||
		pread(fd, v->block, (size_t)size, 0) != size)
		return false;
	data.buf[0].mem = v->block;
	return fuse_lowlevel_notify_store(v->session, n->id, 0, &data, 0) == 0;
}

/* Counts an open; the first one's descriptor is kept for as long as there are others. */
static void hold(struct node *n, int fd)
{
	if (n->opens++ == 0) {
		n->kept = fd;
		n->kept_is_released = false;
	}
}

static void let_go(struct node *n, int fd)
{
	bool is_kept = n->opens > 0 && fd == n->kept && !n->kept_is_released;

	if (!is_kept || n->opens == 1)
		close(fd);
	else
		n->kept_is_released = true;
	if (n->opens > 0 && --n->opens == 0 && n->kept_is_released)
		close(n->kept);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	uint32_t flags = flags_of(fi->flags);
	struct stat st;
	int status, fd;

	if (!n)
		return;
	status = view_path(v, n);
	if (status) {
		fuse_reply_err(req, status);
		return;
	}
	if (flags & (EVENT_WRITE | EVENT_TRUNCATE)) {
		view_emit(v, req, EVENT_DENIED, flags, EVENT_RULE_READ_ONLY, NULL);
		fuse_reply_err(req, EROFS);
		return;
	}
	if (n->kind == NODE_HOST) {
		fd = open_file(v, req, n, flags, &st);
		if (fd < 0) {
			fuse_reply_err(req, errno);
			return;
		}
		fi->fh = (uint64_t)fd;
		fi->keep_cache = is_unchanged(v, n, &st) || fill(v, n, fd, st.st_size);
		hold(n, fd);
	} else {
		fi->fh = n->kind == NODE_MASK ? MASK_HANDLE | (uint64_t)n->verdict.rule
					      : EMPTY_HANDLE;
		fi->keep_cache = 1;
	}
	view_emit(v, req, EVENT_OPENED, flags, n->verdict.rule, NULL);
	if (fuse_reply_open(req, fi) == -ENOENT && fi->fh < MASK_HANDLE)
		let_go(n, (int)fi->fh);
}

static void op_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct view *v = view_of(req);
	ssize_t got;

	(void)ino;
	if (fi->fh >= MASK_HANDLE) {
		size_t length = 0;
		const char *text = fi->fh & MASK_HANDLE
			? policy_mask_content(v->policy, (int)(fi->fh & INT_MAX), &length)
			: "";
		size_t start = (size_t)offset < length ? (size_t)offset : length;

		fuse_reply_buf(req, text + start, length - start < size ? length - start : size);
		return;
	}
	if (size > VIEW_BLOCK)
		size = VIEW_BLOCK;
	do
		got = pread((int)fi->fh, v->block, size, offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, v->block, (size_t)got);
}

/* Without it an overlay's copy-up fills the holes of a file, and so does `cp`. */
static void op_lseek(
	fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	off_t found;

	(void)ino;
	if (fi->fh >= MASK_HANDLE || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	found = lseek((int)fi->fh, offset, whence);
	if (found < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_lseek(req, found);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = tree_find(view_of(req)->tree, ino);

	if (fi->fh < MASK_HANDLE && n)
		let_go(n, (int)fi->fh);
	else if (fi->fh < MASK_HANDLE)
		close((int)fi->fh);
	fuse_reply_err(req, 0);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	int status = 0, fd;

	if (!n)
		return;
	if (mask & W_OK) {
		status = EROFS;
	} else if (n->kind != NODE_HOST) {
		status = mask & X_OK && !n->is_directory ? EACCES : 0;
	} else if ((status = view_path(v, n)) == 0) {
		fd = object_open(v->trees[n->tree].fd, v->path, O_PATH);
		if (fd < 0 || faccessat(fd, "", mask, AT_EMPTY_PATH | AT_EACCESS) != 0)
			status = errno;
		if (fd >= 0)
			close(fd);
	}
	fuse_reply_err(req, status);
}

/* The numbers of the file system that an object lies on; those of the view itself are nothing. */
static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs fs = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX };
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	struct statfs host;
	int fd = -1;

	if (!n)
		return;
	if (n->kind == NODE_HOST && view_path(v, n) == 0)
		fd = object_open(v->trees[n->tree].fd, v->path, O_PATH);
	if (fd >= 0 && fstatfs(fd, &host) == 0)
		fs = (struct statvfs){
			.f_bsize = (unsigned long)host.f_bsize,
			.f_frsize = (unsigned long)(host.f_frsize ? host.f_frsize : host.f_bsize),
			.f_blocks = host.f_blocks,
			.f_bfree = host.f_bfree,
			.f_bavail = host.f_bavail,
			.f_files = host.f_files,
			.f_ffree = host.f_ffree,
			.f_favail = host.f_ffree,
			.f_namemax = (unsigned long)host.f_namelen,
		};
	if (fd >= 0)
		close(fd);
	fs.f_flag = ST_RDONLY | ST_NOSUID;
	fuse_reply_statfs(req, &fs);
}

static void op_init(void *data, struct fuse_conn_info *connection)
{
	(void)data;
	connection->want |= connection->capable &
		(FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_PARALLEL_DIROPS);
	/*
	 * Each listing goes through the attributes, where a name that is hidden as another's hard
	 * link is left out.
	 */
	connection->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA |
		FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
		FUSE_CAP_POSIX_ACL | FUSE_CAP_WRITEBACK_CACHE);
	/*
	 * RELEASE is a background request. Were it to wait until others are answered, while more is
	 * opened, the server's descriptors would run out.
	 */
	/*
	 * The kernel wants room for a write of this size in each read, and reads no more than that
	 * at a time, too.
	 */
	if (connection->max_write > VIEW_BLOCK)
		connection->max_write = VIEW_BLOCK;
	connection->max_background = BACKGROUND_MOST;
	connection->time_gran = 1;
}

void view_operations(struct fuse_lowlevel_ops *ops)
{
	ops->init = op_init;
	ops->lookup = op_lookup;
	ops->forget = op_forget;
	ops->forget_multi = op_forget_multi;
	ops->getattr = op_getattr;
	ops->readlink = op_readlink;
	ops->open = op_open;
	ops->read = op_read;
	ops->lseek = op_lseek;
	ops->release = op_release;
	ops->access = op_access;
	ops->statfs = op_statfs;
	view_operations_directory(ops);
	view_operations_refused(ops);
}
