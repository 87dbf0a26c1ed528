/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells. See cells.h.
 *
 * wcwidth(3) says how wide a character is in the locale at hand; what it has no width for becomes
 * "?". At most three combining characters stay with a base, so that a pile of them neither grows
 * over its neighbours nor costs time.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/cells.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "isolate/base/text.h"

#define TAB 8

bool cells_resize(struct cells *c, int rows, int columns)
{
	struct cell *at;

	rows = rows < 0 ? 0 : rows > CELLS_ROWS_MAX ? CELLS_ROWS_MAX : rows;
	columns = columns < 0 ? 0 : columns > CELLS_COLUMNS_MAX ? CELLS_COLUMNS_MAX : columns;
	at = calloc((size_t)rows * (size_t)columns + 1, sizeof *at);
	free(c->at);
	c->at = at;
	c->rows = at ? rows : 0;
	c->columns = at ? columns : 0;
	cells_clear(c);
	return at != NULL;
}

void cells_free(struct cells *c)
{
	free(c->at);
	*c = (struct cells)CELLS_INIT;
}

void cells_clear(struct cells *c)
{
	for (int i = 0; i < c->rows * c->columns; i++)
		c->at[i] = (struct cell){ { ' ', 0 }, STYLE_PLAIN };
}

/* A character as it may be shown, and its width: 0, 1 or 2. */
static int look(const char *text, size_t length, uint32_t *shown, size_t *step)
{
	int width;

	if ((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f) {
		*shown = (unsigned char)*text;
		*step = 1;
		return 1;
	}
	*step = text_decode((const unsigned char *)text, length, shown, NULL);
	if (*step == 0) {
		*step = 1;
		*shown = '?';
		return 1;
	}
	width = text_is_hidden(*shown) ? -1 : wcwidth((wchar_t)*shown);
	if (width < 0 || width > 2) {
		*shown = '?';
		width = 1;
	}
	return width;
}

static void join(struct cells *c, int row, int column, uint32_t mark)
{
	struct cell *cell;

	if (column < 0 || column >= c->columns)
		return;
	cell = &c->at[row * c->columns + column];
	if (cell->text[0] == 0 && column > 0)
		cell--;
	for (int i = 1; i <= CELLS_COMBINING; i++)
		if (cell->text[i] == 0) {
			cell->text[i] = mark;
			return;
		}
}

/* One cell; halves of wide characters that lose their other half become blanks. */
static void set(struct cells *c, int row, int column, uint32_t text, unsigned style)
{
	struct cell *line = &c->at[row * c->columns];

	if (text != 0 && line[column].text[0] == 0 && column > 0)
		line[column - 1] = (struct cell){ { ' ', 0 }, line[column - 1].style };
	if (column + 1 < c->columns && line[column + 1].text[0] == 0)
		line[column + 1] = (struct cell){ { ' ', 0 }, line[column + 1].style };
	line[column] = (struct cell){ { text, 0 }, (uint8_t)style };
}

int cells_put(struct cells *c, int row, int column, int width, unsigned style, const char *text,
	size_t length, int skip)
{
	int at = 0; /* column of the text; text column skip stands at column of the picture */

	if (row < 0 || row >= c->rows || column < 0 || column >= c->columns || width <= 0)
		return 0;
	width = width > c->columns - column ? c->columns - column : width;
	skip = skip < 0 ? 0 : skip;
	for (size_t i = 0, step; i < length; i += step) {
		uint32_t shown;
		int wide;

		if (text[i] == '\t') {
			step = 1;
			for (int stop = at + TAB - at % TAB; at < stop; at++)
				if (at >= skip && at - skip < width)
					set(c, row, column + at - skip, ' ', style);
			continue;
		}
		wide = look(text + i, length - i, &shown, &step);
		if (shown > 0x7e && !c->unicode)
			shown = '?';
		if (at - skip + wide > width)
			break;
		if (wide == 0 && at > skip && shown != '?')
			join(c, row, column + at - skip - 1, shown);
		if (wide > 0 && at >= skip) {
			set(c, row, column + at - skip, shown, style);
			if (wide == 2)
				set(c, row, column + at - skip + 1, shown == '?' ? ' ' : 0, style);
		} else if (wide == 2 && at + 1 == skip) {
			set(c, row, column, ' ', style);
		}
		at += wide;
	}
	at -= skip;
	return at < 0 ? 0 : at > width ? width : at;
}

int cells_text(struct cells *c, int row, int column, int width, unsigned style, const char *text)
{
	return cells_put(c, row, column, width, style, text, strlen(text), 0);
}

int cells_print(
	struct cells *c, int row, int column, int width, unsigned style, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return cells_text(c, row, column, width, style, text);
}

void cells_paint(struct cells *c, int row, int column, int width, unsigned style)
{
	if (row < 0 || row >= c->rows)
		return;
	for (int i = column < 0 ? 0 : column; i < c->columns && i < column + width; i++)
		c->at[row * c->columns + i].style = (uint8_t)style;
}

int cells_width(const char *text, size_t length)
{
	int at = 0;

	for (size_t i = 0, step; i < length && at < INT_MAX - TAB; i += step) {
		uint32_t shown;

		step = 1;
		at += text[i] == '\t' ? TAB - at % TAB : look(text + i, length - i, &shown, &step);
	}
	return at;
}

size_t cells_fit(const char *text, size_t length, int width)
{
	size_t i = 0, step;
	int at = 0;

	for (; i < length; i += step) {
		uint32_t shown;

		step = 1;
		at += text[i] == '\t' ? TAB - at % TAB : look(text + i, length - i, &shown, &step);
		if (at > width)
			break;
	}
	return i == 0 && length > 0 ? step : i;
}

size_t cells_break(const char *text, size_t length, int width)
{
	size_t most = cells_fit(text, length, width), at = most;

	if (most == length)
		return most;
	while (at > most / 2 && text[at - 1] != ' ')
		at--;
	return at > most / 2 ? at : most;
}

int cells_rows(const char *text, size_t length, int width)
{
	int rows = 0;

	for (size_t at = 0; at < length; rows++)
		at += cells_break(text + at, length - at, width);
	return rows ? rows : 1;
}

int cells_wrap(struct cells *c, int row, int rows, int column, int width, unsigned style,
	const char *text, size_t length)
{
	size_t at = 0;
	int used = 0;

	while (at < length && used < rows) {
		size_t piece = cells_break(text + at, length - at, width);

		cells_put(c, row + used++, column, width, style, text + at, piece, 0);
		at += piece;
	}
	if (at < length && used > 0)
		cells_text(c, row + used - 1, column + width - 2, 2, style, "..");
	return used;
}

const char *cells_middle(char *out, size_t size, const char *text, int width)
{
	size_t length = strlen(text), head, tail = 0, step;
	int whole = cells_width(text, length), at = 0, room = (width - 2) / 2;
	uint32_t shown;

	if (whole <= width || width < 4) {
		snprintf(out, size, "%.*s",
			(int)(whole <= width ? length : cells_fit(text, length, width)), text);
		return out;
	}
	head = cells_fit(text, length, width - 2 - room);
	/*
	 * The end begins with a character that has a cell of its own, not with a combining
	 * mark of one that was left out.
	 */
	for (; tail < length; tail += step) {
		int wide = look(text + tail, length - tail, &shown, &step);

		if (whole - at <= room && wide > 0)
			break;
		at += wide;
	}
	snprintf(out, size, "%.*s..%s", (int)head, text, text + tail);
	return out;
}

void cells_write(const struct cells *c, struct buffer *out)
{
	for (int row = 0; row < c->rows; row++) {
		size_t end = out->length;

		for (int column = 0; column < c->columns; column++) {
			const struct cell *cell = &c->at[row * c->columns + column];

			for (int i = 0; i <= CELLS_COMBINING && (i == 0 || cell->text[i]); i++) {
				char bytes[MB_LEN_MAX];
				mbstate_t state = { 0 };
				size_t length = cell->text[i]
					? wcrtomb(bytes, (wchar_t)cell->text[i], &state)
					: 0;

				if (length != (size_t)-1)
					buffer_add(out, bytes, length);
			}
			if (cell->text[0] != ' ')
				end = out->length;
		}
		if (!out->failed)
			out->length = end;
		buffer_add(out, "\n", 1);
	}
}
