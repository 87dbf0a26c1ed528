/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one execution, through the one emitter (isolate/monitor/emitter.h).
 *
 * Every function does nothing for a NULL log (no events are wanted), so that callers need not ask.
 */
#ifndef CORDON_ISOLATE_MONITOR_EVENT_LOG_H
#define CORDON_ISOLATE_MONITOR_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/view/view_event.h"
#include "isolate/wire/init_report.h"
#include "isolate/base/error.h"
#include "isolate/wire/record.h"
#include "isolate/monitor/peer_address.h"
#include "isolate/wire/execution_request.h"

struct event_log;

/* A call that the filter refused. */
struct refused_call {
	const char *name;
	int64_t arguments[6];
	int pid; /* of the process, as the host numbers it */
	char comm[16];
	uint64_t count;
	bool internet;          /* it would have been a socket of the internet */
	struct peer_address to; /* an address outside that it was for; no host: none */
	int64_t time_ns;        /* when it came, CLOCK_REALTIME; of several the first */
};

/* A process that was seen, at time_ns of CLOCK_REALTIME. */
struct process_seen {
	int64_t time_ns;
	pid_t outside, inside; /* as the host numbers it (0: it is gone), and as the sandbox does */
	pid_t parent;          /* inside */
	const char *command;
};

/*
 * A log into streams->events (dup'ed; waits for its reader) or else into options->events_file
 * (appended; drops); for a streams->watcher alone, nowhere. *out is NULL when none was asked for.
 * Returns 0, or -1 with PATH_MISSING or RESOURCES_EXHAUSTED.
 */
int event_log_open(const struct options *options, const struct streams *streams,
	const char *subject, struct event_log **out, struct error *err);

/* sandbox.started, the first time. */
void event_log_started(struct event_log *log, const struct options *options,
	const struct program *program, const struct record *record);

/* sandbox.confined. */
void event_log_confined(struct event_log *log, const struct record *record);

/* One event of a view. Rule is its id; pattern what it matches, "" for none. */
void event_log_file(
	struct event_log *log, const struct event *e, const char *rule, const char *pattern);

/* A piece of output. A character that is cut in two by the end of it waits for its rest. */
void event_log_output(struct event_log *log, bool is_error, const char *bytes, size_t length);

void event_log_limit(struct event_log *log, const char *limit, int64_t value);
void event_log_paused(struct event_log *log, bool paused, int64_t elapsed_us, int64_t time_ns);

/* resource.sample, and net.denied for what the kernel refused and nothing else is known of. */
void event_log_sample(
	struct event_log *log, const struct report *sample, uint32_t refused, int64_t elapsed_us);

void event_log_process(struct event_log *log, const struct process_seen *process);

/*
 * process.executed: it has called execve(2) count times since the last such event; the command is
 * the last one's.
 */
void event_log_became(struct event_log *log, const struct process_seen *process, uint64_t count);

/*
 * A process is gone; status in wait(2) form where it is known. Of *process the numbers and the
 * time.
 */
void event_log_gone(
	struct event_log *log, const struct process_seen *process, bool is_known, int status);

/*
 * syscall.denied and, where it is one of the network, net.denied; a call with an address is only
 * the latter.
 */
void event_log_call(struct event_log *log, const struct refused_call *call, const char *profile);

/*
 * events.dropped: so many facts could not be read in time, since a program held up the reader. 0:
 * no event.
 */
void event_log_unseen(struct event_log *log, uint64_t count);

/* Writes what has been gathered, as far as the reader takes it. */
void event_log_flush(struct event_log *log);

/* The descriptor to watch for room, while something waits for a slow reader; else -1. */
int event_log_blocked(const struct event_log *log);

/*
 * limit.hit for limits of the record, sandbox.executed, and the end. err: where cordon failed, else
 * NULL. record->events gets how many did not reach their reader, and why.
 */
void event_log_close(struct event_log *log, struct record *record, const struct error *err);

#endif
