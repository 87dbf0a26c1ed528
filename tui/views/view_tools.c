/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending and Tools: two lists of tools, what waits for a decision and what is current.
 *
 * What the daemon could not list is said below what it could. A name that is longer than its column
 * loses its middle, and where the row has no room for hashes it has their first signs: two rows are
 * never the same for want of columns. The cursor stays with its version when the list changes; of a
 * version that left the list, it stays at the place.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tui/draw/lines.h"

#define REST 0
#define ALWAYS 10000
#define WHOLE_HASH_FROM 72
#define NOTICE_ROWS 3

static void text_name(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%s", t->name);
}
static void text_user(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%s", t->user);
}
static void text_version(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%" PRId64, t->version);
}
static void text_good(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%" PRId64, t->successes);
}
static void text_bad(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%" PRId64, t->failures);
}
static void text_short(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%.4s", t->hash);
}
static void text_hash(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%.12s", t->hash);
}
static void text_state(struct console *c, const struct tool *t, char *out, size_t size)
{
	(void)c;
	snprintf(out, size, "%s", t->state);
}
static void text_read(struct console *c, const struct tool *t, char *out, size_t size)
{
	snprintf(out, size, "%s", tools_is_read(&c->tools, t->key) ? "yes" : "");
}

/* Whole minutes, hours or days, since no timer redraws it. */
static void text_age(struct console *c, const struct tool *t, char *out, size_t size)
{
	int64_t minutes = (console_wall_ns(c) - t->due_ns) / 60000000000;

	if (!t->due_ns)
		snprintf(out, size, "-");
	else if (minutes < 120)
		snprintf(out, size, "%dm", minutes < 0 ? 0 : (int)minutes);
	else
		snprintf(out, size, minutes < 2880 ? "%dh" : "%dd",
			(int)(minutes < 2880 ? minutes / 60 : minutes / 1440));
}

static const struct column {
	const char *title;
	int width; /* REST: what is left */
	bool right;
	unsigned where;
	void (*text)(struct console *c, const struct tool *t, char *out, size_t size);
	int from, until; /* the columns of a terminal that has it */
} COLUMNS[] = {
	{ "TOOL", REST, false, IN_PENDING | IN_TOOLS, text_name, 0, ALWAYS },
	{ "USER", 12, false, IN_PENDING | IN_TOOLS, text_user, 64, ALWAYS },
	{ "VERSION", 7, true, IN_PENDING | IN_TOOLS, text_version, 0, ALWAYS },
	{ "STATE", 10, false, IN_TOOLS, text_state, 0, ALWAYS },
	{ "GOOD", 5, true, IN_PENDING | IN_TOOLS, text_good, 56, ALWAYS },
	{ "BAD", 5, true, IN_PENDING | IN_TOOLS, text_bad, 56, ALWAYS },
	{ "WAITS", 5, true, IN_PENDING, text_age, 0, ALWAYS },
	{ "READ", 4, false, IN_PENDING, text_read, 64, ALWAYS },
	{ "HASH", 4, false, IN_PENDING | IN_TOOLS, text_short, 0, WHOLE_HASH_FROM },
	{ "HASH", 12, false, IN_PENDING | IN_TOOLS, text_hash, WHOLE_HASH_FROM, ALWAYS },
};
#define COLUMN_COUNT ((int)(sizeof COLUMNS / sizeof *COLUMNS))

struct tool_table *view_tools_table(struct console *c)
{
	return console_base(c) == VIEW_TOOLS ? &c->current : &c->pending;
}

static const struct tool_list *list_of(struct console *c)
{
	return console_base(c) == VIEW_TOOLS ? &c->tools.current : &c->tools.pending;
}

/* The notice below the list takes rows of it. */
static int notice_rows(struct console *c, int rows)
{
	const char *notice = list_of(c)->notice;
	int most = rows - 2 < NOTICE_ROWS ? rows - 2 : NOTICE_ROWS,
	    needed = notice[0] ? cells_rows(notice, strlen(notice), c->cells.columns - 2) : 0;

	return needed > most ? most : needed;
}

/* The rows that the list itself has, of those of the view. */
static int height(struct console *c, int rows)
{
	return rows - 1 - notice_rows(c, rows);
}

