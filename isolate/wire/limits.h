/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an execution may use, and what holds it: the values that travel from the supervisor to the
 * process that applies them.
 *
 * Plain fixed-size data, the same in a plan (cordon-init) and in a spawn message (the runner).
 */
#ifndef CORDON_ISOLATE_WIRE_LIMITS_H
#define CORDON_ISOLATE_WIRE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

enum layer_index {
#define LAYER(id, name, is_namespace) LAYER_INDEX_##id,
#include "isolate/wire/layers.def"
#undef LAYER
	LAYER_COUNT
};

enum layer {
#define LAYER(id, name, is_namespace) LAYER_##id = 1 << LAYER_INDEX_##id,
#include "isolate/wire/layers.def"
#undef LAYER
};

enum seccomp_profile {
	PROFILE_NONE, /* the runner's fork server, which must make namespaces for its children */
#define PROFILE(id, name, groups, internet, why) PROFILE_##id,
#include "isolate/wire/seccomp_profiles.def"
#undef PROFILE
	PROFILE_COUNT
};

enum limit_flags {
	LIMIT_NAMESPACES = 1,   /* fresh namespaces and, mounted in them, an own root */
	LIMIT_HOST_NETWORK = 2, /* the network namespace is the host's */
	/* RLIMIT_AS too, memory bytes above what the process holds when it is set */
	LIMIT_ADDRESS_SPACE = 8,
	LIMIT_WAIT_ALL = 16,  /* ends with the last process, not with the first */
	LIMIT_TERMINAL = 32,  /* the program gets a pseudo-terminal */
	LIMIT_PROCESSES = 64, /* RLIMIT_NPROC counts this sandbox alone, so it can be set */
	/*
	 * events are wanted: processes, programs and addresses are notified and reported, usage too
	 */
	LIMIT_EVENTS = 128,
	LIMIT_COUNT_REFUSALS = 256 /* refused calls are notified, to be counted */
};

struct confine_limits {
	uint64_t memory_bytes;    /* 0 = none */
	uint64_t fsize_bytes;     /* largest file */
	uint64_t workspace_bytes; /* all that can be written outside a --scratch, together */
	uint64_t workspace_inodes;
	uint32_t processes;
	uint32_t open_files;
	uint32_t cpu_seconds; /* 0 = none */
	uint32_t flags;       /* enum limit_flags */
	uint32_t profile;     /* enum seccomp_profile */
	uint32_t uid, gid;    /* the program's own, as it sees them */
	uint32_t reserved;
};

/* Whether the network namespace is the sandbox's alone: then nothing outside has a route. */
static inline bool limits_own_network(const struct confine_limits *l)
{
	return (l->flags & LIMIT_NAMESPACES) && !(l->flags & LIMIT_HOST_NETWORK);
}

#endif
