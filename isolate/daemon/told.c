/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that are told. See told.h.
 *
 * All of a request are checked before the first is published. The request passed the protocol's gate, so each event is one JSON object on one line; what the bus wants to see of it is its envelope.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/told.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "isolate/monitor/emitter.h"
#include "isolate/monitor/event_table.h"
#include "isolate/tools/authority.h"
#include "isolate/tools/store.h"

bool told_library(char *out, size_t size)
{
	struct error ignored = ERROR_INIT;
	char base[PATH_MAX];
	struct stat st;
	int length;

	if (store_base(base, sizeof base, &ignored) < 0 || stat(base, &st) != 0)
		return false;
	length = snprintf(out, size, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return length > 0 && (size_t)length < size;
}

static bool refuse(struct protocol_refusal *refusal, int code, const char *message)
{
	refusal->code = code;
	snprintf(refusal->message, sizeof refusal->message, "%s", message);
	return false;
}

/* Whether the table has this type, and it is one of tools. */
static bool is_of_tools(const struct event_line *e)
{
	for (int i = 0; i < EVENT_TYPES; i++)
		if (strncmp(event_types[i].name, "tool.", 5) == 0 && strlen(event_types[i].name) == e->type_length && memcmp(event_types[i].name, e->type, e->type_length) == 0)
			return true;
	return false;
}

/* The events of an array: checked, and on the second way published. */
static bool each_event(struct server *s, struct json_slice array, bool publish, unsigned *count)
{
	struct json_slice item;
	size_t at = 0;

	for (*count = 0; json_slice_item(array.text, array.length, &at, &item); ++*count) {
		struct event_line e;

		if (publish)
			bus_publish(s->bus, item.text, item.length);
		else if (*count >= TOLD_MOST || item.length > EMITTER_LINE_MAX || !event_line_read(item.text, item.length, &e) || !is_of_tools(&e) || e.subject_length >= EMITTER_SUBJECT_MAX)
			return false;
	}
	return true;
}

bool told_take(struct server *s, unsigned uid, const struct protocol_request *r, unsigned *taken, struct protocol_refusal *refusal)
{
	const struct authority authority = authority_of_uid(uid);
	struct json_slice events = json_slice_of(r->params.text, r->params.length, "events");
	char library[64] = "", own[64];
	struct error err = ERROR_INIT;

	*taken = 0;
	if (authority_check(&authority, SCOPE_OPERATOR, protocol_methods[r->method].name, &err) < 0)
		return refuse(refusal, ERROR_FAILED, err.context);
	if (!protocol_text(r, "library", library, sizeof library, refusal))
		return false;
	if (!events.text || events.text[0] != '[' || !each_event(s, events, false, taken)) {
		*taken = 0;
		return refuse(refusal, ERROR_PARAMS, "events must be an array of at most 64 events, each as an emitter writes it and of a type tool.*");
	}
	if (!told_library(own, sizeof own) || strcmp(own, library) != 0)
		*taken = 0;
	else
		each_event(s, events, true, taken);
	return true;
}
