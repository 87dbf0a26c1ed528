/* SPDX-License-Identifier: Apache-2.0 */
/* What each of our programs does first. */
#ifndef CORDON_ISOLATE_COMMANDS_START_H
#define CORDON_ISOLATE_COMMANDS_START_H

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

#endif
