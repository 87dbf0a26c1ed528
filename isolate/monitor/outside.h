/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of the host a process of the sandbox is. */
#ifndef CORDON_ISOLATE_MONITOR_OUTSIDE_H
#define CORDON_ISOLATE_MONITOR_OUTSIDE_H

#include <stdint.h>
#include <sys/types.h>

#define OUTSIDE_MOST 1024

/* What was found the last time that all were gone through. */
struct outside {
	int64_t looked_us, took_us;
	unsigned count;
	struct { pid_t inside, outside; unsigned level; } known[OUTSIDE_MOST];
};

/*
 * The number that the caller's /proc has for the process which is number `inside` in the innermost process namespace below top (the sandbox's first process). 0 when it is gone, beyond the first
 * thousand, or not found the last time and that was just now: going through all of them is done for a tenth of the time at most, however many are asked for. proc_pid_status(5), NSpid.
 */
pid_t outside_pid(struct outside *o, pid_t top, pid_t inside);

#endif
