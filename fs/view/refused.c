/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that would change something: EROFS, and an event with process, operation and path.
 *
 * The mount itself is not marked read-only, because then the kernel would refuse without an event.
 * Nothing here touches the host, and the server's system call filter has no call that could.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/view/view.h"
#include "isolate/base/proc_file.h"

/* name NULL: the object itself. */
static void refuse(fuse_req_t req, fuse_ino_t ino, const char *name, uint32_t flags)
{
	struct view *v = view_of(req);
	struct node *n = view_node(req, ino);
	int status;

	if (!n)
		return;
	if (name && strlen(name) > NAME_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	status = name && n->parent ? view_child_path(v, n, name) : view_path(v, n);
	if (status == 0)
		view_emit(v, req, EVENT_DENIED, EVENT_WRITE | flags, EVENT_RULE_READ_ONLY, NULL);
	fuse_reply_err(req, status ? status : EROFS);
}

static void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *st, int set, struct fuse_file_info *fi)
{
	(void)st;
	(void)fi;
	refuse(req, ino, NULL, set & FUSE_SET_ATTR_SIZE ? EVENT_TRUNCATE : EVENT_CHANGE);
}

static void op_mknod(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode, dev_t rdev)
{
	(void)mode;
	(void)rdev;
	refuse(req, ino, name, EVENT_CREATE);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode)
{
	(void)mode;
	refuse(req, ino, name, EVENT_CREATE | EVENT_DIRECTORY);
}

static void op_unlink(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	refuse(req, ino, name, EVENT_REMOVE);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	refuse(req, ino, name, EVENT_REMOVE | EVENT_DIRECTORY);
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t ino, const char *name)
{
	(void)link;
	refuse(req, ino, name, EVENT_CREATE);
}

static void op_rename(fuse_req_t req, fuse_ino_t ino, const char *name, fuse_ino_t new_parent,
	const char *new_name, unsigned flags)
{
	(void)new_parent;
	(void)flags;
	if (strlen(new_name) > NAME_MAX)
		fuse_reply_err(req, ENAMETOOLONG);
	else
		refuse(req, ino, name, EVENT_REMOVE);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	(void)ino;
	refuse(req, new_parent, new_name, EVENT_CREATE);
}

static void op_create(
	fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)mode;
	(void)fi;
	/* so the kernel calls a file without a name */
	refuse(req, ino, strcmp(name, "/") == 0 ? NULL : name, EVENT_CREATE);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	(void)bytes;
	(void)size;
	(void)offset;
	(void)fi;
	refuse(req, ino, NULL, 0);
}

static void op_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	refuse(req, ino, NULL, EVENT_CHANGE);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	(void)name;
	refuse(req, ino, NULL, EVENT_CHANGE);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi)
{
	(void)mode;
	(void)offset;
	(void)length;
	(void)fi;
	refuse(req, ino, NULL, EVENT_CHANGE);
}

void view_operations_refused(struct fuse_lowlevel_ops *ops)
{
	ops->setattr = op_setattr;
	ops->mknod = op_mknod;
	ops->mkdir = op_mkdir;
	ops->unlink = op_unlink;
	ops->rmdir = op_rmdir;
	ops->symlink = op_symlink;
	ops->rename = op_rename;
	ops->link = op_link;
	ops->create = op_create;
	ops->write = op_write;
	ops->setxattr = op_setxattr;
	ops->removexattr = op_removexattr;
	ops->fallocate = op_fallocate;
}

/* ---- emit event ---- */

/*
 * Events of what was opened and what was refused, with the process.
 *
 * A process has its number and its name in the event; names are kept for a moment, since a program
 * opens many files in a row. Nothing here waits: the name is read from a place that needs no lock
 * of the process, and the sink never blocks.
 */

#define NAME_AGE_NS INT64_C(100000000)

/* proc_pid_comm(5), proc_pid_status(5). The kernel gives the thread; the event has its process. */
static const struct asker *who_is(struct view *v, int32_t thread, int64_t now_ns)
{
	static const struct asker NOBODY = { .comm = "" };
	struct asker *slot = &v->askers[(uint32_t)thread % (sizeof v->askers / sizeof *v->askers)];
	char status[512], *line;

	if (thread <= 0)
		return &NOBODY;
	if (slot->thread == thread && now_ns < slot->until_ns)
		return slot;
	proc_file_read_below(v->proc, thread, "comm", slot->comm, sizeof slot->comm);
	slot->comm[strcspn(slot->comm, "\n")] = '\0';
	proc_file_read_below(v->proc, thread, "status", status, sizeof status);
	line = strstr(status, "\nTgid:");
	slot->process = line ? (int32_t)strtol(line + strlen("\nTgid:"), NULL, 10) : thread;
	slot->thread = thread;
	slot->until_ns = now_ns + NAME_AGE_NS;
	return slot;
}

int view_spare(struct view *v, fuse_req_t req, int fd, uint32_t flags)
{
	if (fd < 0 ? errno != EMFILE && errno != ENFILE : fd < v->most_descriptors)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = view_full(v, req, flags);
	return -1;
}

int view_full(struct view *v, fuse_req_t req, uint32_t flags)
{
	view_emit(v, req, EVENT_DENIED, flags, EVENT_RULE_DESCRIPTORS, NULL);
	return ENFILE; /* EMFILE would say that the program itself has too many open */
}

void view_emit(struct view *v, fuse_req_t req, enum event_kind kind, uint32_t flags, int rule,
	const char *path)
{
	struct event_head h = { .kind = (uint16_t)kind,
		.flags = flags,
		.rule = policy_rule_shown(v->policy, rule),
		.count = 1 };
	const struct asker *asker;
	int64_t now_ns;
	struct timespec now;

	if (event_counts(v->events, kind))
		return;
	now_ns = view_now_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	h.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	asker = who_is(v, fuse_req_ctx(req)->pid, now_ns);
	h.pid = asker->process;
	memcpy(h.comm, asker->comm, sizeof h.comm);
	if (!path)
		path = v->full;
	event_put(v->events, &h, path, strlen(path), now_ns);
}
