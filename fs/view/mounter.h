/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the mount of a view.
 *
 * The kernel wants /dev/fuse to be opened, and the file system made, by a process in the sandbox's user namespace. A child of the server joins that and the sandbox's
 * mount namespace, but stays in the server's process namespace: requests then come with process ids that mean something outside. It hands
 * over both descriptors and ends; the mount is attached by whoever builds the sandbox's root.
 */
#ifndef CORDON_FS_VIEW_MOUNTER_H
#define CORDON_FS_VIEW_MOUNTER_H

#include "isolate/wire/limits.h"
#include "isolate/base/error.h"

/*
 * pidfd: a process in the namespaces of the sandbox; limits: the ids of its program. Returns 0 with *device (the FUSE descriptor) and *mount (a detached mount), or -1 with FUSE_UNAVAILABLE. For a
 * process with one thread.
 */
int mounter_mount(int pidfd, const struct confine_limits *limits, int *device, int *mount, struct error *err);

#endif
