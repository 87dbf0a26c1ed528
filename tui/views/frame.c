/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines around a view: the title with the views and the live runs, the message and the place in
 * the view, and the keys that work here, from their table.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "tui/model/console.h"
#include "tui/draw/lines.h"

#define TOO_LONG \
	"What is asked does not fit on this screen. Make it larger, or leave the question with " \
	"Esc."
#define VIEW_LEAST 3 /* rows; prompt and message may take all others but the title */

static int rows_of_prompt(const struct console *c)
{
	int most = c->cells.rows - 2 - VIEW_LEAST,
	    rows = c->prompt.kind == PROMPT_NONE ? 1 : prompt_rows(&c->prompt, c->cells.columns);

	return rows > most ? most : rows;
}

static int rows_of_message(const struct console *c)
{
	int most = c->cells.rows - 1 - VIEW_LEAST - rows_of_prompt(c),
	    rows = cells_rows(c->message, strlen(c->message), c->cells.columns - 2);

	return rows > most ? most : rows;
}

int console_rows(const struct console *c)
{
	return c->cells.rows - 1 - rows_of_message(c) - rows_of_prompt(c);
}

bool console_shows_prompt(const struct console *c)
{
	return c->prompt.kind == PROMPT_NONE ||
		prompt_fits(&c->prompt, c->cells.rows - 2 - VIEW_LEAST, c->cells.columns);
}

static void draw_title(struct console *c)
{
	size_t live = 0, waiting = 0;
	char right[120], wait[40] = "", runs[40];
	int column = 1, width;

	for (const struct run *run = runs_newest(c->runs); run; run = run->older) {
		waiting += run->state == RUN_WAITS;
		live += run_is_live(run) && run->state != RUN_WAITS;
	}
	if (waiting)
		snprintf(wait, sizeof wait, ", %zu waiting", waiting);
	snprintf(runs, sizeof runs, ", %zu runs", runs_count(c->runs));
	cells_paint(&c->cells, 0, 0, c->cells.columns, STYLE_TITLE);
	if (c->cells.columns >= 100)
		column += cells_text(&c->cells, 0, column, 8, STYLE_TITLE, "cordon  ");
	for (int id = 0, number = 1; id < VIEW_COUNT; id++) {
		bool current = console_base(c) == (enum view_id)id;
		char text[64], count[32];

		if (!console_has_view(c, (enum view_id)id))
			continue;
		count[0] = '\0';
		if (id == VIEW_PENDING && c->tools.pending.count)
			snprintf(count, sizeof count, " %zu", c->tools.pending.count);
		snprintf(text, sizeof text, current ? "[%d %s%s]" : " %d %s%s ", number++,
			views[id]->name, count);
		column += cells_text(
			&c->cells, 0, column, c->cells.columns - column, STYLE_TITLE, text);
	}
	/* A narrow title leaves the totals out. */
	for (int all = 1; all >= 0; all--) {
		snprintf(right, sizeof right, "%s%zu live%s%s ", c->lost ? "NO DAEMON  " : "", live,
			wait, all ? runs : "");
		width = (int)strlen(right);
		if (column + width <= c->cells.columns)
			break;
	}
	if (column + width <= c->cells.columns)
		cells_text(&c->cells, 0, c->cells.columns - width, width, STYLE_TITLE, right);
	else if (c->lost)
		cells_text(&c->cells, 0, c->cells.columns - 10, 10, STYLE_TITLE, "NO DAEMON ");
}

static void draw_status(struct console *c)
{
	const struct view *view = views[console_view(c)];
	_cleanup_buffer_ struct buffer right = BUFFER_INIT;
	int rows = rows_of_message(c), row = c->cells.rows - rows_of_prompt(c) - 1, width, room;
	char text[FORMAT_MAX];

	if (c->frozen)
		buffer_printf(&right, "PAUSED +%s  ",
			format_count(log_total(c->log) - c->frozen_total, text));
	if (view->status)
		view->status(c, &right);
	if (c->link.malformed)
		buffer_printf(&right,
			"  %" PRIu64 " lines of the daemon were none of the protocol's",
			c->link.malformed);
	width = right.length ? cells_width(right.data, right.length) : 0;
	width = width > c->cells.columns - 2 ? c->cells.columns - 2 : width;
	if (right.length)
		cells_put(&c->cells, row, c->cells.columns - width - 1, width,
			c->frozen ? STYLE_WARN : STYLE_FAINT, right.data, right.length, 0);
	room = c->cells.columns - width - 3;
	if (c->message[0] && cells_width(c->message, strlen(c->message)) > room) {
		/* The message matters more than the place in the view. */
		for (int i = 0; i < c->cells.columns; i++)
			c->cells.at[row * c->cells.columns + i] =
				(struct cell){ { ' ', 0 }, STYLE_PLAIN };
		room = c->cells.columns - 2;
	}
	if (c->message[0])
		cells_wrap(&c->cells, row - rows + 1, rows, 1, room, c->message_style, c->message,
			strlen(c->message));
}

/* The keys that work here, from the table, as many as there is room for. */
static void draw_footer(struct console *c)
{
	enum where where = views[console_view(c)]->where;
	int row = c->cells.rows - 1, column = 1;

	for (int action = 1; action < ACTION_COUNT; action++) {
		const struct key_text *key = &key_texts[action];
		char name[24];
		int length, needed;

		if (!(key->where & where) || !key->label[0])
			continue;
		/* The key that has a name without brackets in it: <Enter> is Enter. */
		length = (int)strcspn(key->keys, " ");
		snprintf(name, sizeof name, "%.*s", length > 2 ? length - 2 : length,
			key->keys + (length > 2));
		needed = (int)(strlen(name) + strlen(key->label)) + 3;
		if (column + needed > c->cells.columns)
			continue;
		column += cells_text(&c->cells, row, column, 20, STYLE_KEY, name) + 1;
		column += cells_text(&c->cells, row, column, 20, STYLE_FAINT, key->label) + 2;
	}
}

void console_draw(struct console *c)
{
	cells_clear(&c->cells);
	c->cursor_row = c->cursor_column = -1;
	if (c->cells.columns < COLUMNS_LEAST || c->cells.rows < ROWS_LEAST) {
		cells_text(&c->cells, c->cells.rows / 2, 0, c->cells.columns, STYLE_PLAIN,
			"terminal too small");
		cells_print(&c->cells, c->cells.rows / 2 + 1, 0, c->cells.columns, STYLE_PLAIN,
			"%dx%d, least %dx%d", c->cells.columns, c->cells.rows, COLUMNS_LEAST,
			ROWS_LEAST);
		return;
	}
	draw_title(c);
	views[console_view(c)]->draw(c, 1, console_rows(c));
	draw_status(c);
	if (c->prompt.kind == PROMPT_NONE)
		draw_footer(c);
	else if (console_shows_prompt(c))
		prompt_draw(&c->prompt, &c->cells, c->cells.rows - rows_of_prompt(c),
			rows_of_prompt(c), &c->cursor_row, &c->cursor_column);
	else
		cells_wrap(&c->cells, c->cells.rows - rows_of_prompt(c), rows_of_prompt(c), 0,
			c->cells.columns - 1, STYLE_WARN, TOO_LONG, strlen(TOO_LONG));
	c->dirty = false;
}
