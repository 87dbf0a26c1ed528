/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: everything that cordon-init is to do, as one packed struct (packed.h). The supervisor
 * writes it with a struct plan_builder, cordon-init reads it with plan_open().
 */
#ifndef CORDON_ISOLATE_WIRE_INIT_PLAN_H
#define CORDON_ISOLATE_WIRE_INIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/wire/limits.h"
#include "isolate/wire/packed.h"

enum plan_bind_flags {
	PLAN_BIND_OPTIONAL = 1,
	PLAN_BIND_LIKE_HOST = 2,
	PLAN_BIND_VIEW = 4,
	PLAN_BIND_SCRATCH = 8,
	PLAN_BIND_RUNTIME = 16,
	PLAN_BIND_SOCKET = 32
};

/* The most trees that can be written to. */
#define PLAN_SCRATCH_MAX 8

/*
 * A host path to show read-only. LIKE_HOST: where the host has a symbolic link, the same link is
 * made instead (merged /usr). VIEW: it is taken out of the view, where its number is `view`.
 * SCRATCH: with an overlay over it. RUNTIME: the system's or the interpreter's, not named by the
 * caller.
 */
struct plan_bind {
	struct packed_text source, target;
	uint32_t flags, view;
};

/* A file to make in the root, read-only to the program. */
struct plan_file {
	struct packed_text path, content;
};

/* A descriptor that came with the plan, to be copied into the workspace under a name. */
struct plan_copy {
	struct packed_text name;
	uint32_t fd_index, mode;
};

struct plan {
	struct packed_head head;
	struct confine_limits limits;
	uint32_t inside_uid, inside_gid; /* what to become */
	/* path to execute, looked up on the environment's PATH when it has no slash */
	struct packed_text command;
	struct packed_text directory; /* working directory */
	/* the directory to take where that one cannot be entered; empty: it must */
	struct packed_text otherwise;
	/* tier subprocess: the directory of the host's that init makes for the run */
	struct packed_text workspace;
	struct packed_table argv, env; /* rows: struct packed_text */
	struct packed_table binds, files, copies;
	int32_t view_fd_index; /* descriptor of the view's detached mount, or -1 */
	/* descriptor that the program keeps as number 3 (the runner's socket), or -1 */
	int32_t runner_fd_index;
	uint32_t root_bytes;    /* size of the root tmpfs */
	uint16_t rows, columns; /* of the terminal, when limits ask for one */
};

struct plan_builder {
	struct packer packer;
	struct plan plan; /* all but its tables is the caller's to set */
};

/* Starts a plan without texts, rows or descriptors. */
void plan_begin(struct plan_builder *b);
void plan_add_argument(struct plan_builder *b, const char *argument);
void plan_add_environment(struct plan_builder *b, const char *assignment);
void plan_add_bind(struct plan_builder *b, const char *source, const char *target, unsigned flags);
void plan_add_file(struct plan_builder *b, const char *path, const void *content, size_t length);
void plan_add_copy(struct plan_builder *b, const char *name, unsigned fd_index, unsigned mode);

/* Whether a bind or text is missing, for want of memory: then plan_finish() fails. */
bool plan_has_failed(const struct plan_builder *b);

/* The binds so far, to be changed in place; *count says how many. Their texts: plan_text_of(). */
struct plan_bind *plan_binds_of(const struct plan_builder *b, size_t *count);
const char *plan_text_of(const struct plan_builder *b, struct packed_text text);

/* Writes the plan and frees the builder: packer_finish(). */
int plan_finish(struct plan_builder *b, struct error *err);

/* Maps and checks a plan: packed_open(). */
const struct plan *plan_open(int fd, struct error *err);

#endif
