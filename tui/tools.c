/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of tools. See tools.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/text.h"
#include "tui/value.h"

#define LIST_MOST 100000
#define READ_MOST 4096

void tools_free(struct tools *t)
{
	free(t->pending.at);
	free(t->current.at);
	free(t->read);
	*t = (struct tools){ .read_count = 0 };
}

static void take_text(struct json_slice item, const char *name, char *out, size_t size)
{
	struct buffer bytes = BUFFER_INIT;

	out[0] = '\0';
	if (value_string(value_of(item, name), &bytes))
		text_visible_into(out, size, bytes.data ? bytes.data : "", bytes.length, TEXT_ONE_LINE);
	buffer_free(&bytes);
}

/* The members that say which version is meant, as the daemon wrote them. */
static bool take_key(struct tool *t, struct json_slice item)
{
	static const char *const MEMBERS[] = { "user", "name", "hash" };
	struct buffer key = BUFFER_INIT;
	bool good = true;

	for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
		struct json_slice value = value_of(item, MEMBERS[i]);

		good &= value.length > 2 && value.text[0] == '"';
		buffer_printf(&key, "\"%s\":", MEMBERS[i]);
		value_safe_json(value, &key);
		buffer_add_text(&key, ",");
	}
	buffer_printf(&key, "\"version\":%" PRId64, t->version);
	good = good && !key.failed && key.length < sizeof t->key;
	if (good)
		memcpy(t->key, key.data, key.length + 1);
	buffer_free(&key);
	return good;
}

bool tool_take(struct tool *t, struct json_slice item)
{
	*t = (struct tool){
		.version = value_number(value_of(item, "version"), 0), .successes = value_number(value_of(item, "successes"), 0), .failures = value_number(value_of(item, "failures"), 0),
		.threshold = value_number(value_of(item, "threshold"), 0), .created_ns = value_time(value_of(item, "created")), .due_ns = value_time(value_of(item, "due")),
		.decided_ns = value_time(value_of(item, "decided")),
	};
	take_text(item, "name", t->name, sizeof t->name);
	take_text(item, "user", t->user, sizeof t->user);
	take_text(item, "hash", t->hash, sizeof t->hash);
	take_text(item, "state", t->state, sizeof t->state);
	take_text(item, "policy", t->policy, sizeof t->policy);
	take_text(item, "decided_by", t->decided_by, sizeof t->decided_by);
	take_text(item, "reason", t->reason, sizeof t->reason);
	take_text(item, "description", t->description, sizeof t->description);
	/* A hash that is too short to be told from another is none to decide by. */
	return take_key(t, item) && strlen(t->hash) >= 16;
}

void tools_take(struct tool_list *l, struct json_slice items)
{
	struct tool_list before = *l;
	struct json_slice item;
	size_t capacity = 0;

	*l = (struct tool_list){ NULL, 0 };
	for (size_t at = 0; value_item(items, &at, &item) && l->count < LIST_MOST;) {
		const struct tool *was;

		if (l->count == capacity) {
			struct tool *grown = realloc(l->at, (capacity = capacity ? capacity * 2 : 64) * sizeof *grown);

			if (!grown)
				break;
			l->at = grown;
		}
		if (!tool_take(&l->at[l->count], item))
			continue;
		was = tools_find(&before, l->at[l->count].key);
		l->at[l->count++].marked = was && was->marked;
	}
	free(before.at);
}

struct tool *tools_find(const struct tool_list *l, const char *key)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->at[i].key, key) == 0)
			return &l->at[i];
	return NULL;
}

size_t tools_marked(const struct tool_list *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += l->at[i].marked;
	return count;
}

bool tools_is_read(const struct tools *t, const char *key)
{
	for (size_t i = 0; i < t->read_count; i++)
		if (strcmp(t->read[i], key) == 0)
			return true;
	return false;
}

void tools_set_read(struct tools *t, const char *key)
{
	if (tools_is_read(t, key) || t->read_count == READ_MOST)
		return;
	if (!t->read)
		t->read = calloc(READ_MOST, sizeof *t->read);
	if (t->read)
		snprintf(t->read[t->read_count++], TOOL_KEY_MAX, "%s", key);
}
