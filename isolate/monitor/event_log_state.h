/* SPDX-License-Identifier: Apache-2.0 */
/* What the event log keeps: for the two files that write it. */
#ifndef CORDON_ISOLATE_MONITOR_EVENT_LOG_STATE_H
#define CORDON_ISOLATE_MONITOR_EVENT_LOG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/monitor/emitter.h"
#include "isolate/monitor/event_log.h"

struct event_log {
	struct emitter *emitter;
	const struct touch_watcher *watcher; /* NULL: none */
	struct {
		char bytes[4];
		size_t length;
	} rest[2]; /* of a character, of each stream */
	/* most bytes of output events, and those so far, of each stream */
	uint64_t output_limit, output[2];
	bool output_is_cut;
	bool to_file, has_begun, observes_processes, observes_network;
};

/* Calls the watcher with a name that is not empty. */
static inline void event_log_touched(const struct event_log *log, const char *kind, bool refused,
	const char *name, size_t length)
{
	if (log->watcher && length > 0)
		log->watcher->touched(log->watcher->context, kind, refused, name, length);
}

#endif
