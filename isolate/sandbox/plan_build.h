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

/* ---- the parts of plan_build() ---- */

/*
 * Fills the limits, the record's words for what enforces each, and its notes of what the tier does
 * not stop. In limits_from_options.c.
 */
void limits_from_options(
	const struct sandbox_request *in, struct confine_limits *l, struct confinement *c);

/*
 * Bytes that a sandbox may have in memory in all: what its processes hold, which PID 1 keeps to
 * --memory, and the files that can be written, which are beside it. A cgroup counts both.
 */
int64_t limits_most_memory(const struct options *o);

/*
 * Adds what of the host's files the program is shown: the system runtime, public configuration, the
 * made-up files of /etc, and what --ro, --scratch and --host-socket named. A body is shown less.
 * With the host's network its names and resolvers are the host's. Returns 0, or -1 with BAD_OPTION.
 * In host_files.c.
 */
int host_files_add(const struct sandbox_request *in, struct plan_builder *b,
	struct runner_spawn *spawn, struct error *err);

/* The flags of a bind that is the system's or the interpreter's and was not named. */
unsigned runtime_flags(const struct options *o);

/*
 * Adds a tree of the host's at a place inside (flags: PLAN_BIND_...). Where an execution's fresh
 * directory (/tmp, /workspace, /dev/shm) would hide it, the spawn message asks the runner to carry
 * it over. Returns 0, or -1 with BAD_OPTION when there are too many of those.
 */
int host_files_add_tree(struct plan_builder *b, const char *source, const char *target,
	unsigned flags, struct runner_spawn *spawn, struct error *err);

/* Refuses options of the view that the tier or the mode cannot keep. 0, or -1 with BAD_OPTION. */
int plan_view_check(const struct sandbox_request *in, struct error *err);

/*
 * To be called when every bind is in the plan; those that were named carry PLAN_BIND_VIEW. Puts the
 * binds in an order in which none covers another, numbers those that go through the view, and makes
 * the server's configuration, out->view_config, and the room for the mount, out->view_index, where
 * there are any. Says in c and summary what came of it. 0 or -1. In plan_view.c.
 */
int plan_view(const struct sandbox_request *in, struct plan_builder *b, struct sandbox_plan *out,
	struct confinement *c, struct view_summary *summary, struct error *err);

#endif
