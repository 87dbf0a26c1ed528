/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the root directory of a sandbox from a plan and makes it the only one. */
#ifndef CORDON_ISOLATE_INIT_ROOT_H
#define CORDON_ISOLATE_INIT_ROOT_H

#include <stdint.h>

#include "isolate/wire/init_plan.h"

/* What the supervisor gets besides the workspace. */
struct root_output {
	/*
	 * for each tree that can be written to, in the plan's order: the directory that receives
	 * it; -1 beyond
	 */
	int scratch[PLAN_SCRATCH_MAX];
	size_t scratch_count;
};

/*
 * In fresh user, mount and process namespaces: takes the plan's ids, clones what it names, builds
 * the root on a small tmpfs, pivots into it, lets go of the old one and makes the new one read-only
 * (workspace, /tmp and /dev/shm stay writable). The order matters: sources are opened as the
 * caller, which may read them, and only then the inside ids are taken. fds are those that came with
 * the plan; that of the view is closed. *layers gains LAYER_OWN_ROOT. Returns a descriptor of the
 * workspace, or -1.
 */
int root_build(const struct plan *p, const int *fds, struct root_output *out, uint32_t *layers,
	struct error *err);

#endif
