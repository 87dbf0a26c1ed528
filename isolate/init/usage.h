/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all processes of a sandbox use together, read from /proc by its PID 1.
 *
 * Memory is summed at each look; pages that processes share are counted once for each, so what is beyond a
 * limit is summed again by the proportional sizes, which are exact but cost more to read.
 */
#ifndef CORDON_ISOLATE_INIT_USAGE_H
#define CORDON_ISOLATE_INIT_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCH_INTERVAL_NS 20000000L /* 20 ms: at 2 GB/s a program gets 40 MB past its limit */

struct watch_totals {
	uint64_t bytes;     /* of memory; UINT64_MAX when some of it cannot be read */
	uint32_t processes; /* threads each count */
};

/*
 * Looks at every process but the caller: all that /proc shows when the caller is PID 1 of its namespace, else all descendants of the caller (it must be
 * their subreaper). Returns 0, or -1 with errno when /proc cannot be read.
 */
int watch_look(bool whole_namespace, struct watch_totals *totals);

/*
 * What the same processes, so many, hold by their proportional sizes, in bytes. System V memory can
 * be among the mapped shared memory, so the larger of the two sums counts: a program that has both apart
 * holds at most twice the limit.
 */
uint64_t watch_exact(bool whole_namespace, uint32_t processes);

/* Calls act for each of those processes. Returns 0, or -1 with errno when /proc cannot be read. */
int watch_each(bool whole_namespace, void (*act)(void *context, pid_t pid), void *context);

/* Sends SIGSTOP or SIGCONT to each of them. */
void watch_signal_all(bool whole_namespace, int number);

/* Sends SIGKILL to every process that watch_look would count. Returns how many. */
unsigned watch_kill_all(bool whole_namespace);

#endif
