/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line at the bottom when it asks for something: a text, or yes or no.
 *
 * A question is safe against what was typed before it was there: keys that are already waiting are thrown away when it opens, keys that come within its pause are too (but for Esc), its answer
 * is no unless the yes that it names is typed, and every other key is a no.
 */
#ifndef CORDON_TUI_PROMPT_H
#define CORDON_TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/cells.h"

#define PROMPT_TEXT_MAX 400

struct console;

enum prompt_kind { PROMPT_NONE, PROMPT_TEXT, PROMPT_QUESTION };

/* A text was entered, or yes was said. */
typedef void prompt_done(struct console *c, const char *text);

/* The text changed. */
typedef void prompt_typed(struct console *c, const char *text);

struct prompt {
	enum prompt_kind kind;
	char label[300];               /* visible */
	char text[PROMPT_TEXT_MAX];
	size_t length;
	int64_t ready_at_ms;           /* keys before that do nothing */
	prompt_done *done;
	prompt_typed *typed;           /* or NULL */
	prompt_done *dropped;          /* or NULL: it was left with Esc, or answered with no */
};

/* Opens it. The label must be visible text; initial is what stands there to be changed. */
void prompt_ask(struct prompt *p, const char *label, const char *initial, prompt_done *done, prompt_typed *typed, prompt_done *dropped);

/* A question. pause_ms: how long keys are ignored. The caller throws away what the terminal holds. */
void prompt_question(struct prompt *p, const char *label, int64_t ready_at_ms, prompt_done *done, prompt_done *dropped);

/* Takes a key. */
void prompt_key(struct prompt *p, struct console *c, uint32_t key, int64_t now_ms);

/* Draws it; returns the column of the cursor. */
int prompt_draw(const struct prompt *p, struct cells *c, int row);

#endif
