/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serving a view on a descriptor: /dev/fuse, or one end of a SOCK_SEQPACKET pair with a test on the other.
 *
 * One loop in one thread. It waits for requests and for the end of its supervisor, and for nothing else: not for
 * a process of the sandbox, not for a reader of events.
 */
#ifndef CORDON_FS_VIEW_FUSE_SERVER_H
#define CORDON_FS_VIEW_FUSE_SERVER_H

#include "isolate/base/error.h"

struct view;

/*
 * Opens the session on device, and answers the kernel's first request, which settles the protocol. 0, or -1 with FUSE_UNAVAILABLE and libfuse's message.
 */
int server_open(struct view *v, int device, struct error *err);

/*
 * Serves until the file system is unmounted, the other end of device is gone, or that of control is (-1: there is none). Closes device. Returns 0, or -1 when device
 * could not be set up. Sends what events are left. server_open() comes first.
 */
int server_serve(struct view *v, int device, int control);

#endif
