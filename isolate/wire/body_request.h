/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor and the runner send each other.
 *
 * Supervisor to fork server: spawn messages (descriptors: the execution's socket, stdin, stdout,
 * stderr). On the execution's socket: one body request (descriptors: its packed file, then the
 * files to copy in), and back reports as from cordon-init, the last of them with the reply's memory
 * file. Parsers are pure and take every byte for hostile.
 */
#ifndef CORDON_ISOLATE_WIRE_BODY_REQUEST_H
#define CORDON_ISOLATE_WIRE_BODY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/wire/limits.h"

struct span {
	const char *bytes;
	size_t length;
};

#define RUNNER_SPAWN_MAGIC 0x4352534eu
#define RUNNER_SPAWN_FDS 4

/*
 * Mount points below the private directories (/tmp, ...) that must be carried over the fresh ones:
 * NUL-terminated paths, one after the other.
 */
struct runner_spawn {
	uint32_t magic;
	uint32_t targets_length;
	struct confine_limits limits;
	char targets[4000];
};

/* Checks a spawn message. */
bool runner_spawn_parse(const void *bytes, size_t length, struct runner_spawn *out);

/* One body, and what it may use. */
struct body_request {
	struct span source;      /* the body's text, any bytes */
	struct span args;        /* JSON object text, already through the gate; empty = {} */
	struct span return_expr; /* expression to return, or empty */
	struct span allow;       /* comma-separated imports */
	struct span permit;      /* comma-separated names whose rule is lifted */
	struct span copies;      /* names of the files to copy in, each with its NUL */
	uint64_t output_limit;   /* most bytes of JSON output */
	bool validate_only;
	bool skip_validation; /* by tests only, to show that the kernel layers hold by themselves */
};

/* Writes a request to a sealed memory file. Returns its descriptor, or -1 as packer_finish(). */
int body_request_write(const struct body_request *request, struct error *err);

/*
 * Maps and checks a request; its spans lie in the mapping, which lives as long as the process.
 * Returns 0, or -1 as packed_open().
 */
int body_request_open(int fd, struct body_request *out, struct error *err);

enum body_verdict {
	BODY_NO_VERDICT = 0, /* the process ended before it left one */
	BODY_SUCCEEDED,
	BODY_FAILED, /* the code raised, or its value is not JSON */
	BODY_REFUSED /* validation */
};

/*
 *  BODY_OUTPUT  JSON text of the value returned (BODY_SUCCEEDED only)
 *  BODY_ERROR   one line "Type: message" (UTF-8; any code point)
 *  BODY_DETAIL  of a success {} when the body only defines functions; else JSON object: stage,
 *               type, message, line, column, traceback, and for validation `violations`
 */
enum body_field { BODY_OUTPUT, BODY_ERROR, BODY_DETAIL, BODY_FIELDS };

/*
 * The reply's shared memory. The writer fills fields from `data` upwards and sets verdict last,
 * with a release store; the reader copies header and fields out once, checks every offset against
 * `size`, and never looks again.
 */
struct body_reply {
	uint32_t verdict; /* enum body_verdict */
	uint32_t reserved;
	/* bytes in data[]; set by the creator, never trusted by the reader */
	uint64_t size;
	struct {
		uint64_t offset, length;
	} field[BODY_FIELDS];
	char data[];
};

/* A reply, checked: spans point into the bytes given. A field that is absent has length 0. */
struct runner_answer {
	enum body_verdict verdict;
	struct span field[BODY_FIELDS];
};

/*
 * Checks the bytes of a reply, copied out of the shared memory. Returns false when a length or
 * offset is out of range, the verdict unknown, or a field missing that its verdict must have. The
 * text in it is still the program's: JSON must go through the gate.
 */
bool runner_reply_parse(const void *bytes, size_t length, struct runner_answer *out);

#endif
