/* SPDX-License-Identifier: Apache-2.0 */
/* A validation result for people. */
#ifndef CORDON_ISOLATE_COMMANDS_PRINT_VIOLATIONS_H
#define CORDON_ISOLATE_COMMANDS_PRINT_VIOLATIONS_H

#include "isolate/wire/record.h"

/*
 * Appends one line a violation, "line 3, column 5: message [rule]; rewrite", or one line that says there is none, without a newline at the end. Everything
 * that came from the code is made visible.
 */
void violations_describe(const struct result *r, struct buffer *out);

#endif
