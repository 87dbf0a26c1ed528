/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value over time, from its beginning to now, in bounded room: when it is full, neighbours become
 * one (their maximum) and each place stands for twice the time.
 */
#ifndef CORDON_TUI_MODEL_SERIES_H
#define CORDON_TUI_MODEL_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "tui/draw/cells.h"

#define SERIES_MAX 256

struct series {
	double values[SERIES_MAX];
	size_t count, stride, gathered; /* stride 0 is 1 */
	double gathering, top;          /* top: the largest so far */
};

void series_add(struct series *s, double value);

/*
 * Draws it into a rectangle, its highest at `full` (or its own top when that is more): dots of
 * Braille, eight to a cell, or columns of signs where that cannot be shown. The newest is at the
 * right end once there are more values than room.
 */
void series_draw(const struct series *s, struct cells *c, int row, int column, int rows,
	int columns, double full);

#endif
