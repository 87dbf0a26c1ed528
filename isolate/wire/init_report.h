/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the PID 1 of a sandbox reports to the supervisor: one fixed-size datagram a fact.
 *
 * The sender is our own code, but it lives inside, so the reader takes every byte for hostile:
 * report_parse is the only way in, is pure, and leaves a struct whose every field is in range and
 * whose text is terminated.
 */
#ifndef CORDON_ISOLATE_WIRE_INIT_REPORT_H
#define CORDON_ISOLATE_WIRE_INIT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"

/* What cordon-init and cordon-view find open besides the standard descriptors. */
enum helper_descriptor {
	HELPER_CONTROL = 3, /* SOCK_SEQPACKET to the supervisor */
	HELPER_TRACE = 4    /* the trace, open only while there is one */
};

enum report_kind {
	/*
	 * the sandbox stands; `layers` says what is in force. Descriptors: the workspace
	 * (O_PATH-like directory), the terminal if asked for
	 */
	REPORT_READY = 1,
	REPORT_STARTED,     /* the program runs */
	REPORT_NOT_STARTED, /* execve failed with `error` */
	/*
	 * the program ended with `status` (wait(2) form), and nothing of the sandbox runs any more.
	 * From the runner also: the reply as a descriptor, and `count`: 1 when validation refused
	 * the body, which then never began
	 */
	REPORT_ENDED,
	REPORT_FAILED, /* the sandbox could not be made: `failure`, `error`, `context` */
	/*
	 * Only where events are wanted (LIMIT_EVENTS); these may be lost when the supervisor is
	 * slow.
	 */
	/* the filter is in force; descriptor: its listener, seccomp_unotify(2) */
	REPORT_LISTENER,
	/*
	 * A process was seen: `pid`, `parent`, its command line in `context`, words separated by
	 * spaces; `count` is 1 when PID 1 is its parent. Descriptor: a pidfd, where one could be
	 * sent.
	 */
	REPORT_PROCESS,
	REPORT_GONE, /* it is gone: `pid`, and `status` in wait(2) form when `count` is 1 */
	/*
	 * `usage`: CPU time so far, memory and processes now, bytes used of the workspace; `count`:
	 * sent without a route since the last
	 */
	REPORT_SAMPLE,
	REPORT_STOPPED,  /* every process was stopped */
	REPORT_CONTINUED /* and runs again */
};

/* Limits that PID 1 saw reached. */
enum report_limit {
	/* the sum of memory passed it, and the sandbox was ended for it */
	REPORT_LIMIT_MEMORY = 1,
	REPORT_LIMIT_PROCESSES = 2, /* as many lived as may */
	REPORT_LIMIT_WORKSPACE = 4, /* it was full */
	REPORT_LIMITS = 7
};

struct report_usage {
	uint64_t user_us, system_us; /* CPU time of all processes that were reaped */
	/* the largest sum seen, at least the largest single process */
	uint64_t peak_memory_bytes;
	uint64_t written_bytes; /* passed to write(2) and its siblings, in all */
	uint32_t peak_processes;
	uint32_t watch_samples; /* how often the sums were looked at */
};

struct report {
	uint32_t magic;
	uint32_t kind;
	uint32_t layers; /* enum layer bits */
	int32_t status;
	int32_t error;    /* errno */
	uint32_t failure; /* enum failure */
	uint32_t limits;  /* enum report_limit bits */
	uint32_t count;
	uint32_t pid, parent; /* as the sandbox numbers them */
	uint64_t at_us;       /* when it was made: CLOCK_MONOTONIC, microseconds; for durations */
	int64_t time_ns;      /* the same moment: CLOCK_REALTIME, nanoseconds; for events */
	struct report_usage usage;
	char context[256];
};

#define REPORT_MAGIC 0x43525054u

/* Sets up a report of one kind, made now, all else zero. */
void report_init(struct report *r, enum report_kind kind);

/* Sets the moment that a report speaks of to now. */
void report_stamp(struct report *r);

/* Makes a REPORT_FAILED of an error. */
void report_failure(struct report *r, const struct error *err);

/*
 * Sends the listener of a filter (-1: there is none, and nothing is sent) to the supervisor and
 * closes it. Async-signal-safe. Returns 0, or -1 with SECCOMP_DENIED.
 */
int report_listener(int socket, int listener, struct error *err);

/* What a kind is called in the trace. */
const char *report_word(uint32_t kind);

/*
 * Checks and copies one datagram. Returns false when it is no report: wrong size, magic, kind or
 * value.
 */
bool report_parse(const void *bytes, size_t length, struct report *out);

#endif
