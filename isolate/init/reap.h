/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a sandbox's PID 1 (of its subreaper, in the tier subprocess): reaps, forwards
 * signals, watches memory, and ends everything when the program has ended, when a limit is passed,
 * or when the other end of the lifeline is gone.
 *
 * The lifeline is a socket whose other end only the supervisor holds. The kernel closes that end
 * however the supervisor dies, so the sandbox cannot outlive it, and no PR_SET_PDEATHSIG is needed,
 * which would fire when a mere thread of the caller exits.
 */
#ifndef CORDON_ISOLATE_INIT_REAP_H
#define CORDON_ISOLATE_INIT_REAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/wire/limits.h"
#include "isolate/wire/init_report.h"

/*
 * Blocks every signal and gives each its default action, so that nothing is lost before the loop
 * begins. For the start of a PID 1. Async-signal-safe.
 */
void reap_block_signals(void);

/* For the program's process, before it starts: unblocks every signal. */
void reap_unblock_signals(void);

/*
 * What the supervisor may send over the lifeline: stop every process of the sandbox, or let them
 * run again.
 */
#define REAP_PAUSE 'p'
#define REAP_RESUME 'r'

/*
 * Runs until nothing but the caller is left. main is the program's process, a child of the caller;
 * usage_fd is an open /proc/self/io of the caller or -1. Fills ended: kind REPORT_ENDED, the
 * program's status (SIGKILL's when it had to be ended), usage, limits. Returns 0, or -1 with errno
 * when the loop could not be set up (everything is ended then, too).
 */
int reap_until_end(pid_t main, int lifeline, int usage_fd, const struct confine_limits *limits,
	struct report *ended);

#endif
