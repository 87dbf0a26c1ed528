/* SPDX-License-Identifier: Apache-2.0 */
/* From options and a program to the plan of its sandbox, for both tiers. */
#ifndef CORDON_ISOLATE_SANDBOX_PLAN_BUILD_H
#define CORDON_ISOLATE_SANDBOX_PLAN_BUILD_H

#include <stdbool.h>

#include "isolate/base/message.h"
#include "isolate/options/options.h"
#include "isolate/wire/body_request.h"
#include "isolate/wire/execution_request.h"
#include "isolate/wire/init_plan.h"

struct sandbox_plan {
	int fds[MESSAGE_MAX_FDS]; /* plan first, then what goes with it */
	size_t fd_count;
	/* bodies only */
	int runner_socket; /* our end */
	struct runner_spawn spawn;
	int request_fds[MESSAGE_MAX_FDS];
	size_t request_fd_count;
	/* the configuration for the view's server, or -1: there is no view */
	int view_config;
	/*
	 * which of the options' ro each directory that can be written to is, in the order of their
	 * descriptors
	 */
	size_t scratch[PLAN_SCRATCH_MAX];
	size_t scratch_count;
	size_t view_index; /* where its mount goes among fds */
	/* tier subprocess: the directory made for this run; "" otherwise */
	char workspace[4096];
};

struct sandbox_request {
	const struct options *options;
	const struct program *program;
	unsigned flags; /* enum execute_flags */
	const struct isolation *isolation;
	bool events; /* are wanted */
	bool cgroup; /* a cgroup holds memory and processes */
	uid_t outside_uid;
	gid_t outside_gid;
	unsigned rows, columns;
};

/*
 * Fills out: opens every file that is to be copied in, finds the interpreter, makes the memory
 * files. Sets the limits' words and notes in record->confinement, and which trees are not logged in
 * record->view. Returns 0, or -1 with a failure; plan_build_free in any case.
 */
int plan_build(const struct sandbox_request *in, struct sandbox_plan *out, struct record *record,
	struct error *err);

/* Closes what is open, and removes the workspace directory of a tier without mounts. */
void plan_build_free(struct sandbox_plan *c);

/* What a program finds in its environment. */

/*
 * Adds the environment to a plan: PATH, HOME, LANG, TMPDIR, the kind of the terminal with --tty,
 * and what was named (--inherit-env, --env). Nothing else of the caller's. Returns 0, or -1 with
 * RESOURCES_EXHAUSTED.
 */
int environment_add(struct plan_builder *b, const struct options *o, const char *home,
	const char *temporary, struct error *err);

#endif
