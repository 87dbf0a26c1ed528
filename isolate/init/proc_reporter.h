/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of PID 1 while a program runs, where events are wanted: processes that come and go, and
 * what all of them use.
 *
 * It looks at /proc each time the memory is summed up (every 20 ms), and reaps. A process that
 * lives for less than that may not be seen from here: the filter notifies the supervisor of most
 * (monitor/processes.h). Nothing here waits until the program has ended; from then on it waits for
 * room in the socket, for a third of a second in all. Before, a process or an end that finds no
 * room is sent the next time, without its status; a sample is lost.
 */
#ifndef CORDON_ISOLATE_INIT_PROC_REPORTER_H
#define CORDON_ISOLATE_INIT_PROC_REPORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESSES_MOST 1024 /* processes that are kept apart; more than that are only counted */
#define ROSTER_SAMPLE_NS INT64_C(250000000)

struct proc_reporter {
	bool whole_namespace, own_network;
	int socket;      /* to the supervisor; reports are sent without waiting */
	int patience_ms; /* with a socket that has no room; 0 until the last look */
	int64_t sampled_ns;
	uint64_t no_route; /* the kernel's counter at the last sample */
	unsigned count;
	struct {
		pid_t pid;
		bool seen;
	} known[PROCESSES_MOST];
};

/*
 * Begins with a report of the program's process. whole_namespace as for usage_read; own_network:
 * the network namespace is the sandbox's alone.
 */
void proc_reporter_begin(
	struct proc_reporter *r, int socket, pid_t main, bool whole_namespace, bool own_network);

/* Looks for new ones and for those that are gone; samples when it is time for it, or now. */
void proc_reporter_look(struct proc_reporter *r, bool sample_now);

/*
 * Looks for new ones only: before the program's end is reported and the others are ended with it.
 * From here on reports wait for room.
 */
void proc_reporter_look_last(struct proc_reporter *r);

/* A process was reaped with this wait(2) status. */
void proc_reporter_reaped(struct proc_reporter *r, pid_t pid, int status);

/*
 * Says over a socket that all were stopped, or run again: the answer to a request, sent whether or
 * not events are wanted.
 */
void proc_reporter_say_paused(int socket, bool paused);

#endif
