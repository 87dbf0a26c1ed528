/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal, while a program has one of its own (--tty). termios(3), pty(7). */
#ifndef CORDON_ISOLATE_SANDBOX_TERMINAL_H
#define CORDON_ISOLATE_SANDBOX_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	int fd;     /* the caller's terminal, or -1 */
	int master; /* the program's terminal, or -1 */
	bool raw;
	/* pipe to the process that restores the settings when we cannot, or -1 */
	int keeper;
	pid_t keeper_pid;
	struct termios before;
};

/* The window size of a terminal; 0 x 0 when it has none. */
void terminal_window(int fd, unsigned *rows, unsigned *columns);

/*
 * Puts the caller's terminal into raw mode, if this process is in its foreground. Does nothing when
 * fd is no terminal.
 */
void terminal_begin(struct terminal *t, int fd);

/* Gives the caller's terminal its settings back. Safe to call at any time, any number of times. */
void terminal_restore(struct terminal *t);

/* Passes the window size of the caller's terminal on to the program's. */
void terminal_resize(struct terminal *t);

#endif
