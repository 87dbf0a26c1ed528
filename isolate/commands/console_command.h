/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the console. */
#ifndef CORDON_ISOLATE_COMMANDS_CONSOLE_COMMAND_H
#define CORDON_ISOLATE_COMMANDS_CONSOLE_COMMAND_H

#include "isolate/base/error.h"
#include "tui/tui.h"

/* The theme of a name; "" or NULL is the automatic one. Returns 0, or -1 with BAD_OPTION. */
int console_theme(const char *name, enum theme *theme, struct error *err);

#endif
