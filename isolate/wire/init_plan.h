/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: everything that cordon-init is to do, in one sealed memory file. A request to the runner
 * is one too, with the body's parts as its files.
 *
 * The supervisor builds it (plan_* functions with a struct plan_builder), cordon-init maps it
 * read-only (plan_open). It has one header, tables of fixed-size rows, and the texts they point at.
 * Secrets (environment values, arguments) thus never stand in a command line, and the reader checks
 * every offset once. Both sides are built from the same source; `version` guards against a stray
 * binary.
 */
#ifndef CORDON_ISOLATE_WIRE_INIT_PLAN_H
#define CORDON_ISOLATE_WIRE_INIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/wire/limits.h"
#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

struct plan_text {
	uint32_t offset, length;
}; /* NUL-terminated; length without the NUL */
struct plan_table {
	uint32_t offset, count;
};

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
	struct plan_text source, target;
	uint32_t flags, view;
};

/* A file to make in the root, read-only to the program. */
struct plan_file {
	struct plan_text path, content;
};

/* A descriptor that came with the plan, to be copied into the workspace under a name. */
struct plan_copy {
	struct plan_text name;
	uint32_t fd_index, mode;
};

struct plan {
	uint32_t magic, version;
	uint32_t size;       /* of the whole */
	uint32_t root_bytes; /* size of the root tmpfs */
	struct confine_limits limits;
	uint32_t inside_uid, inside_gid; /* what to become */
	/* path to execute, looked up on the environment's PATH when it has no slash */
	struct plan_text command;
	struct plan_text directory; /* working directory */
	/* the directory to take where that one cannot be entered; empty: it must */
	struct plan_text otherwise;
	/* tier subprocess: the directory of the host's that init makes for the run */
	struct plan_text workspace;
	struct plan_table argv, env; /* rows: struct plan_text */
	struct plan_table binds, files, copies;
	int32_t view_fd_index; /* descriptor of the view's detached mount, or -1 */
	/* descriptor that the program keeps as number 3 (the runner's socket), or -1 */
	int32_t runner_fd_index;
	uint16_t rows, columns; /* of the terminal, when limits ask for one */
	uint64_t output_limit;  /* runner requests: most bytes of the value returned */
	/* runner requests: enum request_flags of wire/body_request.h */
	uint32_t body_flags, reserved;
};

struct plan_builder {
	struct buffer bytes; /* texts */
	struct buffer argv, env, binds, files, copies;
	struct plan head;
};

/* Starts a plan; limits and ids are set in b->head by the caller. */
void plan_begin(struct plan_builder *b);
void plan_abandon(struct plan_builder *b);
struct plan_text plan_add_text(struct plan_builder *b, const void *text, size_t length);
void plan_add_argument(struct plan_builder *b, const char *argument);
void plan_add_environment(struct plan_builder *b, const char *assignment);
void plan_add_bind(struct plan_builder *b, const char *source, const char *target, unsigned flags);
void plan_add_file(struct plan_builder *b, const char *path, const void *content, size_t length);
void plan_add_copy(struct plan_builder *b, const char *name, unsigned fd_index, unsigned mode);

/*
 * Writes the plan to a sealed memfd and frees the builder. Returns the descriptor, or -1 with
 * RESOURCES_EXHAUSTED or BAD_INPUT (over 2 GiB).
 */
int plan_finish(struct plan_builder *b, struct error *err);

/* Maps and checks a plan. Returns NULL with INTERNAL. The mapping lives as long as the process. */
const struct plan *plan_open(int fd, struct error *err);

/* The text at a span of a checked plan. */
const char *plan_string(const struct plan *p, struct plan_text text);
/* Row i of a table of texts. */
const char *plan_row_text(const struct plan *p, struct plan_table table, uint32_t i);
const struct plan_bind *plan_binds(const struct plan *p);
const struct plan_file *plan_files(const struct plan *p);
const struct plan_copy *plan_copies(const struct plan *p);

#endif
