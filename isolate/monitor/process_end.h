/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process ended that is not a child of this one.
 *
 * It stands in /proc while its parent has not collected it, and after that in its pidfd, where the kernel can (PIDFD_INFO_EXIT, Linux 6.15); else it is not known.
 */
#ifndef CORDON_ISOLATE_MONITOR_PROCESS_END_H
#define CORDON_ISOLATE_MONITOR_PROCESS_END_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a process has its number still: it lives, or its parent has not collected it. */
bool process_end_is_held(int pidfd);

/* The status, in wait(2) form, of a process that has ended; outside is its number in this process's namespace. Returns false where it cannot be known, or not yet. */
bool process_end_read(pid_t outside, int pidfd, int *status);

#endif
