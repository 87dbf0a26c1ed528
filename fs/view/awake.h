/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the server, with nothing to answer, looks again at once instead of going to sleep.
 *
 * Most of what a request takes is the way from one process to the other and back, and of that most is to wake a processor that went to sleep: ten microseconds, and in a virtual
 * machine a hundred. A program that opens one file after another pays it each time, though the next request is less than a millisecond away (a program that imports
 * its modules asks three times in one). So the server stays awake for that long (AWAKE_NS) after a request, where it costs nobody anything:
 *
 * - Requests have been coming closer together than that. One that does not come in time counts against the next wait, so a slow trickle is slept through, and a server that is left
 *   alone stays awake for AWAKE_NS once and then sleeps until it is woken.
 * - There is a processor to spare: no more is running on the whole machine (proc_loadavg(5)) than it has processors. Otherwise no processor sleeps, waking is cheap, and
 *   who stays awake only takes time from others.
 *
 * Where the server can answer from the program's own processor (fs/view/nearby.h) it does that instead, and sleeps in between: awake, it would keep the program from that processor.
 */
#ifndef CORDON_FS_VIEW_AWAKE_H
#define CORDON_FS_VIEW_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/view/load.h"

#define AWAKE_NS INT64_C(1000000)
#define AWAKE_SAMPLE_NS INT64_C(50000)   /* how long it is taken as known that there is a processor to spare */
#define AWAKE_CROWDED_NS INT64_C(250000) /* and that there is none */
#define AWAKE_LOOK_NS INT64_C(1000)      /* between two looks: each takes the lock of the kernel's queue, which the program needs to ask */

struct awake {
	struct load load;        /* where that cannot be known it never stays awake */
	int processors;          /* that the server may run on */
	unsigned credit;         /* requests that came soon, less what was waited for in vain */
	int64_t answered_ns;     /* when the last request was answered */
};

/* The load of this machine and the processors of this process. To be asked before a filter forbids it. The descriptor in it is the caller's. */
struct awake awake_here(void);

/* A request that somebody waited for was answered. */
void awake_answered(struct awake *a, int64_t now_ns);

/* Whether requests come closely enough for staying awake to be worth it. */
bool awake_is_worth_it(const struct awake *a);

/* There is nothing to answer: whether to look again, at now_ns + AWAKE_LOOK_NS. Once false, the caller sleeps until something comes. */
bool awake_stays(struct awake *a, int64_t now_ns);

#endif
