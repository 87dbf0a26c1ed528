/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event in full: every field of it, whatever its type. The lines are a copy, so they stay when
 * the event is thrown out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "tui/views/views.h"

#include <stdio.h>
#include <string.h>

#include "isolate/base/text.h"
#include "isolate/base/json_read.h"

static bool is_flat(struct json_slice value)
{
	return value.length < 60 && !memchr(value.text + 1, '{', value.length - 1) &&
		!memchr(value.text + 1, '[', value.length - 1);
}

/* Text with more than one line gets lines of its own. */
static void add_text(struct lines *out, struct json_slice value, const char *name, int depth)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT, shown = BUFFER_INIT;

	json_decode(value, &bytes);
	if (bytes.length > 0 && memchr(bytes.data, '\n', bytes.length - 1)) {
		lines_print(out, STYLE_PLAIN, "%*s%s:", depth * 2, "", name);
		lines_foreign(out, STYLE_PLAIN, bytes.data, bytes.length, 0);
	} else {
		text_visible(&shown, bytes.data, bytes.length, TEXT_ONE_LINE);
		lines_print(out, STYLE_PLAIN, "%*s%s: %s", depth * 2, "", name,
			shown.length ? shown.data : "");
	}
}

static void add_array(struct lines *out, struct json_slice value, const char *name, int depth)
{
	struct json_slice item;
	char number[32];
	size_t count = 0;

	lines_print(out, STYLE_PLAIN, "%*s%s:", depth * 2, "", name);
	for (size_t at = 0; json_item(value, &at, &item); count++) {
		snprintf(number, sizeof number, "%zu", count + 1);
		view_json(out, item, number, depth + 1);
	}
}

void view_json(struct lines *out, struct json_slice value, const char *name, int depth)
{
	struct buffer shown = BUFFER_INIT;
	enum json_kind kind = json_kind(value);
	struct json_slice key, member;
	size_t at = 0;

	if (!value.text || value.length == 0)
		return;
	if (kind == JSON_STRING) {
		add_text(out, value, name, depth);
	} else if ((kind == JSON_OBJECT || kind == JSON_ARRAY) && !is_flat(value) && depth < 8) {
		if (kind == JSON_ARRAY) {
			add_array(out, value, name, depth);
			return;
		}
		lines_print(out, STYLE_PLAIN, "%*s%s:", depth * 2, "", name);
		while (json_next(value, &at, &key, &member)) {
			char text[200];

			view_json(out, member,
				text_visible_into(
					text, sizeof text, key.text, key.length, TEXT_ONE_LINE),
				depth + 1);
		}
	} else {
		text_visible(&shown, value.text, value.length, TEXT_ONE_LINE);
		lines_print(out, STYLE_PLAIN, "%*s%s: %s", depth * 2, "", name,
			shown.length ? shown.data : "");
	}
	buffer_free(&shown);
}

static void enter(struct console *c)
{
	struct log_entry *e = log_entry(c->log, c->record.serial);
	const struct run *run = view_events_run(c, c->record.serial);
	struct json_slice key, member, event;

	lines_clear(&c->record.lines);
	c->record.page = (struct page){ .parts = { &c->record.lines } };
	snprintf(c->record.run_id, sizeof c->record.run_id, "%s", run ? run->id : "");
	if (!e)
		return;
	event = log_event(c->log, e);
	for (size_t at = 0; json_next(event, &at, &key, &member);) {
		char text[200];

		view_json(&c->record.lines, member,
			text_visible_into(text, sizeof text, key.text, key.length, TEXT_ONE_LINE),
			0);
	}
}

static void draw(struct console *c, int row, int rows)
{
	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, "EVENT");
	page_draw(&c->record.page, &c->cells, row + 1, rows - 1, c->found);
}

static bool act(struct console *c, enum action action, int rows)
{
	return page_move(&c->record.page, action, rows - 1, c->cells.columns);
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	return page_find(&c->record.page, text, direction, from_here);
}

static struct run *of_event(struct console *c)
{
	return runs_find(c->runs, c->record.run_id);
}

const struct view view_record = { IN_RECORD, "", enter, draw, act, find, NULL, of_event };
