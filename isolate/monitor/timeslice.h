/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Being woken at once, while somebody watches.
 *
 * What a program prints, and which processes it makes, comes to the supervisor in ways of which none has times: it must look soon, or it cannot say which of the two came first. A scheduler lets
 * who runs go on for some milliseconds before who was woken, unless that one asks for shorter turns (sched_setattr(2), Linux 6.12): then it runs first, and not for longer. That is
 * anybody's right, and takes no time from others.
 */
#ifndef CORDON_ISOLATE_MONITOR_TIMESLICE_H
#define CORDON_ISOLATE_MONITOR_TIMESLICE_H

#include <stdbool.h>
#include <stdint.h>

struct prompt {
	bool is_set;
	uint64_t slice_ns; /* what it was */
};

/* Asks for short turns for the calling thread, where it is scheduled as ordinary programs are. Nothing depends on it: older kernels do not look at it. */
void prompt_begin(struct prompt *p);

/* Gives the thread its turns back. Safe at any time. */
void prompt_end(struct prompt *p);

#endif