static bool is_row(struct console *c, const struct tool *t)
{
	char text[700];
	const struct tool_table *table = view_tools_table(c);

	if (!table->filter[0])
		return true;
	snprintf(text, sizeof text, "%s %s %s %s %s", t->name, t->user, t->state, t->hash,
		t->description);
	return log_matches(table->filter, text);
}

static const struct tool *row_at(struct console *c, size_t row)
{
	const struct tool_list *list = list_of(c);

	for (size_t i = 0; i < list->count; i++)
		if (is_row(c, &list->at[i]) && row-- == 0)
			return &list->at[i];
	return NULL;
}

static size_t rows_of(struct console *c, const char *key, size_t *where)
{
	const struct tool_list *list = list_of(c);
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (is_row(c, &list->at[i])) {
			if (strcmp(list->at[i].key, key) == 0)
				*where = count;
			count++;
		}
	return count;
}

static size_t load(struct console *c, int rows)
{
	struct tool_table *table = view_tools_table(c);
	size_t count = rows_of(c, table->cursor, &table->list.cursor);

	table->list.follow = false;
	list_settle(&table->list, count, rows);
	return count;
}

static void store(struct console *c)
{
	struct tool_table *table = view_tools_table(c);
	const struct tool *t = row_at(c, table->list.cursor);

	snprintf(table->cursor, sizeof table->cursor, "%s", t ? t->key : "");
}

static bool is_column(const struct console *c, int i)
{
	return (COLUMNS[i].where & views[console_base(c)]->where) &&
		c->cells.columns >= COLUMNS[i].from && c->cells.columns < COLUMNS[i].until;
}

static void draw_row(struct console *c, int row, const struct tool *t, bool selected)
{
	int used = 1, column = 1;

	for (int i = 0; i < COLUMN_COUNT; i++)
		used += is_column(c, i) ? COLUMNS[i].width + 1 : 0;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		int width = COLUMNS[i].width ? COLUMNS[i].width : c->cells.columns - used - 1, wide;
		char text[200], shown[sizeof text + 2];

		if (!is_column(c, i))
			continue;
		snprintf(text, sizeof text, "%s", COLUMNS[i].title);
		if (t)
			COLUMNS[i].text(c, t, text, sizeof text);
		wide = cells_width(text, strlen(text));
		cells_text(&c->cells, row,
			column + (COLUMNS[i].right && wide < width ? width - wide : 0), width,
			!t                                      ? STYLE_HEAD
				: strcmp(text, "pending") == 0  ? STYLE_WARN
				: strcmp(text, "promoted") == 0 ? STYLE_GOOD
				: strcmp(text, "rejected") == 0 ? STYLE_DENY
								: STYLE_PLAIN,
			cells_middle(shown, sizeof shown, text, width));
		column += width + 1;
	}
	if (t)
		cells_text(&c->cells, row, 0, 1, STYLE_KEY,
			t->marked          ? (selected ? "#" : "*")
				: selected ? ">"
					   : " ");
	for (int i = 0; selected && i < c->cells.columns; i++)
		c->cells.at[row * c->cells.columns + i].style |= STYLE_SELECTED;
}

static const char *nothing(struct console *c)
{
	const struct tool_list *list = list_of(c);

	if (list->count)
		return "No tool has these words. f and Enter on an empty line shows all.";
	if (!list->known)
		return c->lost ? "There is no daemon." : "(asking the daemon)";
	if (list->notice[0])
		return console_base(c) == VIEW_TOOLS ? "There is no other tool."
						     : "Nothing else waits for a decision.";
	return console_base(c) == VIEW_TOOLS
		? "No tool is in any library. Try: cordon tool spawn SPEC"
		: "Nothing waits for a decision.";
}

