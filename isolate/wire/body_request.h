/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor and the runner say to each other.
 *
 * Supervisor to fork server: spawn messages (descriptors: the execution's socket, stdin, stdout,
 * stderr). On the execution's socket: one request (descriptors: a plan whose files are the body's
 * parts, then the files to copy in), and back reports as from cordon-init, the last of them with
 * the reply's memory file. Parsers are pure and take every byte for hostile.
 */
#ifndef CORDON_ISOLATE_WIRE_BODY_REQUEST_H
#define CORDON_ISOLATE_WIRE_BODY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/wire/limits.h"
#include "isolate/wire/body.h"

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

enum request_flags { REQUEST_VALIDATE_ONLY = 1, REQUEST_SKIP_VALIDATION = 2 };

/* Names of the parts of a request, as paths of its files. */
#define REQUEST_SOURCE "source"
#define REQUEST_ARGS "args"
#define REQUEST_RETURN "return"
#define REQUEST_ALLOW "allow"
#define REQUEST_PERMIT "permit"

/* Checks a spawn message. */
bool runner_spawn_parse(const void *bytes, size_t length, struct runner_spawn *out);

/* A reply, checked: spans point into the bytes given. A field that is absent has length 0. */
struct runner_answer {
	enum body_verdict verdict;
	struct span field[BODY_FIELDS];
};

/*
 * Checks the bytes of a reply area, copied out of the shared memory file. Returns false when a
 * length or offset is out of range, the verdict unknown, or a field missing that its verdict must
 * have. The text in it is still the program's word: JSON must go through the gate.
 */
bool runner_reply_parse(const void *bytes, size_t length, struct runner_answer *out);

#endif
