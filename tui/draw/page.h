/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines, read page by page: one or more lists of lines, one under the other, with long lines broken
 * or moved sideways.
 *
 * What stands at the left edge is ours: source has its line numbers, other foreign text of several
 * lines that is quoted has "| " on every row, and a row that goes on from the one before has "+ ".
 * So nothing that others wrote can look like a heading or a line of the console's own.
 */
#ifndef CORDON_TUI_DRAW_PAGE_H
#define CORDON_TUI_DRAW_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/draw/cells.h"
#include "tui/draw/keys.h"
#include "tui/draw/lines.h"

#define PAGE_PARTS 4

struct page {
	const struct lines *parts[PAGE_PARTS]; /* borrowed; NULL: none */
	size_t top, piece; /* the first line that is shown, and how many rows of it are above */
	int left;          /* columns scrolled out at the left, where lines are not broken */
	bool cut;          /* lines are cut at the edge in place of being broken */
	bool follow;       /* stays at the end */
	bool saw_end;      /* by the last page_draw the last row was shown, now or before */
};

size_t page_lines(const struct page *p);
const struct line *page_line(const struct page *p, size_t line);

/* Draws `rows` rows from `row` on. found: a text to show up, or "". */
void page_draw(struct page *p, struct cells *c, int row, int rows, const char *found);

/* Moves by an action; false when the action does not move a page. rows and columns as drawn. */
bool page_move(struct page *p, enum action action, int rows, int columns);

/*
 * Goes to the next line (direction 1, or -1) that has the text, from the one behind the top on, or
 * from the top itself. Returns false when there is none.
 */
bool page_find(struct page *p, const char *text, int direction, bool from_here);

/* To a line. */
void page_go(struct page *p, size_t line);

/* Writes all lines, one a line; pieces of a long line are joined again. */
void page_write(const struct page *p, struct buffer *out);

/* A cursor in a list that grows and shrinks: numbers of rows alone, their texts are the view's. */

struct list {
	size_t cursor, top;
	bool follow; /* the cursor stays on the last row */
};

/* Brings cursor and top into `count` rows of which `height` are shown. */
void list_settle(struct list *l, size_t count, int height);

/*
 * Moves as an action says. Returns false when the action is no motion. A cursor on the last row
 * follows new rows; one above it does not.
 */
bool list_move(struct list *l, enum action action, size_t count, int height);

#endif
