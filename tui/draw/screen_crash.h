/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the terminal back when the program dies of a fault. */
#ifndef CORDON_TUI_DRAW_SCREEN_CRASH_H
#define CORDON_TUI_DRAW_SCREEN_CRASH_H

/* Keeps the terminal's mode as it is now: to be called before anything changes it. */
void screen_crash_prepare(int fd);

/* From here on a fault restores it. To be called after the terminal's description was read. */
void screen_crash_arm(void);
void screen_crash_disarm(void);

/*
 * Restores the terminal, as the handler does. Async-signal-safe; a terminal that takes no output
 * gets its mode back all the same.
 */
void screen_crash_put_back(void);

#endif
