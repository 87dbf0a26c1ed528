/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: with screen_crash.c, all that knows ncurses.
 *
 * From screen_open to screen_close the terminal is in raw mode on its alternate screen, and
 * standard error goes to a memory file, whose text is shown (made visible) after the end. Whatever
 * ends the process puts the terminal back: a return, a signal that the loop reads, or a crash,
 * whose handler only writes prepared bytes and sets the saved mode. SIGKILL alone leaves it as is.
 */
#ifndef CORDON_TUI_DRAW_SCREEN_H
#define CORDON_TUI_DRAW_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "tui/draw/cells.h"

enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_MONO };

/*
 * Whether there is a terminal to draw on: standard output is one, /dev/tty can be had for keys, and
 * TERM is not dumb.
 */
bool screen_is_possible(void);

/* Returns 0, or -1 with an error when the terminal's kind is not known. One at a time. */
int screen_open(enum theme theme, struct error *err);

/* hurry: a signal ends the console; do not wait for a terminal that takes no output. */
void screen_close(bool hurry);

/* What to poll(2) for keys. */
int screen_fd(void);

/*
 * The next key that was typed. Returns false when there is none; *gone is set when the terminal is.
 */
bool screen_key(uint32_t *key, bool *gone);

/* Discards typed keys that were not read. */
void screen_forget_keys(void);

/* The size as the terminal has it now; to be called after SIGWINCH and after a stop. */
void screen_measure(int *rows, int *columns);

/*
 * Shows a picture; sends only what differs from the one before. The cursor is put at a place, or
 * hidden (-1).
 */
void screen_show(const struct cells *c, int cursor_row, int cursor_column);

/*
 * Whether the terminal takes output: else the picture waits, but keys and the daemon are still
 * served.
 */
bool screen_takes(void);

/* Everything is sent again at the next screen_show. */
void screen_redraw(void);

void screen_theme(enum theme theme);
void screen_bell(void);

/*
 * Gives the terminal back, stops the process as ^Z does, and takes the terminal again when it goes
 * on.
 */
void screen_suspend(void);

#endif