static void draw(struct console *c, int row, int rows)
{
	int shown = height(c, rows);
	size_t count = load(c, shown), top = view_tools_table(c)->list.top, at = 0;
	const struct tool_list *list = list_of(c);

	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	draw_row(c, row, NULL, false);
	store(c);
	for (size_t i = 0; i < list->count && at < top + (size_t)shown; i++) {
		if (!is_row(c, &list->at[i]))
			continue;
		if (at >= top)
			draw_row(c, row + 1 + (int)(at - top), &list->at[i],
				at == view_tools_table(c)->list.cursor);
		at++;
	}
	if (notice_rows(c, rows) > 0)
		cells_wrap(&c->cells, row + 1 + shown, rows - 1 - shown, 1, c->cells.columns - 2,
			STYLE_DENY, list->notice, strlen(list->notice));
	if (count == 0)
		cells_wrap(&c->cells, row + 1 + (shown > 1), shown, 2, c->cells.columns - 3,
			STYLE_FAINT, nothing(c), strlen(nothing(c)));
}

static void set_filter(struct console *c, const char *words)
{
	struct tool_table *table = view_tools_table(c);

	snprintf(table->filter, sizeof table->filter, "%s", words);
	c->dirty = true;
}

static void mark(struct console *c, const struct tool *t, size_t count, int rows)
{
	struct tool *of = tools_find(&c->tools.pending, t->key);

	if (of)
		of->marked = !of->marked;
	list_move(&view_tools_table(c)->list, ACTION_DOWN, count, rows);
}

struct run *view_tools_run(struct console *c, const struct tool *t)
{
	struct run *run = runs_newest(c->runs);

	while (run &&
		(strcmp(run->tool.name, t->name) != 0 || strcmp(run->tool.user, t->user) != 0 ||
			run->tool.version != t->version))
		run = run->older;
	return run;
}

static struct run *at_cursor(struct console *c)
{
	const struct tool *t = tools_find(list_of(c), view_tools_table(c)->cursor);

	return t ? view_tools_run(c, t) : NULL;
}

static bool act(struct console *c, enum action action, int rows)
{
	size_t count = load(c, height(c, rows));
	struct tool_table *table = view_tools_table(c);
	const struct tool *t = row_at(c, table->list.cursor);
	bool handled = true;

	switch (action) {
	case ACTION_OPEN:
		if (t)
			view_tool_choose(c, t);
		break;
	case ACTION_FILTER:
		prompt_ask(&c->prompt, "filter: ", table->filter, set_filter, NULL, NULL);
		break;
	case ACTION_MARK:
		if (t)
			mark(c, t, count, height(c, rows));
		break;
	case ACTION_UNMARK:
		for (size_t i = 0; i < c->tools.pending.count; i++)
			c->tools.pending.at[i].marked = false;
		break;
	case ACTION_APPROVE_MARKED:
		decide_approve(c, NULL);
		break;
	case ACTION_REJECT_MARKED:
		decide_reject(c, NULL);
		break;
	case ACTION_REVOKE:
		if (t)
			decide_revoke(c, t);
		break;
	default:
		handled = list_move(&table->list, action, count, height(c, rows));
	}
	store(c);
	return handled;
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	size_t count = load(c, height(c, console_rows(c))),
	       at = view_tools_table(c)->list.cursor + (from_here ? 0 : (size_t)direction);

	for (size_t tried = 0; tried < count; tried++, at += (size_t)direction) {
		const struct tool *t;
		char whole[700];

		at = at >= count ? direction > 0 ? 0 : count - 1 : at;
		t = row_at(c, at);
		snprintf(whole, sizeof whole, "%s %s %s %s", t->name, t->user, t->state, t->hash);
		if (!strcasestr(whole, text))
			continue;
		view_tools_table(c)->list.cursor = at;
		store(c);
		return true;
	}
	return false;
}

static void status(struct console *c, struct buffer *out)
{
	const struct tool_table *table = view_tools_table(c);
	size_t ignored = 0, count = rows_of(c, "", &ignored),
	       marked = tools_marked(&c->tools.pending);

	if (table->filter[0])
		buffer_printf(out, "filter: %s  ", table->filter);
	if (marked && console_base(c) == VIEW_PENDING)
		buffer_printf(out, "%zu marked  ", marked);
	buffer_printf(out, "%zu/%zu", count ? table->list.cursor + 1 : 0, count);
}

const struct view view_pending = { IN_PENDING, "Pending", console_ask_tools, draw, act, find,
	status, at_cursor };
const struct view view_tools = { IN_TOOLS, "Tools", console_ask_tools, draw, act, find, status,
	at_cursor };
