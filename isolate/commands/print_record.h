/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command says at its end: records and failures, to the right stream, with the right exit
 * status.
 */
#ifndef CORDON_ISOLATE_COMMANDS_PRINT_RECORD_H
#define CORDON_ISOLATE_COMMANDS_PRINT_RECORD_H

#include <stdbool.h>

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"
#include "isolate/wire/record.h"

enum exit_status {
	EXIT_OK = 0,
	EXIT_CODE_FAILED = 1,
	EXIT_REFUSED = 2,
	EXIT_USAGE = 64,
	EXIT_FAILED = 125
};

/*
 * Says a usage error on standard error, with the way to the help, and with json the object on
 * standard output. Returns EXIT_USAGE, or EXIT_FAILED when err is no usage error (as
 * answer_failure).
 */
int answer_usage(const char *command, const struct error *err, bool json);

/*
 * Says a failure of cordon: a sentence on standard error, and with json the object on standard
 * output. Returns EXIT_FAILED, or EXIT_USAGE when an option is what was wrong.
 */
int answer_failure(const char *command, const struct error *err, bool json);

/*
 * Writes text and a newline to standard output. Returns 0, or EXIT_FAILED when it could not be
 * written whole.
 */
int answer_line(const struct buffer *text);

/*
 * For a person, on standard error: why a result is no success, when its program could not say so
 * itself.
 */
void answer_outcome(const struct record *r);

/* A validation result for people. */

/*
 * Appends one line a violation, "line 3, column 5: message [rule]; rewrite", or one line that says
 * there is none, without a newline at the end. Everything that came from the code is made visible.
 */
void violations_describe(const struct record *r, struct buffer *out);

/* What was refused during a run, in two or three lines for a person. */

/*
 * Says on standard error how many files and system calls were refused, which most often, and what
 * would allow them. Prints nothing when nothing was refused, or when standard error is no terminal
 * and the run was not watched.
 */
void summary_print(const struct record *r, bool watched);

#endif
