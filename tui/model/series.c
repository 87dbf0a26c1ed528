/* SPDX-License-Identifier: Apache-2.0 */
/* Plots. See series.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/series.h"

void series_add(struct series *s, double value)
{
	size_t stride = s->stride ? s->stride : 1;

	s->top = value > s->top ? value : s->top;
	s->gathering = s->gathered == 0 || value > s->gathering ? value : s->gathering;
	if (++s->gathered < stride)
		return;
	if (s->count == SERIES_MAX) {
		for (size_t i = 0; i < SERIES_MAX / 2; i++)
			s->values[i] = s->values[2 * i] > s->values[2 * i + 1]
				? s->values[2 * i]
				: s->values[2 * i + 1];
		s->count = SERIES_MAX / 2;
		s->stride = stride * 2;
	}
	s->values[s->count++] = s->gathering;
	s->gathered = 0;
}

/*
 * The height of the value at one place of `places`, in steps of which `steps` are full; at least
 * one where there is anything.
 */
static int height(const struct series *s, size_t places, size_t place, int steps, double full)
{
	size_t shown = s->count < places ? s->count : places, index;
	int result;

	if (place >= shown)
		return 0;
	index = s->count - shown + place;
	result = (int)(s->values[index] / full * steps + 0.5);
	return result < 1 ? s->values[index] > 0 : result > steps ? steps : result;
}

static void draw_braille(const struct series *s, struct cells *c, int row, int column, int rows,
	int columns, double full)
{
	/* from the bottom */
	static const unsigned char LEFT[] = { 0x40, 0x04, 0x02, 0x01 },
				   RIGHT[] = { 0x80, 0x20, 0x10, 0x08 };

	for (int x = 0; x < columns; x++) {
		int left = height(s, (size_t)columns * 2, (size_t)x * 2, rows * 4, full),
		    right = height(s, (size_t)columns * 2, (size_t)x * 2 + 1, rows * 4, full);

		for (int y = 0; y < rows; y++) {
			int below = (rows - 1 - y) * 4;
			unsigned dots = 0;
			char text[4] = "";

			for (int i = 0; i < 4; i++)
				dots |= (left > below + i ? LEFT[i] : 0u) |
					(right > below + i ? RIGHT[i] : 0u);
			if (dots == 0)
				continue;
			text[0] = (char)0xe2;
			text[1] = (char)(0xa0 | dots >> 6);
			text[2] = (char)(0x80 | (dots & 0x3f));
			cells_text(c, row + y, column + x, 1, STYLE_PLOT, text);
		}
	}
}

static void draw_signs(const struct series *s, struct cells *c, int row, int column, int rows,
	int columns, double full)
{
	static const char *const SIGNS[] = { " ", ".", ":", "#" };

	for (int x = 0; x < columns; x++) {
		int top = height(s, (size_t)columns, (size_t)x, rows * 3, full);

		for (int y = 0; y < rows; y++) {
			int part = top - (rows - 1 - y) * 3;

			cells_text(c, row + y, column + x, 1, STYLE_PLOT,
				SIGNS[part < 0             ? 0
						: part > 3 ? 3
							   : part]);
		}
	}
}

void series_draw(const struct series *s, struct cells *c, int row, int column, int rows,
	int columns, double full)
{
	full = s->top > full ? s->top : full;
	if (full <= 0 || rows <= 0 || columns <= 0)
		return;
	if (c->unicode)
		draw_braille(s, c, row, column, rows, columns, full);
	else
		draw_signs(s, c, row, column, rows, columns, full);
}
