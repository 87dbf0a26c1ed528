/* SPDX-License-Identifier: Apache-2.0 */
/* The events of tools. What an event has is the table's (isolate/monitor/events.def); here is only where each field comes from. */
#ifndef CORDON_ISOLATE_TOOLS_TOOL_EVENTS_H
#define CORDON_ISOLATE_TOOLS_TOOL_EVENTS_H

#include "isolate/monitor/event_table.h"
#include "isolate/tools/tool_record.h"

struct tale {
	const char *subject;          /* NULL: tool:USER/NAME */
	const char *user, *name;
	const struct item *item;      /* NULL where there is no version */
	const char *by, *reason, *error, *session, *agent; /* NULL: none */
	int64_t duration_us, count;
};

/* Writes one event to out (-1: nobody listens), waiting at most a second for a reader, and appends it to kept (NULL: nobody keeps it). */
void tell(int out, struct buffer *kept, enum event_type type, const struct tale *t);

#endif
