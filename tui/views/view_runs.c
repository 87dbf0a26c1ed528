/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs: a table, one row for each execution.
 *
 * A draw makes the rows' texts from the model; while the picture is frozen it keeps them. The
 * cursor stays with its run when the order changes; before its first move it stays at the top.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tui/draw/lines.h"

#define FORMATTED 40

static void text_id(const struct run *run, char *out)
{
	snprintf(out, FORMATTED, "%.6s", run->id);
}
static void text_tier(const struct run *run, char *out)
{
	snprintf(out, FORMATTED, "%s", run->tier);
}

static void text_state(const struct run *run, char *out)
{
	char text[32];

	snprintf(out, FORMATTED, "%s", run_state_text(run, text));
}

static void text_left(const struct run *run, char *out)
{
	char text[FORMAT_MAX];
	int64_t left = run_left_ms(run);

	snprintf(out, FORMATTED, "%s",
		left >= 0                  ? format_duration(left, text)
			: run_is_live(run) ? "-"
					   : format_duration(run->duration_ms, text));
}

static void text_cpu(const struct run *run, char *out)
{
	snprintf(out, FORMATTED, "%.0f%%", run->cpu_percent);
}

static void text_memory(const struct run *run, char *out)
{
	char text[FORMAT_MAX];

	snprintf(out, FORMATTED, "%s", format_bytes(run_memory(run), text));
}

static void text_processes(const struct run *run, char *out)
{
	if (run_is_live(run))
		snprintf(out, FORMATTED, "%" PRId64, run->processes);
}

static void text_opened(const struct run *run, char *out)
{
	snprintf(out, FORMATTED, "%" PRIu64, run->opened);
}
static void text_denied(const struct run *run, char *out)
{
	snprintf(out, FORMATTED, "%" PRIu64, run->denied);
}

static int by_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}
static int by_cpu(const struct run *a, const struct run *b)
{
	return (a->cpu_percent > b->cpu_percent) - (a->cpu_percent < b->cpu_percent);
}
static int by_memory(const struct run *a, const struct run *b)
{
	return by_number(run_memory(a), run_memory(b));
}
static int by_name(const struct run *a, const struct run *b)
{
	return -strcasecmp(a->name, b->name);
}
static int by_state(const struct run *a, const struct run *b)
{
	return by_number((int64_t)b->state, (int64_t)a->state);
}
static int by_denied(const struct run *a, const struct run *b)
{
	return by_number((int64_t)a->denied, (int64_t)b->denied);
}
static int by_opened(const struct run *a, const struct run *b)
{
	return by_number((int64_t)a->opened, (int64_t)b->opened);
}

static int by_age(const struct run *a, const struct run *b)
{
	return run_is_live(a) != run_is_live(b) ? run_is_live(a) - run_is_live(b)
						: by_number((int64_t)a->number, (int64_t)b->number);
}

/* width 0: the rest of the row. compare: the larger comes first. */
static const struct column {
	const char *title;
	int width;
	bool right;
	void (*text)(const struct run *run, char *out);
	int (*compare)(const struct run *a, const struct run *b);
	int from; /* only on a terminal of so many columns */
} COLUMNS[] = {
	{ "RUN", 6, false, text_id, by_age, 0 },
	{ "PROGRAM", 0, false, NULL, by_name, 0 },
	{ "TIER", 10, false, text_tier, NULL, 100 },
	{ "STATE", 16, false, text_state, by_state, 0 },
	{ "LEFT", 7, true, text_left, NULL, 60 },
	{ "CPU", 5, true, text_cpu, by_cpu, 50 },
	{ "MEM", 6, true, text_memory, by_memory, 50 },
	{ "PROC", 4, true, text_processes, NULL, 90 },
	{ "FILES", 5, true, text_opened, by_opened, 70 },
	{ "DENY", 4, true, text_denied, by_denied, 44 },
};
#define COLUMN_COUNT ((int)(sizeof COLUMNS / sizeof *COLUMNS))

/* for qsort(3), which has no argument of its own */
static int (*compare_by)(const struct run *, const struct run *);
static int compare_sign;

