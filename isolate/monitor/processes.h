/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a sandbox that are known to live, each told of once when it begins and once when it ends.
 *
 * They are learnt of in four ways. The filter tells of a call that the C library makes first thing in a process: that is at once, so it finds those that live for a moment. Before anything else
 * is told, whoever has a number that was given since the last time is looked at, so that a process is told of before what its maker, who goes on only when it is there, does next. Who makes a
 * call that is told of is told of before it. And PID 1 looks at /proc every 20 ms, which finds those that are left: without the C library's help, silent and short, a process is not seen.
 */
#ifndef CORDON_ISOLATE_MONITOR_PROCESSES_H
#define CORDON_ISOLATE_MONITOR_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/wire/init_report.h"
#include "isolate/monitor/event_log.h"
#include "isolate/monitor/remote_mem_reader.h"

#define PROCESSES_HELD 4096 /* at most, by a descriptor each, and by half of those that the caller may have; when others end, PID 1 tells */
#define PROCESSES_GONE 4096
#define PROCESSES_AWAITED 64
#define PROCESSES_AT_ONCE 64

struct processes {
	struct witness *witness;  /* reads what they hold in memory */
	pid_t first;              /* PID 1 of the sandbox, by its number on the host: whoever has lost its maker is its child */
	int epoll;                /* readable when one has ended; -1 before the first */
	unsigned count, room, held, most_held;
	struct process {
		pid_t inside, outside;
		int pidfd;            /* -1: nobody can say when it ends but PID 1 */
		char *command;        /* what was last seen of its command line; owned */
		int64_t time_ns;      /* when it became that, CLOCK_REALTIME */
		int64_t since_us;     /* of the window in which so many programs were told, and others are held */
		unsigned told;
		uint64_t held;
		bool is_of_init;      /* PID 1 is its parent, and will say how it ended */
	} *live;
	struct { pid_t inside, outside; } gone[PROCESSES_GONE]; /* the last ones, for reports that come late */
	unsigned next_gone;
	struct { int pidfd; bool is_collected; } ended[PROCESSES_AT_ONCE]; /* noted and not told yet */
	unsigned ended_count;
	pid_t newest;                 /* number on the host that was given last when they were looked for */
	struct { pid_t number; int64_t until_us; } awaited[PROCESSES_AWAITED]; /* given, and nobody had it yet */
	unsigned awaited_count;
	void (*before_end)(void *context, pid_t outside); /* called with the context before the end of a process is told of; may be NULL */
	void *context;
};

/*
 * A thread was noticed under the host's number, at a time (CLOCK_REALTIME). Tells of its process when
 * that is new. Waits for nothing. Returns the process's number on the host, as far as it can be found.
 */
pid_t processes_notice(struct processes *p, struct event_log *log, pid_t thread, int64_t time_ns);

/* The same of a process at its beginning: a known one has become another program. */
void processes_begins(struct processes *p, struct event_log *log, pid_t thread, int64_t time_ns);

/* Tells of programs that were held back for a second. */
void processes_flush(struct processes *p, struct event_log *log, int64_t now_us);

/* The number that was given last on the host to a process or thread, or -1. */
pid_t processes_newest(void);

/*
 * Notices those that the known ones have made since the last time: all whose numbers were given by the time that processes_newest() said this one, or, of an earlier time (a refusal has it with it),
 * those up to it that were not looked at yet. Costs some microseconds where there are none.
 */
void processes_look(struct processes *p, struct event_log *log, pid_t newest);
void processes_look_until(struct processes *p, struct event_log *log, pid_t newest);

/* PID 1's word: a process was seen (outside: its number on the host, 0 when it is gone already), or is gone. Told of unless it was. */
void processes_reported(struct processes *p, struct event_log *log, const struct report *seen, pid_t outside);
void processes_report_gone(struct processes *p, struct event_log *log, const struct report *gone);

/* Whether a process with this number inside is known to live. */
bool processes_know(struct processes *p, pid_t inside);

/* Notes which have ended by now, PROCESSES_AT_ONCE at most, and how many; and tells of those that were noted. Between the two what they wrote can be read: all of it was there. */
unsigned processes_collect(struct processes *p);
void processes_tell_ended(struct processes *p, struct event_log *log);

/* The sandbox is gone and all its processes with it: tells of the rest, and closes what is open. */
void processes_close(struct processes *p, struct event_log *log);

#endif
