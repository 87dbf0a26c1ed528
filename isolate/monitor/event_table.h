/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of events as data: for the emitter, and for everything that describes events (man page,
 * schema, tests).
 *
 * It needs nothing but the C library, so the generators that run at build time stay small.
 */
#ifndef CORDON_ISOLATE_MONITOR_EVENT_TABLE_H
#define CORDON_ISOLATE_MONITOR_EVENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define EVENTS_SCHEMA 1

enum event_type {
#define EVENT_TYPE(id, name, emitter, fields, meaning) EVENT_TYPE_##id,
#include "isolate/monitor/events.def"
#undef EVENT_TYPE
	EVENT_TYPES
};

enum event_field {
#define EVENT_FIELD(id, name, kind, meaning) EVENT_FIELD_##id,
#include "isolate/monitor/events.def"
#undef EVENT_FIELD
	EVENT_FIELDS
};

enum event_field_kind {
	EVENT_KIND_TEXT,
	EVENT_KIND_BYTES,
	EVENT_KIND_NUMBER,
	EVENT_KIND_DURATION,
	EVENT_KIND_TRUTH,
	EVENT_KIND_WORDS,
	EVENT_KIND_OBJECT
};

struct event_type_text {
	const char *name, *emitter;
	const char *fields; /* names separated by spaces, optional ones in brackets */
	const char *meaning;
};

struct event_field_text {
	const char *name;
	enum event_field_kind kind;
	const char *meaning;
};

extern const struct event_type_text event_types[EVENT_TYPES];
extern const struct event_field_text event_fields[EVENT_FIELDS];

/* Whether a type, not terminated, is of a decision about a tool. */
bool event_is_decision(const char *type, size_t length);

/*
 * Takes the next name out of a list of fields at *at. Returns its row and moves *at, or NULL at the
 * end of the list. *optional says whether it stood in brackets.
 */
const struct event_field_text *event_next_field(const char **at, int *optional);

#endif
