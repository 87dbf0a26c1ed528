/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one execution in a file: CloudEvents 1.0, one JSON object a line.
 *
 * Lines are gathered and written at once. A reader that is slow (the file may be a pipe) never stops the execution: what does not fit in the buffer is
 * dropped and counted, and the count is an event of its own.
 */
#ifndef CORDON_ISOLATE_SUPERVISE_EVENT_LOG_H
#define CORDON_ISOLATE_SUPERVISE_EVENT_LOG_H

#include <stdint.h>

#include "fs/event.h"
#include "isolate/error.h"
#include "isolate/result.h"

struct event_log;

/* Opens file for appending and writes sandbox.started. subject is the execution's id, borrowed. NULL with PATH_MISSING or RESOURCES_EXHAUSTED. */
struct event_log *event_log_open(const char *file, const char *subject, struct error *err);

/* One event of a view. Rule is its id; pattern what it matches, "" for none. */
void event_log_file(struct event_log *log, const struct event *e, const char *rule, const char *pattern);

/* Writes what has been gathered, as far as the file takes it. */
void event_log_flush(struct event_log *log);

/* Writes sandbox.executed with the sums, flushes, closes. NULL is allowed; result may be NULL for a run that failed. */
void event_log_close(struct event_log *log, const struct result *result);

#endif
