/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the PID 1 of a sandbox tells the supervisor: one fixed-size datagram a fact.
 *
 * The sender is our own code, but it lives inside, so the reader takes every byte for hostile: report_parse is the only way in, is pure, and
 * leaves a struct whose every field is in range and whose text is terminated.
 */
#ifndef CORDON_ISOLATE_CONFINE_REPORT_H
#define CORDON_ISOLATE_CONFINE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/error.h"

enum report_kind {
	REPORT_READY = 1,   /* the sandbox stands; `layers` says what is in force. Descriptors: the workspace (O_PATH-like directory), the terminal if asked for */
	REPORT_STARTED,     /* the program runs */
	REPORT_NOT_STARTED, /* execve failed with `error` */
	REPORT_ENDED,       /* the program ended with `status` (wait(2) form), and nothing of the sandbox runs any more. Descriptor: the reply, from the runner */
	REPORT_FAILED       /* the sandbox could not be made: `failure`, `error`, `context` */
};

struct report_usage {
	uint64_t user_us, system_us;   /* CPU time of all processes that were reaped */
	uint64_t peak_memory_bytes;    /* the largest sum seen, at least the largest single process */
	uint64_t written_bytes;        /* passed to write(2) and its siblings, in all */
	uint32_t peak_processes;
	uint32_t watch_samples;        /* how often the sums were looked at */
};

struct report {
	uint32_t magic;
	uint32_t kind;
	uint32_t layers;        /* enum layer bits */
	int32_t status;
	int32_t error;          /* errno */
	uint32_t failure;       /* enum failure */
	uint32_t out_of_memory; /* 1: the sum of memory passed its limit and the sandbox was ended for it */
	uint32_t reserved;
	uint64_t at_us;         /* when it was made: CLOCK_MONOTONIC, microseconds */
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

/* Checks and copies one datagram. Returns false when it is no report: wrong size, magic, kind or value. */
bool report_parse(const void *bytes, size_t length, struct report *out);

#endif
