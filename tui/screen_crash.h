/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the terminal back when the program dies of a fault. */
#ifndef CORDON_TUI_SCREEN_CRASH_H
#define CORDON_TUI_SCREEN_CRASH_H

/* Keeps the terminal's mode as it is now: to be called before anything changes it. */
void screen_crash_prepare(int fd);

/* From here on a fault restores it. To be called after the terminal's description was read. */
void screen_crash_arm(void);
void screen_crash_disarm(void);

#endif
