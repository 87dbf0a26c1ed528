/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: the stream, a row each.
 *
 * Where the cursor stands is kept as serials, so that neither new rows nor another filter move it
 * to another event. While it does not follow the end, what is on the screen is protected from being
 * thrown out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "tui/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tui/draw/lines.h"
#include "isolate/base/json_read.h"

#define ID_COLUMNS 6
#define TIME_COLUMNS 12
#define WORD_COLUMNS 6

/* Rows that may be shown: those from before a freeze. */
static size_t rows_of(struct console *c)
{
	return c->frozen ? log_row_of(c->log, c->frozen_events) : log_rows(c->log);
}

static void load(struct console *c, int rows)
{
	size_t count = rows_of(c);

	if (!c->stream.list.follow) {
		c->stream.list.cursor = log_row_of(c->log, c->stream.cursor);
		c->stream.list.top = log_row_of(c->log, c->stream.top);
	}
	list_settle(&c->stream.list, count, rows);
}

static void store(struct console *c)
{
	c->stream.cursor = log_serial(c->log, c->stream.list.cursor);
	c->stream.top = log_serial(c->log, c->stream.list.top);
	if (c->stream.list.follow && !c->frozen) {
		c->stream.seen = log_next(c->log);
		log_protect(c->log, 0);
	} else {
		log_protect(c->log, c->stream.top);
	}
}

static void enter(struct console *c)
{
	load(c, console_rows(c) - 1);
	store(c);
}

static struct run *run_of(struct console *c, struct json_slice event)
{
	char id[RUN_ID_MAX] = "";

	return json_copy(json_get(event, "subject"), id, sizeof id) ? runs_find(c->runs, id) : NULL;
}

static int64_t start_of(struct console *c, struct json_slice event)
{
	const struct run *run = run_of(c, event);

	return run ? run->started_ns : 0;
}

struct run *view_events_run(struct console *c, uint64_t serial)
{
	const struct log_entry *e = log_entry(c->log, serial);

	return e ? run_of(c, log_event(c->log, e)) : NULL;
}

static struct run *at_cursor(struct console *c)
{
	return view_events_run(c, c->stream.cursor);
}

static void draw_row(struct console *c, int row, size_t at, bool selected)
{
	struct log_entry *e = log_entry(c->log, log_serial(c->log, at));
	struct buffer text = BUFFER_INIT;
	struct json_slice event;
	char time[FORMAT_MAX], id[RUN_ID_MAX] = "";
	int column = 1, columns = c->cells.columns;
	enum style style;
	int64_t start;

	if (!e)
		return;
	event = log_event(c->log, e);
	style = e->row ? e->row->style : STYLE_PLAIN;
	start = c->relative ? start_of(c, event) : 0;
	cells_text(&c->cells, row, 0, 1, STYLE_KEY,
		e->marked          ? (selected ? "#" : "*")
			: selected ? ">"
				   : " ");
	cells_print(&c->cells, row, column, TIME_COLUMNS, STYLE_PLAIN, "%*s", TIME_COLUMNS,
		!e->time_ns                    ? ""
			: c->relative && start ? format_since(e->time_ns - start, time)
					       : format_clock(e->time_ns, time));
	column += TIME_COLUMNS + 1;
	if (!c->stream.subject[0] && columns >= 60) {
		json_visible(json_get(event, "subject"), &text);
		snprintf(id, sizeof id, "%.*s", ID_COLUMNS, text.length ? text.data : "-");
		cells_text(&c->cells, row, column, ID_COLUMNS, STYLE_FAINT, id);
		column += ID_COLUMNS + 1;
		text.length = 0;
	}
	cells_text(&c->cells, row, column, WORD_COLUMNS, style, e->row ? e->row->word : "event");
	column += WORD_COLUMNS + 1;
	if (!e->row) {
		json_visible(json_get(event, "type"), &text);
		buffer_add(&text, " ", 1);
	}
	log_describe(e->row, event, &text);
	if (text.length)
		cells_put(&c->cells, row, column, columns - column,
			style == STYLE_DENY || style == STYLE_WARN ? style : STYLE_PLAIN, text.data,
			text.length, c->stream.left);
	if (c->found[0] && text.data && strcasestr(text.data, c->found))
		cells_text(&c->cells, row, column - 1, 1, STYLE_FOUND, "/");
	if (e->marked)
		cells_paint(&c->cells, row, 0, 1, STYLE_KEY | STYLE_MARKED);
	if (selected)
		for (int i = 0; i < columns; i++)
			c->cells.at[row * columns + i].style |= STYLE_SELECTED;
	buffer_free(&text);
}

static void draw(struct console *c, int row, int rows)
{
	bool has_id = !c->stream.subject[0] && c->cells.columns >= 60;

	cells_print(&c->cells, row, 0, c->cells.columns, STYLE_HEAD, " %-*s %s%-*s %s",
		TIME_COLUMNS, c->relative ? "SINCE START" : "TIME", has_id ? "RUN    " : "",
		WORD_COLUMNS, "WHAT", c->stream.subject[0] ? "OF THIS RUN" : "");
	load(c, rows - 1);
	store(c);
	for (int i = 0; i < rows - 1 && c->stream.list.top + (size_t)i < rows_of(c); i++)
		draw_row(c, row + 1 + i, c->stream.list.top + (size_t)i,
			c->stream.list.top + (size_t)i == c->stream.list.cursor);
	if (rows_of(c) == 0)
		cells_text(&c->cells, row + 2, 2, c->cells.columns - 2, STYLE_FAINT,
			c->stream.filter[0] ? "No event has these words. f and Enter on an empty "
					      "line shows all."
					    : "No events yet.");
}

