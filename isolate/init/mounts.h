/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor: open_tree(2), fsopen(2), fsmount(2), move_mount(2), mount_setattr(2), all
 * in Linux since 5.12.
 *
 * A tree is cloned and locked down before it is attached, so it is never visible writable, and
 * every target is a descriptor below the new root, so no path of the host's can redirect a mount.
 */
#ifndef CORDON_ISOLATE_INIT_MOUNTS_H
#define CORDON_ISOLATE_INIT_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/error.h"
#include "isolate/wire/limits.h"

/*
 * Clones the mount tree at an open path (O_PATH) with all its submounts, read-only, nosuid and
 * (unless device) nodev throughout. Returns the descriptor of the detached tree, or -1 with
 * MOUNT_DENIED. what is for the message.
 */
int mounts_clone(int fd, bool device, const char *what, struct error *err);

/*
 * A new detached file system: type as in fsopen(2), options as "key=value,key,...". Returns a
 * descriptor, or -1 with MOUNT_DENIED or PROC_MASKED.
 */
int mounts_new(const char *type, const char *options, unsigned attributes, struct error *err);

/*
 * Attaches a detached tree at name below the directory descriptor dir, never through a symbolic
 * link. Closes tree in any case. 0 or -1.
 */
int mounts_attach(int tree, int dir, const char *name, struct error *err);

/*
 * Attaches a detached tree at an absolute path below the directory root, over what is there;
 * missing directories, or for a tree that is a file the file, are made. Links on the way are
 * followed within root only. Closes tree in any case. 0 or -1.
 */
int mounts_put(int tree, int root, const char *path, struct error *err);

/* A file of the root that stands for /proc/meminfo, where there is one. */
#define MOUNTS_MEMINFO "run/cordon/meminfo"

/*
 * Mounts what every execution has for itself over the directories that the root provides:
 * /workspace, /tmp, /var/tmp, /dev/shm and /home/user as parts of one tmpfs of
 * limits->workspace_bytes, /dev/pts as a new instance, and /proc of the current process namespace,
 * with what in it is the host's covered. root: a descriptor of the root directory. Returns 0, or -1
 * with MOUNT_DENIED or PROC_MASKED.
 */
int mounts_private(int root, const struct confine_limits *limits, struct error *err);

/*
 * openat2(2) of path within the directory root: links are followed, but never out of it. flags and
 * mode as in open(2). Returns a descriptor or -1 with errno.
 */
int mounts_open(int root, const char *path, int flags, mode_t mode);

/*
 * Opens the directory above path, which is relative to root, and makes it and those above it if
 * they are missing. *name points to the last component of path. Returns a descriptor, or -1 with
 * MOUNT_DENIED.
 */
int mounts_open_parent(int root, const char *path, const char **name, struct error *err);

/* Makes everything in this mount namespace private, so that nothing leaks either way. 0 or -1. */
int mounts_make_private(struct error *err);

/*
 * Taking the parts of a view into a sandbox's root.
 *
 * The view is one mount with a directory or file for each named tree. It is attached at a staging
 * place for as long as the root is built; each tree is cloned from there and put where it belongs,
 * and the staging place goes again. For a tree that may be written to, an overlay of the kernel is
 * made: the view below, a tmpfs above, so that the server never sees a write and the host cannot be
 * reached by one.
 */

/*
 * Attaches the detached mount of a view (closed in any case) at the staging place below root, and
 * makes root the working directory. 0, or -1 with MOUNT_DENIED.
 */
int view_stage(int root, int mount, struct error *err);

/* The detached tree of a number. what is for the message. Returns a descriptor, or -1. */
int view_take(uint32_t number, const char *what, struct error *err);

/*
 * The same under an overlay; *upper is the directory that receives what is written. Returns a
 * descriptor, or -1.
 */
int view_take_scratch(uint32_t number, const struct confine_limits *limits, const char *what,
	int *upper, struct error *err);

/* Takes the staging place away. 0 or -1. */
int view_unstage(struct error *err);

#endif
