/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a sandbox that are known to live, with one event when each begins and one when
 * it ends.
 *
 * They are learnt of in three ways. The filter notifies a call that the C library makes first thing
 * in a process, which finds those that live for a moment. The start event of a process precedes
 * those of its refused calls and of the view. And PID 1 looks at /proc every
 * 20 ms, which finds the rest: a process without the C library that is silent and gone by then is
 * not seen.
 */
#ifndef CORDON_ISOLATE_MONITOR_PROCESSES_H
#define CORDON_ISOLATE_MONITOR_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/wire/init_report.h"
#include "isolate/monitor/event_log.h"

/*
 * Descriptors at most, and half of those that the caller may have. Of other processes PID 1 reports
 * the end.
 */
#define PROCESSES_HELD 4096
#define PROCESSES_GONE 4096

struct processes {
	int64_t began_ns; /* when the program came under the filter; 0: not known */
	unsigned levels;  /* of process namespaces, of the first known process */
	pid_t reaper;     /* its parent, by its number on the host: PID 1 */
	int epoll;        /* readable when one has ended; -1: none is held */
	unsigned count, room, held, most_held;
	struct process {
		pid_t inside, outside;
		int pidfd;        /* -1: PID 1 reports its end */
		char *command;    /* what was last seen of its command line; owned */
		int64_t time_ns;  /* when it became that, CLOCK_REALTIME */
		int64_t since_us; /* of the second in which so many execve(2) had events */
		unsigned emitted;
		uint64_t held;
	} * live;
	/* the last ones, for reports that come late */
	struct {
		pid_t inside, outside;
	} gone[PROCESSES_GONE];
	unsigned next_gone;
	/* called before process.exited; or NULL */
	void (*before_end)(void *context, pid_t outside);
	void *context;
};

/*
 * A notified call of a thread, under its number on the host, at a time (CLOCK_REALTIME). Emits its
 * process when that is new. With a command line of a process that begins or has become another
 * program, else NULL. Returns the process's number on the host, as far as it can be found.
 */
pid_t processes_notice(struct processes *p, struct event_log *log, pid_t thread,
	const char *command, int64_t time_ns);

/* A process, under its number on the host, asked the view. Emits its start when it is new. */
void processes_asked(struct processes *p, struct event_log *log, pid_t process, int64_t time_ns);

/*
 * A report of PID 1: a process was seen (pidfd: of it, or -1; taken over), or is gone. Emitted
 * unless it was.
 */
void processes_reported(
	struct processes *p, struct event_log *log, const struct report *r, int pidfd);
void processes_report_gone(struct processes *p, struct event_log *log, const struct report *r);

/* Emits the ends of those that have ended. */
void processes_ended(struct processes *p, struct event_log *log);

/* Emits the execve(2) calls that were coalesced for a second. */
void processes_flush(struct processes *p, struct event_log *log, int64_t now_us);

/* The sandbox is gone and all its processes with it: emits the rest, and closes what is open. */
void processes_close(struct processes *p, struct event_log *log);

#endif
