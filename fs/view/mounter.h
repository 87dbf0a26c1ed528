/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the mount of a view.
 *
 * The kernel wants /dev/fuse to be opened, and the file system made, by a process in the sandbox's
 * user namespace. A child of the server joins that and the sandbox's mount namespace, but stays in
 * the server's process namespace: requests then come with process ids that mean something outside.
 * It hands over both descriptors and ends; cordon-init attaches the mount in the sandbox's root.
 */
#ifndef CORDON_FS_VIEW_MOUNTER_H
#define CORDON_FS_VIEW_MOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "isolate/base/error.h"

/*
 * pidfd: a process in the namespaces of the sandbox; owner and group: the ids of its program.
 * Returns 0 with *device (the FUSE descriptor) and *mount (a detached mount), or -1 with
 * FUSE_UNAVAILABLE. For a process with one thread.
 */
int mounter_mount(int pidfd, uid_t owner, gid_t group, int *device, int *mount, struct error *err);

/*
 * Other host paths of a named object: where else its file system is mounted. proc_pid_mountinfo(5).
 */

/*
 * Takes one path that leads to the same object. Returns 0, or anything else to end the search with.
 */
typedef int mountinfo_visit(void *argument, const char *path);

/*
 * Looks for the paths, other than path, by which the open object fd (O_PATH too) can be reached on
 * this host because of bind mounts. Each is checked to lead there. *bound: the mount that path lies
 * in shows only a part of its file system, so what is below may have other paths, too; *has_mounts:
 * something is mounted below path. Returns what visit returned last, or 0; where the kernel does
 * not say, there are none.
 */
int mountinfo_paths(int fd, const char *path, bool *bound, bool *has_mounts, mountinfo_visit *visit,
	void *argument);

#endif
