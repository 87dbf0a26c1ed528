/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of character cells: what a view draws into, before any terminal comes into it.
 *
 * This is the last place through which text goes on its way to a screen, so it lets through what
 * has a width and nothing else: bytes that act on a terminal cannot be in a cell. (They were made
 * visible by isolate/base/text.h before; here they would become "?".) Text is placed by columns and
 * never by bytes: wide characters take two cells, combining ones join the cell before them, and
 * everything is cut at the edges, whatever numbers a caller gives.
 */
#ifndef CORDON_TUI_DRAW_CELLS_H
#define CORDON_TUI_DRAW_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_write.h"

#define CELLS_COMBINING 3
#define CELLS_COLUMNS_MAX 500
#define CELLS_ROWS_MAX 200

enum style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_HEAD,
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_DENY,
	STYLE_FAINT,
	STYLE_KEY,
	STYLE_FOUND,
	STYLE_PLOT,
	STYLE_COUNT
};
#define STYLE_SELECTED 0x40 /* added to a style */
#define STYLE_MARKED 0x80

struct cell {
	/* code points, the rest 0; text[0] 0: the right half of a wide character */
	uint32_t text[1 + CELLS_COMBINING];
	uint8_t style;
};

struct cells {
	struct cell *at; /* rows * columns, owned */
	int rows, columns;
	bool unicode; /* the terminal shows more than ASCII */
};

#define CELLS_INIT \
	{ \
		NULL, 0, 0, true \
	}

/*
 * Sets the size (clamped to the largest) and clears everything. Returns false without memory; the
 * picture is then empty.
 */
bool cells_resize(struct cells *c, int rows, int columns);
void cells_free(struct cells *c);
void cells_clear(struct cells *c);

/*
 * Puts text, cut to `width` columns, after leaving out its first `skip` columns. Tabs go to the
 * next multiple of eight. Returns how many columns it took (at most width). What is left of the
 * width stays as it was. Rows and columns outside are ignored.
 */
int cells_put(struct cells *c, int row, int column, int width, unsigned style, const char *text,
	size_t length, int skip);

/* The same for text that ends in NUL, without skipping. */
int cells_text(struct cells *c, int row, int column, int width, unsigned style, const char *text);

/* The same for a format. */
int cells_print(struct cells *c, int row, int column, int width, unsigned style, const char *format,
	...) __attribute__((format(printf, 6, 7)));

/* Gives a stretch of a row one style; the text stays. */
void cells_paint(struct cells *c, int row, int column, int width, unsigned style);

/* The columns that text takes. */
int cells_width(const char *text, size_t length);

/*
 * How many bytes of text fit into `width` columns (at least one character when there is any): where
 * a line is to be broken.
 */
size_t cells_fit(const char *text, size_t length, int width);

/*
 * The same at the end of a word, where the words are not too long for that.
 */
size_t cells_break(const char *text, size_t length, int width);

/* The rows that text takes when it is broken so. At least 1. */
int cells_rows(const char *text, size_t length, int width);

/*
 * Puts text broken so, from `row` on, into at most `rows` rows; where it does not end in them the
 * last one ends with "..". Returns how many it took.
 */
int cells_wrap(struct cells *c, int row, int rows, int column, int width, unsigned style,
	const char *text, size_t length);

/*
 * Text in at most `width` columns: longer text is cut in its middle, so that texts with the same
 * beginning or the same end still differ. Returns out, which should have room for
 * all of it and two bytes more.
 */
const char *cells_middle(char *out, size_t size, const char *text, int width);

/* Appends the picture as lines of UTF-8, without the blanks at their ends. */
void cells_write(const struct cells *c, struct buffer *out);

#endif
