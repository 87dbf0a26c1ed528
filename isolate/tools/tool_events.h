/* SPDX-License-Identifier: Apache-2.0 */
/* The events of tools. What an event has is the table's (isolate/monitor/events.def); here is only where each field comes from. */
#ifndef CORDON_ISOLATE_TOOLS_TOOL_EVENTS_H
#define CORDON_ISOLATE_TOOLS_TOOL_EVENTS_H

#include "isolate/monitor/event_table.h"
#include "isolate/tools/tool_record.h"

struct tool_event {
	const char *subject;          /* NULL: tool:USER/NAME */
	const char *user, *name;
	const struct item *item;      /* NULL where there is no version */
	const char *by, *reason, *error, *session, *agent; /* NULL: none */
	int64_t duration_us, count;
};

/* Writes one event to a descriptor (-1: nothing is written). Waits at most a second for a slow reader. */
void tool_event_emit(int out, enum event_type type, const struct tool_event *t);

#endif
