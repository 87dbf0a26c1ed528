/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: one execution from launch to record, in one epoll loop.
 *
 * Everything that comes from inside is bounded here: frames by their size, streams by the output
 * limit, time by a timer descriptor. The loop runs in the calling thread, takes no signal handler
 * and no global state, and waits on no process but its own.
 */
#ifndef CORDON_ISOLATE_SANDBOX_EXECUTION_H
#define CORDON_ISOLATE_SANDBOX_EXECUTION_H

#include <stdbool.h>

#include "isolate/wire/execution_request.h"

/* As struct tier's execute; isolation is borrowed. */
int execution_run(const struct isolation *isolation, const struct options *options,
	const struct program *program, const struct streams *streams, unsigned flags,
	struct record *record, struct error *err);

/* As struct tier's probe: runs /bin/true and nothing less. */
int execution_probe(const struct isolation *isolation, struct error *err);

#endif
