/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused during a run, in two or three lines for a person. */
#ifndef CORDON_ISOLATE_COMMANDS_SUMMARY_H
#define CORDON_ISOLATE_COMMANDS_SUMMARY_H

#include "isolate/wire/record.h"

/*
 * Says on standard error how many files and system calls were refused, which most often, and what would allow them. Nothing when nothing was, or when nobody is there to read it: standard
 * error is no terminal and the run was not watched.
 */
void summary_print(const struct result *r, bool watched);

#endif
