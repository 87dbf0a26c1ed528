/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages. See page.h.
 *
 * A place is a line and a row of it, so that breaking lines needs no table of rows: from one place
 * to the next is one look at one line, which is short (lines.c cuts them). What is drawn, moved
 * over and counted goes through next() and back() alone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/page.h"

#include <string.h>

#define GUTTER 6
#define QUOTE 2

size_t page_lines(const struct page *p)
{
	size_t count = 0;

	for (size_t i = 0; i < PAGE_PARTS; i++)
		count += p->parts[i] ? lines_count(p->parts[i]) : 0;
	return count;
}

const struct line *page_line(const struct page *p, size_t line)
{
	for (size_t i = 0; i < PAGE_PARTS; i++) {
		size_t count = p->parts[i] ? lines_count(p->parts[i]) : 0;

		if (line < count)
			return lines_at(p->parts[i], line);
		line -= count;
	}
	return NULL;
}

/*
 * The columns left of the text: the number of a line of source, the mark of quoted text, the mark
 * of a row that continues the one before.
 */
static int gutter_of(const struct page *p, size_t line, size_t piece)
{
	const struct line *at = page_line(p, line);
	bool goes_on = piece > 0 || (at && at->continues);

	if (at && at->quoted)
		return QUOTE;
	while (line > 0 && page_line(p, line) && page_line(p, line)->continues)
		line--;
	return page_line(p, line) && page_line(p, line)->number ? GUTTER : goes_on ? QUOTE : 0;
}

static int room_of(const struct page *p, size_t line, size_t piece, int columns)
{
	int room = columns - 1 - gutter_of(p, line, piece);

	return room < 4 ? 4 : room;
}

/* Where row `piece` of a line begins; the line's length when it has no such row. */
static size_t piece_start(const struct page *p, size_t line, size_t piece, int columns)
{
	const struct line *at = page_line(p, line);
	int first = room_of(p, line, 0, columns), other = room_of(p, line, 1, columns);
	size_t start = 0;

	if (p->cut)
		return piece > 0 ? at->length : 0;
	for (size_t i = 0; i < piece && start < at->length; i++)
		start += cells_break(at->text + start, at->length - start, i ? other : first);
	return start;
}

static size_t pieces_of(const struct page *p, size_t line, int columns)
{
	const struct line *at = page_line(p, line);
	int first = room_of(p, line, 0, columns), other = room_of(p, line, 1, columns);
	size_t start = 0, count = 0;

	if (p->cut)
		return 1;
	do
		start += cells_break(at->text + start, at->length - start, count++ ? other : first);
	while (start < at->length);
	return count;
}

static bool next(const struct page *p, size_t *line, size_t *piece, int columns)
{
	if (*line >= page_lines(p))
		return false;
	if (*piece + 1 < pieces_of(p, *line, columns)) {
		++*piece;
		return true;
	}
	if (*line + 1 >= page_lines(p))
		return false;
	++*line;
	*piece = 0;
	return true;
}

static bool back(const struct page *p, size_t *line, size_t *piece, int columns)
{
	if (*piece > 0) {
		--*piece;
		return true;
	}
	if (*line == 0)
		return false;
	--*line;
	*piece = pieces_of(p, *line, columns) - 1;
	return true;
}

/* The last place from which a page is full. */
static void go_to_end(struct page *p, int rows, int columns)
{
	size_t count = page_lines(p);

	p->top = count > 0 ? count - 1 : 0;
	p->piece = count > 0 ? pieces_of(p, p->top, columns) - 1 : 0;
	for (int i = 1; i < rows && back(p, &p->top, &p->piece, columns);)
		i++;
}

/* Moves the top back into the lines, of which there may be fewer now. */
static void settle(struct page *p, int rows, int columns)
{
	size_t count = page_lines(p), line, piece;
	int below = 1;

	if (count == 0) {
		p->top = p->piece = 0;
		return;
	}
	if (p->follow) {
		go_to_end(p, rows, columns);
		return;
	}
	if (p->top >= count) {
		p->top = count - 1;
		p->piece = 0;
	}
	if (p->piece >= pieces_of(p, p->top, columns))
		p->piece = pieces_of(p, p->top, columns) - 1;
	for (line = p->top, piece = p->piece; below < rows && next(p, &line, &piece, columns);)
		below++;
	if (below < rows)
		go_to_end(p, rows, columns);
}

