/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal that takes nothing must not hold up the end.
 *
 * What ncurses sends is written until it is taken, and a terminal that nobody reads (a stalled connection, a stopped client) takes nothing for as long as it likes. So what sends stands between
 * begin and end. In between the signals that end the console come to a handler: it notes the first and gives the terminal a second. When that is over and the sending is not, the
 * terminal is put back as after a fault, what waits in it is dropped, and standard output becomes /dev/null, into which the rest of the sending goes.
 */
#ifndef CORDON_TUI_DRAW_SCREEN_STALL_H
#define CORDON_TUI_DRAW_SCREEN_STALL_H

#include <stdbool.h>

/* Makes ready for it, and undoes that. fd: the terminal whose mode was kept by screen_crash_prepare. */
void screen_stall_arm(int fd);
void screen_stall_disarm(void);

/* Around what sends. hurry: the second begins at once. */
void screen_stall_begin(bool hurry);
void screen_stall_end(void);

/* The signal that came in between, or 0; and whether the terminal was given up. */
int screen_stall_signal(void);
bool screen_stall_gave_up(void);

#endif