static int compare(const void *a, const void *b)
{
	const struct run *one = *(const struct run *const *)a, *two = *(const struct run *const *)b;
	int order = compare_by(one, two) * compare_sign;

	return order ? -order : by_number((int64_t)two->number, (int64_t)one->number);
}

static bool is_wanted(struct console *c, const struct run *run)
{
	char text[1000], state[32];

	if (!c->table.filter[0])
		return true;
	snprintf(text, sizeof text, "%s %s %s %s %s %s", run->id, run->name, run->command,
		run->program, run->tier, run_state_text(run, state));
	return log_matches(c->table.filter, text);
}

static void fill(struct table_row *row, const struct run *run)
{
	const char *label = run_label(run), *slash = strrchr(run->name, '/');

	snprintf(row->id, sizeof row->id, "%s", run->id);
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (COLUMNS[i].text)
			COLUMNS[i].text(run, row->text.cells[i]);
	/* The end of a script's path tells most. */
	if (strcmp(run->program, "script") == 0 && slash && slash[1] &&
		strncmp(label, run->name, strlen(run->name)) == 0)
		label += slash + 1 - run->name;
	snprintf(row->text.program, sizeof row->text.program, "%s", label);
	row->text.style = run_style(run);
}

void view_runs_refresh(struct console *c)
{
	size_t count = runs_count(c->runs), used = 0;
	struct run **order = malloc((count + 1) * sizeof *order);
	struct table_row *rows = NULL;

	for (struct run *run = runs_newest(c->runs); order && run && used < TABLE_MAX;
		run = run->older)
		if (is_wanted(c, run))
			order[used++] = run;
	if (order)
		rows = calloc(used + 1, sizeof *rows);
	if (rows) {
		compare_by = COLUMNS[c->table.sort].compare;
		compare_sign = c->table.turned ? -1 : 1;
		qsort(order, used, sizeof *order, compare);
		for (size_t i = 0; i < used; i++)
			fill(&rows[i], order[i]);
		free(c->table.rows);
		c->table.rows = rows;
		c->table.count = used;
	}
	free(order);
}

static void load(struct console *c, int rows)
{
	if (!c->frozen)
		view_runs_refresh(c);
	if (!c->table.moved)
		c->table.list.cursor = 0;
	for (size_t i = 0; c->table.moved && i < c->table.count; i++)
		if (strcmp(c->table.rows[i].id, c->table.cursor_id) == 0)
			c->table.list.cursor = i;
	c->table.list.follow = false;
	list_settle(&c->table.list, c->table.count, rows);
}

static void store(struct console *c)
{
	bool has = c->table.list.cursor < c->table.count;

	snprintf(c->table.cursor_id, sizeof c->table.cursor_id, "%s",
		has ? c->table.rows[c->table.list.cursor].id : "");
}

static int rest_width(int columns)
{
	int used = 1;

	for (int i = 0; i < COLUMN_COUNT; i++)
		if (columns >= COLUMNS[i].from)
			used += COLUMNS[i].width + 1;
	return columns - used < 8 ? 8 : columns - used;
}

static void draw_row(struct console *c, int row, const struct table_row *of)
{
	int column = 1;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		int width = COLUMNS[i].width ? COLUMNS[i].width : rest_width(c->cells.columns);
		bool is_state = COLUMNS[i].text == text_state,
		     is_denied = COLUMNS[i].text == text_denied;
		const char *text = !of    ? COLUMNS[i].title
			: COLUMNS[i].text ? of->text.cells[i]
					  : of->text.program;
		int wide = cells_width(text, strlen(text));
		unsigned style = !of                          ? STYLE_HEAD
			: is_state                            ? of->text.style
			: is_denied && strcmp(text, "0") != 0 ? STYLE_DENY
							      : STYLE_PLAIN;

		if (c->cells.columns < COLUMNS[i].from)
			continue;
		if (!of && i == c->table.sort)
			cells_text(&c->cells, row, column - 1, 1, STYLE_HEAD,
				c->table.turned ? "^" : "v");
		cells_text(&c->cells, row,
			column + (COLUMNS[i].right && wide < width ? width - wide : 0), width,
			style, text);
		column += width + 1;
	}
}