static void go_to_heading(struct page *p, int direction)
{
	size_t count = page_lines(p);

	for (size_t line = p->top + (size_t)direction; line < count; line += (size_t)direction)
		if (page_line(p, line)->style == STYLE_KEY) {
			page_go(p, line);
			return;
		}
}

static const char *find_in(const char *text, size_t length, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; size > 0 && i + size <= length; i++)
		if (strncasecmp(text + i, word, size) == 0)
			return text + i;
	return NULL;
}

static void draw_row(const struct page *p, struct cells *c, int row, size_t line, size_t piece,
	const char *found)
{
	const struct line *at = page_line(p, line);
	int gutter = gutter_of(p, line, piece), room = room_of(p, line, piece, c->columns),
	    skip = p->cut ? p->left : 0;
	size_t start = piece_start(p, line, piece, c->columns),
	       length = p->cut ? at->length : piece_start(p, line, piece + 1, c->columns) - start;
	const char *text = at->text + start;

	if (gutter && piece == 0 && at->number)
		cells_print(c, row, 0, gutter, STYLE_FAINT, "%5u ", at->number);
	else if (at->quoted)
		cells_text(c, row, 0, 1, STYLE_FAINT, "|");
	if (piece > 0 || at->continues)
		cells_text(c, row, at->quoted ? 1 : gutter - 2, 1, STYLE_FAINT, "+");
	cells_put(c, row, gutter, room, at->style, text, length, skip);
	if (p->cut && cells_width(text, length) > skip + room)
		cells_text(c, row, c->columns - 1, 1, STYLE_FAINT, ">");
	for (const char *hit = find_in(text, length, found); hit;
		hit = find_in(hit + 1, length - (size_t)(hit + 1 - text), found)) {
		int column = cells_width(text, (size_t)(hit - text)) - skip,
		    width = cells_width(hit, strlen(found));

		if (column + width > 0 && column < room)
			cells_paint(c, row, gutter + (column < 0 ? 0 : column),
				column + width > room ? room - column : width, STYLE_FOUND);
	}
}

void page_draw(struct page *p, struct cells *c, int row, int rows, const char *found)
{
	size_t line, piece;
	bool more;

	if (rows <= 0)
		return;
	settle(p, rows, c->columns);
	line = p->top;
	piece = p->piece;
	more = page_lines(p) > 0;
	for (int i = 0; i < rows && more; i++) {
		draw_row(p, c, row + i, line, piece, found);
		more = next(p, &line, &piece, c->columns);
	}
	p->saw_end |= !more && page_lines(p) > 0;
}

