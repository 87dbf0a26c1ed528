/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors. See list.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/list.h"

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
	const struct { enum action action; size_t step; bool down; } MOTIONS[] = {
		{ ACTION_DOWN, 1, true }, { ACTION_UP, 1, false }, { ACTION_HALF_DOWN, shown / 2 + 1, true }, { ACTION_HALF_UP, shown / 2 + 1, false },
		{ ACTION_PAGE_DOWN, shown, true }, { ACTION_PAGE_UP, shown, false }, { ACTION_LAST, count, true }, { ACTION_FIRST, count, false },
	};

	for (size_t i = 0; i < sizeof MOTIONS / sizeof *MOTIONS; i++) {
		if (MOTIONS[i].action != action)
			continue;
		step = MOTIONS[i].step;
		if (MOTIONS[i].down)
			l->cursor = last - l->cursor > step && l->cursor < last ? l->cursor + step : last;
		else
			l->cursor = l->cursor > step ? l->cursor - step : 0;
		l->follow = MOTIONS[i].down ? l->cursor == last : l->follow && l->cursor == last;
		list_settle(l, count, height);
		return true;
	}
	return false;
}
