/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each takes argv with its own name first and returns the exit status. */
#ifndef CORDON_ISOLATE_COMMANDS_COMMANDS_H
#define CORDON_ISOLATE_COMMANDS_COMMANDS_H

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

int command_run(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_validate(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_console(int argc, char **argv);
int command_events(int argc, char **argv);
int command_tool(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* What each of our programs does first. */

struct command_entry {
	const char *name; /* NULL ends a table */
	int (*main)(int argc, char **argv);
};

/*
 * Puts right what a caller's odd state would spoil (standard descriptors that are closed, signals,
 * limits) and begins the trace under the name of the process. Returns 0, or -1 when there is no
 * /dev/null to open, or when the trace cannot be written, which it says.
 */
int start(const char *process);

/* The entry of a name, or NULL. */
const struct command_entry *start_find(const struct command_entry *table, const char *name);

/* Signals that the command line passes on to the program. */

/*
 * From here on TERM, INT, HUP, QUIT, USR1, USR2, CONT and WINCH are not acted on but put into a
 * pipe, a byte each. Returns its read end, -1 with errno. Once a process; the handlers stay.
 */
int signals_collect(void);

/*
 * What a program that was started with odd settings has to put right: SIGCHLD as by default,
 * nothing blocked that we forward, the soft file size limit at the hard one.
 */
void signals_reset(void);

/* Reading a program's text from a file or from standard input. */

#define INPUT_MOST (64u << 20)

/*
 * Appends what path holds ("-": standard input) to out, any bytes, at most 64 MiB. Returns 0, or -1
 * with PATH_MISSING or BAD_INPUT.
 */
int input_read(const char *path, struct buffer *out, struct error *err);

/*
 * Blanks lines of three backquotes at the start and end of a text, and takes out the blanks that
 * begin every line. Line numbers stay.
 */
void input_dedent(struct buffer *text);

#endif
