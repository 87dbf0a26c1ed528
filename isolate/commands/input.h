/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a program's text from a file or from standard input. */
#ifndef CORDON_ISOLATE_COMMANDS_INPUT_H
#define CORDON_ISOLATE_COMMANDS_INPUT_H

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

#define INPUT_MOST (64u << 20)

/* Appends what path holds ("-": standard input) to out, any bytes, at most 64 MiB. Returns 0, or -1 with PATH_MISSING or BAD_INPUT. */
int input_read(const char *path, struct buffer *out, struct error *err);

/* Blanks lines of three backquotes at the start and end of a text, and takes out the blanks that begin every line. Line numbers stay. */
void input_dedent(struct buffer *text);

#endif
