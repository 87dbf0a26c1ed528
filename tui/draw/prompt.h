/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines at the bottom when something is asked for: a text, or yes or no.
 *
 * A label is shown whole, over as many rows as it takes: what is decided on is never off the
 * screen. Where it has no room no key answers it, but for those that leave. A question is safe
 * against what was typed before it was there: keys that are already waiting are thrown away when it
 * opens, keys that come within its pause are too (but for Esc), its answer is no unless the yes
 * that it names is typed, and every other key is a no.
 */
#ifndef CORDON_TUI_DRAW_PROMPT_H
#define CORDON_TUI_DRAW_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/draw/cells.h"

#define PROMPT_TEXT_MAX 400
#define PROMPT_LABEL_MAX 4096

struct console;

enum prompt_kind { PROMPT_NONE, PROMPT_TEXT, PROMPT_QUESTION };

/* A text was entered, or yes was said. */
typedef void prompt_done(struct console *c, const char *text);

/* The text changed. */
typedef void prompt_typed(struct console *c, const char *text);

struct prompt {
	enum prompt_kind kind;
	char label[PROMPT_LABEL_MAX]; /* visible */
	char text[PROMPT_TEXT_MAX];
	size_t length;
	int64_t ready_at_ms; /* keys before that do nothing */
	prompt_done *done;
	prompt_typed *typed;  /* or NULL */
	prompt_done *dropped; /* or NULL: it was left with Esc, or answered with no */
};

/* Opens it. The label must be visible text; initial is the text to be edited. */
void prompt_ask(struct prompt *p, const char *label, const char *initial, prompt_done *done,
	prompt_typed *typed, prompt_done *dropped);

/*
 * A question. pause_ms: how long keys are ignored. The caller discards keys typed before.
 */
void prompt_question(struct prompt *p, const char *label, int64_t ready_at_ms, prompt_done *done,
	prompt_done *dropped);

/* Takes a key. */
void prompt_key(struct prompt *p, struct console *c, uint32_t key, int64_t now_ms);

/* The rows that it takes on a screen of so many columns. */
int prompt_rows(const struct prompt *p, int columns);

/* Whether the label, and the end of the typed text, fit into so many rows. */
bool prompt_fits(const struct prompt *p, int rows, int columns);

/*
 * Draws it into so many rows from `row` on, and says where the cursor belongs. Of a text that is
 * too long for them its end is shown.
 */
void prompt_draw(const struct prompt *p, struct cells *c, int row, int rows, int *cursor_row,
	int *cursor_column);

#endif
