/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup (version 2) for one execution, where the caller has been delegated a place to make one:
 * cgroups(7), Documentation/admin-guide/cgroup-v2.rst.
 *
 * Everything works on descriptors of the directory. Without a place nothing is made and nothing
 * fails: PID 1 then watches the memory.
 */
#ifndef CORDON_ISOLATE_SANDBOX_CGROUP_H
#define CORDON_ISOLATE_SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/error.h"

struct cgroup {
	int parent, directory; /* -1: there is none */
	int janitor;           /* lifeline of the process that removes the cgroup when we cannot */
	char name[64];
};

#define CGROUP_INIT \
	{ \
		-1, -1, -1, "" \
	}

/*
 * Makes a cgroup below the caller's own, so that the limits of the unit or container around the
 * caller hold on. Where the caller is alone in its cgroup it moves to a leaf of it first, since
 * none may have processes and children ("no internal processes", cgroups(7)). $CORDON_CGROUP names
 * another directory to make it in. memory_bytes (with no swap) and processes are its limits.
 */
void cgroup_make(struct cgroup *g, const char *id, int64_t memory_bytes, int64_t processes);

/*
 * Moves the caller, a daemon that is still alone in its cgroup, to the leaf; nothing where that is
 * not to be had.
 */
void cgroup_make_room(void);

/* Why no cgroup can be made here, for doctor: one sentence, or NULL when one can. Static string. */
const char *cgroup_obstacle(void);

/* Moves a process into it. Returns 0 or -1 with LIMIT_DENIED. */
int cgroup_enter(struct cgroup *g, pid_t pid, struct error *err);

/* Kills everything in it. */
void cgroup_kill(struct cgroup *g);

struct cgroup_sums {
	uint64_t user_us, system_us, peak_memory_bytes;
	uint32_t peak_processes;
	bool out_of_memory; /* something was killed for memory */
};

/*
 * What the kernel counted for it so far; all zero when there is no cgroup, and what this kernel
 * does not count.
 */
void cgroup_account(struct cgroup *g, struct cgroup_sums *sums);

/* Removes it, waiting up to a second for its last process to be gone. */
void cgroup_remove(struct cgroup *g);

#endif
