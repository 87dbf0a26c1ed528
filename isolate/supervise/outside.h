/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of the host a process of the sandbox is. */
#ifndef CORDON_ISOLATE_SUPERVISE_OUTSIDE_H
#define CORDON_ISOLATE_SUPERVISE_OUTSIDE_H

#include <sys/types.h>

/*
 * The number that the caller's /proc has for the process which is number `inside` in the innermost process namespace below top (the sandbox's first process). 0 when it is gone, or
 * beyond the first thousand. proc_pid_status(5), NSpid.
 */
pid_t outside_pid(pid_t top, pid_t inside);

#endif
