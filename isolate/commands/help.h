/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The help texts, made from the tables.
 */
#ifndef CORDON_ISOLATE_COMMANDS_HELP_H
#define CORDON_ISOLATE_COMMANDS_HELP_H

#include "isolate/base/json_write.h"
#include "isolate/options/options.h"

/*
 * Append the help of one command, of cordon as a whole, or the version, to out. No line is longer
 * than 80 columns.
 */
void help_of_command(struct buffer *out, enum command_set command);
void help_overview(struct buffer *out);
void help_version(struct buffer *out);

/* The subcommands of a command that has some ("tool"). */
void help_subcommands(struct buffer *out, const char *name);

/*
 * `cordon help [COMMAND]`, with argv[0] = "help". Prints to standard output. Returns the exit
 * status: 0, 64 for a command that does not exist (said on standard error), 125 when the text could
 * not be written.
 */
int command_help(int argc, char **argv);

/*
 * Print to standard output, for `cordon COMMAND --help`, `cordon --help` and `cordon --version`.
 * Return 0, or 125 as above.
 */
int print_command_help(enum command_set command);
int print_subcommands(const char *name);
int print_overview(void);
int print_version(void);

/* What `cordon validate --list-rules` prints. */

/*
 * Appends the validator's rules: a text for a person or a model's prompt, or one JSON object. No
 * newline at its end.
 */
void list_rules(bool json, struct buffer *out);

#endif
