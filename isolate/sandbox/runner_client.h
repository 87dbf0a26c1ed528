/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor says to the runner, and what it makes of the answer. */
#ifndef CORDON_ISOLATE_SANDBOX_RUNNER_CLIENT_H
#define CORDON_ISOLATE_SANDBOX_RUNNER_CLIENT_H

#include "isolate/wire/record.h"
#include "isolate/sandbox/plan_build.h"

/*
 * Sends the spawn message and the request, which wait in their sockets until the interpreter is up.
 * standard are the program's streams. Returns our end of the execution's socket, or -1 with
 * RESOURCES_EXHAUSTED.
 */
int runner_client_begin(struct sandbox_plan *c, const int standard[3], struct error *err);

/*
 * Reads the reply's memory file, after everything that could write to it has ended, checks it, and
 * fills success, output, error and detail. refused is PID 1's word that validation refused the body
 * and that it never began: a reply that says otherwise is damaged. A reply that is missing or
 * malformed is a failure of the program: the record says so, and nothing is taken from it.
 */
void runner_client_end(int reply_fd, bool refused, struct record *record);

/*
 * The part of it that is pure: the bytes of a reply area, as the program left them, into a record.
 */
void runner_client_take(const void *bytes, size_t length, bool refused, struct record *record);

#endif
