/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From options to limits: what the program may use, which filter holds it, and what the record says
 * of both.
 */
#ifndef CORDON_ISOLATE_SANDBOX_LIMITS_FROM_OPTIONS_H
#define CORDON_ISOLATE_SANDBOX_LIMITS_FROM_OPTIONS_H

#include "isolate/wire/limits.h"
#include "isolate/sandbox/plan_build.h"

/* Fills the limits, and the record's words for what enforces each. */
void limits_from_options(
	const struct sandbox_request *in, struct confine_limits *l, struct confinement *c);

/*
 * Bytes that a sandbox may have in memory in all: what its processes hold, which PID 1 keeps to
 * --memory, and the files that can be written, which are beside it. A cgroup counts both.
 */
int64_t limits_most_memory(const struct options *o);

/* Notes for the record what this tier, with these options, does not stop. */
void limits_notes(const struct sandbox_request *in, struct confinement *c);

#endif
