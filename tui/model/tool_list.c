/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of tools. See tool_list.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/tool_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"
#include "isolate/base/json_read.h"

#define LIST_MOST 100000
#define READ_MOST 4096

static const char *const KEYS[] = { "user", "name", "hash" };
#define KEY_COUNT (sizeof KEYS / sizeof *KEYS)

/* clang-format off */
static const struct { const char *name; size_t at, size; } TEXTS[] = {
#define TEXT(member) { #member, offsetof(struct tool, member), sizeof((struct tool *)0)->member }
	TEXT(name), TEXT(user), TEXT(hash), TEXT(state), TEXT(policy), TEXT(decided_by),
	TEXT(reason), TEXT(description),
#undef TEXT
};

static const struct { const char *name; size_t at; } NUMBERS[] = {
#define NUMBER(member) { #member, offsetof(struct tool, member) }
	NUMBER(version), NUMBER(successes), NUMBER(failures), NUMBER(threshold),
#undef NUMBER
}, TIMES[] = {
	{ "created", offsetof(struct tool, created_ns) }, { "due", offsetof(struct tool, due_ns) },
	{ "decided", offsetof(struct tool, decided_ns) },
};
/* clang-format on */

/*
 * Of a long text no more is looked at than can be kept: a character in JSON has at most six bytes,
 * and its visible form at least one.
 */
static void take_text(struct json_slice value, char *out, size_t size)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;

	value.length = value.length > size * 6 + 2 ? size * 6 + 2 : value.length;
	out[0] = '\0';
	if (json_decode(value, &bytes))
		text_visible_into(
			out, size, bytes.data ? bytes.data : "", bytes.length, TEXT_ONE_LINE);
}

static void take_member(struct tool *t, struct json_slice key, struct json_slice value)
{
	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
		if (json_key_is(key, TEXTS[i].name))
			take_text(value, (char *)t + TEXTS[i].at, TEXTS[i].size);
	for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
		if (json_key_is(key, NUMBERS[i].name))
			*(int64_t *)(void *)((char *)t + NUMBERS[i].at) = json_int(value, 0);
	for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++)
		if (json_key_is(key, TIMES[i].name))
			*(int64_t *)(void *)((char *)t + TIMES[i].at) = json_time(value);
}

/* The members that say which version is meant, as the daemon wrote them. */
static bool set_key(struct tool *t, const struct json_slice *members)
{
	_cleanup_buffer_ struct buffer key = BUFFER_INIT;
	bool good = true;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		good &= json_kind(members[i]) == JSON_STRING && members[i].length > 2;
		buffer_printf(&key, "\"%s\":", KEYS[i]);
		json_add_visible(&key, members[i].text, members[i].length);
		buffer_add_text(&key, ",");
	}
	buffer_printf(&key, "\"version\":%" PRId64, t->version);
	good = good && !key.failed && key.length < sizeof t->key;
	if (good)
		memcpy(t->key, key.data, key.length + 1);
	return good;
}

bool tool_take(struct tool *t, struct json_slice item)
{
	struct json_slice key, value, members[KEY_COUNT] = { { NULL, 0 } };

	*t = (struct tool){ .version = 0 };
	if (json_kind(item) != JSON_OBJECT)
		return false;
	for (size_t at = 0; json_next(item, &at, &key, &value);) {
		take_member(t, key, value);
		for (size_t i = 0; i < KEY_COUNT; i++)
			if (json_key_is(key, KEYS[i]))
				members[i] = value;
	}
	/* A hash that is ambiguous is none to decide by. */
	return set_key(t, members) && strlen(t->hash) >= 16;
}

static bool has_room(struct tool_intake *in)
{
	size_t capacity = in->capacity ? in->capacity * 2 : 64;
	struct tool *grown;

	if (in->fresh.count < in->capacity)
		return true;
	grown = in->fresh.count < LIST_MOST ? realloc(in->fresh.at, capacity * sizeof *grown)
					    : NULL;
	if (!grown)
		return false;
	in->fresh.at = grown;
	in->capacity = capacity;
	return true;
}

static void drop_intake(struct tools *t)
{
	buffer_free(&t->intake.items);
	free(t->intake.fresh.at);
	t->intake = (struct tool_intake){ .into = NULL };
}

/* The new list replaces the one before and takes over its marks. */
static void finish_intake(struct tools *t)
{
	struct tool_list before = *t->intake.into, *into = t->intake.into;

	for (size_t i = 0; i < before.count; i++) {
		struct tool *same =
			before.at[i].marked ? tools_find(&t->intake.fresh, before.at[i].key) : NULL;

		if (same)
			same->marked = true;
	}
	into->at = t->intake.fresh.at;
	into->count = t->intake.fresh.count;
	into->known = true;
	t->intake.fresh.at = before.at;
	drop_intake(t);
}

void tools_begin(struct tools *t, struct tool_list *l, struct json_slice items)
{
	drop_intake(t);
	if (items.text)
		buffer_add(&t->intake.items, items.text, items.length);
	t->intake.into = l;
}

bool tools_step(struct tools *t, size_t bytes)
{
	struct tool_intake *in = &t->intake;
	struct json_slice items = { in->items.data, in->items.length }, item;
	size_t end = in->at + bytes;

	if (!in->into)
		return true;
	while (!in->items.failed && in->at < end) {
		if (!has_room(in) || !json_item(items, &in->at, &item)) {
			finish_intake(t);
			return true;
		}
		in->fresh.count += tool_take(&in->fresh.at[in->fresh.count], item);
	}
	if (!in->items.failed)
		return false;
	/* Without memory for the answer the list stays as it was, and says so. */
	snprintf(in->into->notice, sizeof in->into->notice,
		"There is no memory for the list that the daemon gave.");
	drop_intake(t);
	return true;
}

bool tools_is_taking(const struct tools *t)
{
	return t->intake.into != NULL;
}

void tools_take(struct tools *t, struct tool_list *l, struct json_slice items)
{
	tools_begin(t, l, items);
	while (!tools_step(t, SIZE_MAX / 2))
		continue;
}

void tools_free(struct tools *t)
{
	drop_intake(t);
	free(t->pending.at);
	free(t->current.at);
	free(t->read);
	*t = (struct tools){ .read_count = 0 };
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