static void set_filter(struct console *c, const char *words)
{
	load(c, console_rows(c) - 1);
	c->stream.cursor = log_serial(c->log, c->stream.list.cursor);
	snprintf(c->stream.filter, sizeof c->stream.filter, "%s", words);
	log_filter(c->log, c->stream.filter, c->stream.subject);
	c->dirty = true;
}

static void mark(struct console *c)
{
	struct log_entry *e = log_entry(c->log, log_serial(c->log, c->stream.list.cursor));

	if (!e)
		return;
	e->marked = !e->marked;
	c->stream.marks += e->marked ? 1 : (size_t)-1;
	list_move(&c->stream.list, ACTION_DOWN, rows_of(c), console_rows(c) - 1);
}

static void unmark_all(struct console *c)
{
	for (uint64_t serial = log_first(c->log); serial < log_next(c->log); serial++)
		log_entry(c->log, serial)->marked = false;
	c->stream.marks = 0;
}

void view_events_scope(struct console *c, const char *subject)
{
	load(c, console_rows(c) - 1);
	c->stream.cursor = log_serial(c->log, c->stream.list.cursor);
	snprintf(c->stream.subject, sizeof c->stream.subject, "%s", subject);
	log_filter(c->log, c->stream.filter, c->stream.subject);
}

static bool act(struct console *c, enum action action, int rows)
{
	bool handled = true;

	load(c, rows - 1);
	switch (action) {
	case ACTION_OPEN:
		if (log_entry(c->log, log_serial(c->log, c->stream.list.cursor))) {
			c->record.serial = log_serial(c->log, c->stream.list.cursor);
			log_fix(c->log);
			console_open_view(c, VIEW_RECORD);
		}
		break;
	case ACTION_MARK:
		mark(c);
		break;
	case ACTION_UNMARK:
		unmark_all(c);
		break;
	case ACTION_LEFT:
		c->stream.left = c->stream.left > 8 ? c->stream.left - 8 : 0;
		break;
	case ACTION_RIGHT:
		c->stream.left += c->stream.left < 4000 ? 8 : 0;
		break;
	case ACTION_FILTER:
		prompt_ask(&c->prompt, "filter: ", c->stream.filter, set_filter, NULL, NULL);
		break;
	default:
		handled = list_move(&c->stream.list, action, rows_of(c), rows - 1);
	}
	store(c);
	return handled;
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	_cleanup_buffer_ struct buffer shown = BUFFER_INIT;
	size_t count = rows_of(c), at;
	bool hit = false;

	load(c, console_rows(c) - 1);
	at = c->stream.list.cursor + (from_here ? 0 : (size_t)direction);
	for (size_t tried = 0; tried < count && !hit; tried++, at += (size_t)direction) {
		const struct log_entry *e;

		at = at >= count ? direction > 0 ? 0 : count - 1 : at;
		e = log_entry(c->log, log_serial(c->log, at));
		shown.length = 0;
		json_visible(json_get(log_event(c->log, e), "type"), &shown);
		buffer_add(&shown, " ", 1);
		log_describe(e->row, log_event(c->log, e), &shown);
		hit = shown.data && strcasestr(shown.data, text);
		if (hit) {
			c->stream.list.cursor = at;
			c->stream.list.follow = false;
			list_settle(&c->stream.list, count, console_rows(c) - 1);
			store(c);
		}
	}
	return hit;
}

static size_t marks_of(struct console *c)
{
	size_t count = 0;

	for (uint64_t serial = log_first(c->log); serial < log_next(c->log); serial++)
		count += log_entry(c->log, serial)->marked;
	return count;
}

static void status(struct console *c, struct buffer *out)
{
	char text[FORMAT_MAX];
	size_t count = rows_of(c);
	uint64_t fresh = log_rows(c->log) -
		log_row_of(c->log, c->frozen ? c->frozen_events : c->stream.seen) +
		log_unkept(c->log);

	if (!c->frozen && !c->stream.list.follow)
		buffer_printf(out, fresh ? "PAUSED +%s  " : "PAUSED  ", format_count(fresh, text));
	if (c->stream.filter[0])
		buffer_printf(out, "filter: %s  ", c->stream.filter);
	/* Marked ones may have been thrown out. */
	if (c->stream.marks && (c->stream.marks = marks_of(c)))
		buffer_printf(out, "%zu marked  ", c->stream.marks);
	buffer_printf(out, "%s", format_count(count ? c->stream.list.cursor + 1 : 0, text));
	buffer_printf(out, "/%s", format_count(count, text));
}

const struct view view_events = { IN_EVENTS, "Events", enter, draw, act, find, status, at_cursor };