static void draw(struct console *c, int row, int rows)
{
	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	draw_row(c, row, NULL);
	load(c, rows - 1);
	store(c);
	for (int i = 0; i < rows - 1 && c->table.list.top + (size_t)i < c->table.count; i++) {
		size_t at = c->table.list.top + (size_t)i;

		draw_row(c, row + 1 + i, &c->table.rows[at]);
		if (at != c->table.list.cursor)
			continue;
		cells_text(&c->cells, row + 1 + i, 0, 1, STYLE_KEY, ">");
		for (int column = 0; column < c->cells.columns; column++)
			c->cells.at[(row + 1 + i) * c->cells.columns + column].style |=
				STYLE_SELECTED;
	}
	if (c->table.count == 0)
		cells_text(&c->cells, row + 2, 2, c->cells.columns - 2, STYLE_FAINT,
			c->table.filter[0]
				? "No run has these words. f and Enter on an empty line shows all."
				: "No run is known. Try: cordon run --daemon -- COMMAND");
}

static void set_filter(struct console *c, const char *words)
{
	snprintf(c->table.filter, sizeof c->table.filter, "%s", words);
	view_runs_refresh(c);
	c->dirty = true;
}

static void sort_next(struct console *c)
{
	do
		c->table.sort = (c->table.sort + 1) % COLUMN_COUNT;
	while (!COLUMNS[c->table.sort].compare || c->cells.columns < COLUMNS[c->table.sort].from);
	console_say(c, STYLE_PLAIN, "sorted by %s", COLUMNS[c->table.sort].title);
}

bool view_runs_sort(struct console *c, const char *name)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (strcasecmp(COLUMNS[i].title, name) == 0 && COLUMNS[i].compare) {
			c->table.sort = i;
			return true;
		}
	return false;
}

/* The row as it was drawn last. */
static struct run *at_cursor(struct console *c)
{
	if (!c->table.cursor_id[0]) {
		load(c, console_rows(c) - 1);
		store(c);
	}
	return runs_find(c->runs, c->table.cursor_id);
}

static bool act(struct console *c, enum action action, int rows)
{
	bool handled = true;

	load(c, rows - 1);
	switch (action) {
	case ACTION_OPEN:
		if (c->table.count)
			console_open_view(c, VIEW_DETAIL);
		break;
	case ACTION_SORT:
		sort_next(c);
		break;
	case ACTION_SORT_TURN:
		c->table.turned = !c->table.turned;
		break;
	case ACTION_FILTER:
		prompt_ask(&c->prompt, "filter: ", c->table.filter, set_filter, NULL, NULL);
		break;
	default:
		handled = list_move(&c->table.list, action, c->table.count, rows - 1);
		c->table.moved = handled ? action != ACTION_FIRST : c->table.moved;
		store(c);
	}
	return handled;
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	size_t count, at;

	load(c, console_rows(c) - 1);
	count = c->table.count;
	at = c->table.list.cursor + (from_here ? 0 : (size_t)direction);
	for (size_t tried = 0; tried < count; tried++, at += (size_t)direction) {
		char whole[600];

		at = at >= count ? direction > 0 ? 0 : count - 1 : at;
		snprintf(whole, sizeof whole, "%s %s %s", c->table.rows[at].id,
			c->table.rows[at].text.program, c->table.rows[at].text.cells[3]);
		if (!strcasestr(whole, text))
			continue;
		c->table.list.cursor = at;
		c->table.moved = true;
		store(c);
		return true;
	}
	return false;
}

static void status(struct console *c, struct buffer *out)
{
	char text[FORMAT_MAX];

	if (c->table.filter[0])
		buffer_printf(out, "filter: %s  ", c->table.filter);
	buffer_printf(out, "%s", format_count(c->table.count ? c->table.list.cursor + 1 : 0, text));
	buffer_printf(out, "/%s", format_count(c->table.count, text));
}

const struct view view_runs = { IN_RUNS, "Runs", NULL, draw, act, find, status, at_cursor };