bool page_move(struct page *p, enum action action, int rows, int columns)
{
	const int half = rows / 2 + 1, whole = rows > 2 ? rows - 1 : 1;
	const struct {
		enum action action;
		int steps;
	} MOTIONS[] = {
		{ ACTION_DOWN, 1 },
		{ ACTION_UP, -1 },
		{ ACTION_HALF_DOWN, half },
		{ ACTION_HALF_UP, -half },
		{ ACTION_PAGE_DOWN, whole },
		{ ACTION_PAGE_UP, -whole },
	};
	struct page end = *p;

	if (action == ACTION_FIRST || action == ACTION_LAST) {
		p->follow = action == ACTION_LAST;
		p->top = p->piece = 0;
		settle(p, rows, columns);
		return true;
	}
	if (action == ACTION_LEFT || action == ACTION_RIGHT) {
		p->left += action == ACTION_LEFT ? -8 : 8;
		p->left = !p->cut || p->left < 0 ? 0 : p->left > 10000 ? 10000 : p->left;
		return true;
	}
	if (action == ACTION_SECTION_NEXT || action == ACTION_SECTION_PREVIOUS) {
		go_to_heading(p, action == ACTION_SECTION_NEXT ? 1 : -1);
		settle(p, rows, columns);
		return true;
	}
	if (action == ACTION_WRAP) {
		p->cut = !p->cut;
		p->left = 0;
		p->piece = 0;
		return true;
	}
	for (size_t i = 0; i < sizeof MOTIONS / sizeof *MOTIONS; i++) {
		if (MOTIONS[i].action != action)
			continue;
		settle(p, rows, columns);
		p->follow = false;
		for (int n = 0; n < MOTIONS[i].steps && next(p, &p->top, &p->piece, columns);)
			n++;
		for (int n = 0; n > MOTIONS[i].steps && back(p, &p->top, &p->piece, columns);)
			n--;
		if (page_lines(p) > 0)
			go_to_end(&end, rows, columns);
		/* A cursor that moves down to the end follows new rows. */
		p->follow = MOTIONS[i].steps > 0 &&
			(p->top > end.top || (p->top == end.top && p->piece >= end.piece));
		settle(p, rows, columns);
		return true;
	}
	return false;
}

bool page_find(struct page *p, const char *text, int direction, bool from_here)
{
	size_t count = page_lines(p), at = p->top + (from_here ? 0 : (size_t)direction);

	for (size_t tried = 0; tried < count; tried++, at += (size_t)direction) {
		const struct line *line;

		at = at >= count ? direction > 0 ? 0 : count - 1 : at;
		line = page_line(p, at);
		if (find_in(line->text, line->length, text)) {
			page_go(p, at);
			return true;
		}
	}
	return false;
}

void page_go(struct page *p, size_t line)
{
	p->top = line;
	p->piece = 0;
	p->follow = false;
}

void page_write(const struct page *p, struct buffer *out)
{
	for (size_t i = 0; i < page_lines(p); i++) {
		const struct line *at = page_line(p, i), *after = page_line(p, i + 1);

		if (at->quoted && !at->continues)
			buffer_add_text(out, "| ");
		buffer_add(out, at->text, at->length);
		if (!after || !after->continues)
			buffer_add(out, "\n", 1);
	}
}

/* ---- list ---- */

void list_settle(struct list *l, size_t count, int height)
{
	size_t shown = height > 0 ? (size_t)height : 1;

	if (l->follow || l->cursor >= count)
		l->cursor = count > 0 ? count - 1 : 0;
	if (l->top + shown > count)
		l->top = count > shown ? count - shown : 0;
	if (l->cursor < l->top)
		l->top = l->cursor;
	if (l->cursor >= l->top + shown)
		l->top = l->cursor - shown + 1;
}

bool list_move(struct list *l, enum action action, size_t count, int height)
{
	size_t shown = height > 0 ? (size_t)height : 1, last = count > 0 ? count - 1 : 0, step;
	const struct {
		enum action action;
		size_t step;
		bool down;
	} MOTIONS[] = {
		{ ACTION_DOWN, 1, true },
		{ ACTION_UP, 1, false },
		{ ACTION_HALF_DOWN, shown / 2 + 1, true },
		{ ACTION_HALF_UP, shown / 2 + 1, false },
		{ ACTION_PAGE_DOWN, shown, true },
		{ ACTION_PAGE_UP, shown, false },
		{ ACTION_LAST, count, true },
		{ ACTION_FIRST, count, false },
	};

	for (size_t i = 0; i < sizeof MOTIONS / sizeof *MOTIONS; i++) {
		if (MOTIONS[i].action != action)
			continue;
		step = MOTIONS[i].step;
		if (MOTIONS[i].down)
			l->cursor = last - l->cursor > step && l->cursor < last ? l->cursor + step
										: last;
		else
			l->cursor = l->cursor > step ? l->cursor - step : 0;
		l->follow = MOTIONS[i].down ? l->cursor == last : l->follow && l->cursor == last;
		list_settle(l, count, height);
		return true;
	}
	return false;
}
