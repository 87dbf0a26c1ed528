/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the program of a plan as a confined child of PID 1. */
#ifndef CORDON_ISOLATE_INIT_PROGRAM_H
#define CORDON_ISOLATE_INIT_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/error.h"
#include "isolate/wire/init_plan.h"
#include "isolate/wire/limits.h"

struct program_start {
	const struct plan *plan;
	int runner_fd; /* becomes descriptor 3 of the program, or -1 */
	/* the master side of its terminal, or -1: standard streams are 0, 1, 2 as they are */
	int terminal;
	/* to the supervisor: for the filter's listener, where LIMIT_EVENTS asks for one */
	int control;
	/* results */
	uint32_t layers;    /* LAYER_SECCOMP, LAYER_LANDLOCK_SCOPE: what the child applied */
	int exec_errno;     /* why execve failed, 0 when it did not */
	struct error error; /* what confinement failed, FAILURE_NONE when none did */
};

/*
 * Starts the program: new session, its terminal if any, working directory, limits, descriptors,
 * filter, execve(2). The caller is suspended until the program runs or failed to, so the results
 * are complete on return. Returns its process id, or -1 (then exec_errno or error says why).
 */
pid_t program_start(struct program_start *s);

/*
 * Opens a new pseudo-terminal of this mount namespace's /dev/pts with a window size. Returns the
 * master descriptor, or -1 with MOUNT_DENIED.
 */
int program_terminal(unsigned rows, unsigned columns, struct error *err);

/* The per-process limits of an execution: setrlimit(2). */

/*
 * Applies CPU, file size, processes, core and, if asked for, address space to the calling process.
 * own_processes is how many of the sandbox's processes are cordon's (PID 1): they are allowed on
 * top. Returns 0 or -1 with LIMIT_DENIED. Async-signal-safe when err is NULL.
 */
int rlimits_apply(const struct confine_limits *limits, unsigned own_processes, struct error *err);

/*
 * Applies the limit of open files. For after the filter's listener was sent: the kernel compares
 * what the user has in flight, in all sandboxes together, with this limit of the sender (unix(7)).
 * Returns as above.
 */
int rlimits_open_files(const struct confine_limits *limits, struct error *err);

#endif
