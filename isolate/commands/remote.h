/* SPDX-License-Identifier: Apache-2.0 */
/* run, exec and validate through the daemon (--daemon). */
#ifndef CORDON_ISOLATE_COMMANDS_REMOTE_H
#define CORDON_ISOLATE_COMMANDS_REMOTE_H

#include "isolate/base/json_slice.h"
#include "isolate/base/json_write.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

/* Writes the member "environment" of a request: what the options look up in the caller's. Returns false when some of it is no UTF-8. */
bool remote_write_environment(struct json_writer *w, const struct options *o);

/*
 * Lets the daemon run a program, with the caller's streams, directory and variables, passes signals on, and answers as the command would have. Returns its exit status. One bit of
 * command_set; name is the command's, for messages.
 */
int remote_execute(const char *name, enum command_set set, const struct options *options, const struct program *program);

/*
 * The request alone, a line of JSON-RPC without its id. streams: three descriptors will come with it; follow: its events are wanted. Returns 0, or -1 with BAD_INPUT or RESOURCES_EXHAUSTED.
 */
int remote_request(struct buffer *out, enum command_set set, const struct options *options, const struct program *program, bool streams, bool follow, struct error *err);

/*
 * Prints what the command prints, from the result of the answer, and gives the exit status; or reads the failure from its error. Either has no text. Returns 0, or -1 with the failure.
 */
int remote_answer(struct json_slice result, struct json_slice failure, enum command_set set, bool json, int *status, struct error *err);

#endif
