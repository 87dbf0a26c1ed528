/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes that watch over each other, where there is no process namespace to end everything
 * with its first process.
 */
#ifndef CORDON_ISOLATE_INIT_GUARD_H
#define CORDON_ISOLATE_INIT_GUARD_H

#include "isolate/base/error.h"

#define GUARD_SIGNAL SIGPWR /* sent to the reaper when the guardian has died */

/*
 * Splits the caller in two. The parent stays behind as the guardian and never returns: it passes
 * signals on to the child, and when that ends, by whatever signal, kills all that it left, removes
 * directory if the supervisor at the other end of control is gone, too, and exits. The child
 * returns 0 as a reaper of its own; it must call guard_watch once its user is final. Returns -1
 * with RESOURCES_EXHAUSTED when there is no second process to be had.
 */
int guard_split(int control, const char *directory, struct error *err);

/*
 * In the child: asks for GUARD_SIGNAL at the guardian's death. Returns 0, or -1 with INTERNAL when
 * it has died already.
 */
int guard_watch(struct error *err);

#endif
