/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the parts of a view into a sandbox's root.
 *
 * The view is one mount with a directory or file for each named tree. It is attached at a staging place for as long as the root is built; each tree is cloned from there and
 * put where it belongs, and the staging place goes again. For a tree that may be written to, an overlay of the kernel is made: the view below, a tmpfs above, so that
 * the server never sees a write and the host cannot be reached by one.
 */
#ifndef CORDON_ISOLATE_INIT_VIEW_MOUNT_H
#define CORDON_ISOLATE_INIT_VIEW_MOUNT_H

#include <stdint.h>

#include "isolate/wire/limits.h"
#include "isolate/base/error.h"

/* Attaches the detached mount of a view (closed in any case) at the staging place below root, and makes root the working directory. 0, or -1 with MOUNT_DENIED. */
int view_stage(int root, int mount, struct error *err);

/* The detached tree of a number. what is for the message. Returns a descriptor, or -1. */
int view_take(uint32_t number, const char *what, struct error *err);

/* The same under an overlay; *upper is the directory that receives what is written. Returns a descriptor, or -1. */
int view_take_scratch(uint32_t number, const struct confine_limits *limits, const char *what, int *upper, struct error *err);

/* Takes the staging place away. 0 or -1. */
int view_unstage(struct error *err);

#endif
