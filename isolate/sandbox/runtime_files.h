/* SPDX-License-Identifier: Apache-2.0 */
/* What of the host's files a program is shown: the system runtime, and what was named. */
#ifndef CORDON_ISOLATE_SANDBOX_RUNTIME_FILES_H
#define CORDON_ISOLATE_SANDBOX_RUNTIME_FILES_H

#include "isolate/wire/init_plan.h"
#include "isolate/options/options.h"
#include "isolate/wire/body_request.h"

/*
 * Adds the system runtime, public configuration and the made-up files of /etc to a plan; a body is
 * shown less. limits: ids and memory of the program. With the host's network its names and
 * resolvers are the host's.
 */
void runtime_add(struct plan_builder *b, const struct options *o,
	const struct confine_limits *limits, bool is_body);

/* The flags of a bind that is the system's or the interpreter's and was not named. */
unsigned runtime_flags(const struct options *o);

/*
 * Adds a tree of the host's at a place inside (flags: PLAN_BIND_...). Where an execution's fresh
 * directory (/tmp, /workspace, /dev/shm) would hide it, the spawn message asks the runner to carry
 * it over. Returns 0, or -1 with BAD_OPTION when there are too many of those.
 */
int runtime_add_tree(struct plan_builder *b, const char *source, const char *target, unsigned flags,
	struct runner_spawn *spawn, struct error *err);

/* Adds what --ro named. 0 or -1 as above. */
int runtime_add_named(struct plan_builder *b, const struct options *o, struct runner_spawn *spawn,
	struct error *err);

#endif
