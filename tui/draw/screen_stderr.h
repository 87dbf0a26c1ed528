/* SPDX-License-Identifier: Apache-2.0 */
/* Standard error while the screen is up. */
#ifndef CORDON_TUI_DRAW_SCREEN_STDERR_H
#define CORDON_TUI_DRAW_SCREEN_STDERR_H

/* What is written to standard error from here on is kept in memory. */
void screen_stderr_keep(void);

/* Standard error is what it was; what was kept is written there, made visible, its last 64 KiB. */
void screen_stderr_release(void);

#endif
