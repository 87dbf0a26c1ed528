/* SPDX-License-Identifier: Apache-2.0 */
/* The help of `?`: the table of keys, those of the view below first. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/views/views.h"

#include <stdio.h>
#include <string.h>

static void add_keys(struct lines *out, unsigned where, unsigned without)
{
	for (int action = 1; action < ACTION_COUNT; action++) {
		const struct key_text *key = &key_texts[action];

		if ((key->where & where) && !(without && (key->where & without) == without))
			lines_print(out, STYLE_PLAIN, "  %-18s %-16s %s", key->keys, key->name,
				key->help);
	}
}

static void enter(struct console *c)
{
	enum view_id below = c->depth > 1 ? c->stack[c->depth - 2] : VIEW_RUNS;

	lines_clear(&c->help.lines);
	c->help.page = (struct page){ .parts = { &c->help.lines } };
	if (views[below]->where != EVERYWHERE) {
		lines_print(&c->help.lines, STYLE_KEY, "In this view");
		add_keys(&c->help.lines, views[below]->where, EVERYWHERE);
		lines_print(&c->help.lines, STYLE_PLAIN, "%s", "");
	}
	lines_print(&c->help.lines, STYLE_KEY, "Everywhere");
	for (int action = 1; action < ACTION_COUNT; action++)
		if ((key_texts[action].where & EVERYWHERE) == EVERYWHERE)
			lines_print(&c->help.lines, STYLE_PLAIN, "  %-18s %-16s %s",
				key_texts[action].keys, key_texts[action].name,
				key_texts[action].help);
	lines_print(&c->help.lines, STYLE_PLAIN, "%s", "");
	lines_print(&c->help.lines, STYLE_PLAIN,
		"The mouse is the terminal's: select and copy as everywhere else.");
	lines_print(&c->help.lines, STYLE_PLAIN,
		"Text of others that acts on a terminal or hides in it is shown as <U+202E>, bytes "
		"that are no text as <0xFF>.");
}

static void draw(struct console *c, int row, int rows)
{
	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, "KEYS");
	page_draw(&c->help.page, &c->cells, row + 1, rows - 1, c->found);
}

static bool act(struct console *c, enum action action, int rows)
{
	return page_move(&c->help.page, action, rows - 1, c->cells.columns);
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	return page_find(&c->help.page, text, direction, from_here);
}

const struct view view_help = { IN_HELP, "", enter, draw, act, find, NULL, NULL };
