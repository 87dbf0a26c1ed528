/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events, made from events.def. See event_table.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/event_table.h"

#include <string.h>

const struct event_type_text event_types[EVENT_TYPES] = {
#define EVENT_TYPE(id, name, emitter, fields, meaning) \
	[EVENT_TYPE_##id] = { name, emitter, fields, meaning },
#include "isolate/monitor/events.def"
#undef EVENT_TYPE
};

const struct event_field_text event_fields[EVENT_FIELDS] = {
#define EVENT_FIELD(id, name, kind, meaning) \
	[EVENT_FIELD_##id] = { name, EVENT_KIND_##kind, meaning },
#include "isolate/monitor/events.def"
#undef EVENT_FIELD
};

bool event_is_decision(const char *type, size_t length)
{
	static const enum event_type DECISIONS[] = {
#define EVENT_DECISION(id) EVENT_TYPE_##id,
#include "isolate/monitor/events.def"
#undef EVENT_DECISION
	};

	for (size_t i = 0; i < sizeof DECISIONS / sizeof *DECISIONS; i++) {
		const char *name = event_types[DECISIONS[i]].name;

		if (strlen(name) == length && memcmp(name, type, length) == 0)
			return true;
	}
	return false;
}

const struct event_field_text *event_next_field(const char **at, int *optional)
{
	const char *name = *at + strspn(*at, " ");
	size_t length;

	*optional = *name == '[';
	name += *optional;
	length = strcspn(name, " ]");
	*at = name + length + (name[length] == ']');
	for (size_t i = 0; length > 0 && i < EVENT_FIELDS; i++)
		if (strlen(event_fields[i].name) == length &&
			memcmp(event_fields[i].name, name, length) == 0)
			return &event_fields[i];
	return NULL;
}
