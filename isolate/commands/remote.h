/* SPDX-License-Identifier: Apache-2.0 */
/* run, exec and validate through the daemon (--daemon). */
#ifndef CORDON_ISOLATE_COMMANDS_REMOTE_H
#define CORDON_ISOLATE_COMMANDS_REMOTE_H

#include "isolate/json_write.h"
#include "isolate/options.h"
#include "isolate/tiers/tier.h"

/* Writes the member "environment" of a request: what the options look up in the caller's. Returns false when some of it is no UTF-8. */
bool remote_write_environment(struct json_writer *w, const struct options *o);

/*
 * Lets the daemon run a program, with the caller's streams, directory and variables, passes signals on, and answers as the command would have. Returns its exit status. One bit of
 * command_set; name is the command's, for messages.
 */
int remote_execute(const char *name, enum command_set set, const struct options *options, const struct program *program);

#endif
