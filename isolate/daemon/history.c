/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of executions. See history.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/monitor/emitter.h"

#define ENTRIES 256u
#define BYTES_MOST (32u << 20)
#define RECORD_MOST (4u << 20)

struct history {
	size_t next, bytes;
	struct entry {
		char id[EMITTER_SUBJECT_MAX];
		char *text; /* owned; NULL: an empty place */
		size_t length;
	} entries[ENTRIES];
};

struct history *history_new(void)
{
	return calloc(1, sizeof(struct history));
}

static void forget(struct history *h, struct entry *e)
{
	h->bytes -= e->length;
	free(e->text);
	*e = (struct entry){ .text = NULL };
}

void history_free(struct history *h)
{
	for (size_t i = 0; h && i < ENTRIES; i++)
		free(h->entries[i].text);
	free(h);
}

static void add_member(struct buffer *out, struct json_slice object, const char *name)
{
	struct json_slice value = json_get(object, name);

	if (!value.text)
		return;
	buffer_printf(out, ",\"%s\":", name);
	buffer_add(out, value.text, value.length);
}

void history_describe(struct buffer *out, const char *id, const char *state,
	struct json_slice request, struct json_slice record)
{
	struct json_slice params = json_get(request, "params");

	buffer_printf(out, "{\"execution_id\":\"%s\",\"state\":\"%s\"", id, state);
	add_member(out, request, "method");
	add_member(out, params, "program");
	add_member(out, params, "name");
	add_member(out, params, "options");
	add_member(out, params, "args");
	buffer_add_text(out, ",\"record\":");
	if (record.text)
		buffer_add(out, record.text, record.length);
	else
		buffer_add_text(out, "null");
	buffer_add_text(out, "}");
}

void history_keep(
	struct history *h, const char *id, struct json_slice request, struct json_slice record)
{
	struct entry *e = &h->entries[h->next % ENTRIES];
	struct buffer text = BUFFER_INIT;

	if (record.length > RECORD_MOST)
		record.text = NULL;
	history_describe(&text, id, "ended", request, record);
	if (text.failed) {
		buffer_free(&text);
		return;
	}
	forget(h, e);
	snprintf(e->id, sizeof e->id, "%s", id);
	e->length = text.length;
	e->text = text.data;
	h->bytes += text.length;
	h->next++;
	/* From the oldest on, which is the next to be overwritten. */
	for (size_t i = 0; i < ENTRIES - 1 && h->bytes > BYTES_MOST; i++)
		if (h->entries[(h->next + i) % ENTRIES].text)
			forget(h, &h->entries[(h->next + i) % ENTRIES]);
}

struct json_slice history_find(const struct history *h, const char *id)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (h->entries[i].text && strcmp(h->entries[i].id, id) == 0)
			return json_slice(h->entries[i].text, h->entries[i].length);
	return JSON_NONE;
}
