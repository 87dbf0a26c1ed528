/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor in rows that come and go. Pure numbers: what the rows are is the view's business. */
#ifndef CORDON_TUI_DRAW_LIST_H
#define CORDON_TUI_DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/draw/keys.h"

struct list {
	size_t cursor, top;
	bool follow; /* the cursor stays on the last row, whatever comes */
};

/* Brings cursor and top into `count` rows of which `height` are shown. */
void list_settle(struct list *l, size_t count, int height);

/* Moves as an action says. Returns false when the action is no motion. Whoever arrives at the last row follows; whoever leaves it does not. */
bool list_move(struct list *l, enum action action, size_t count, int height);

#endif
