/* SPDX-License-Identifier: Apache-2.0 */
/* run, exec and validate through the daemon (--daemon). */
#ifndef CORDON_ISOLATE_COMMANDS_REMOTE_H
#define CORDON_ISOLATE_COMMANDS_REMOTE_H

#include "isolate/options.h"
#include "isolate/tiers/tier.h"

/*
 * Lets the daemon run a program, with the caller's streams, directory and variables, passes signals on, and answers as the command would have. Returns its exit status. One bit of
 * command_set; name is the command's, for messages.
 */
int remote_execute(const char *name, enum command_set set, const struct options *options, const struct program *program);

#endif
