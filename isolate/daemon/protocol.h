/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol: JSON-RPC 2.0, one object a line, both ways.
 *
 * Pure: a line in, a request or the error to answer with out. What is accepted passed the strict
 * gate, has no member that the protocol does not know, and is bounded in size and depth. Ids and
 * parameters stay the bytes that the client wrote.
 */
#ifndef CORDON_ISOLATE_DAEMON_PROTOCOL_H
#define CORDON_ISOLATE_DAEMON_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

#define PROTOCOL_FRAME_MAX (4u << 20)
#define PROTOCOL_DEPTH_MAX 64
#define PROTOCOL_ID_MAX 128

enum protocol_method {
#define METHOD(id, name, params, meaning) METHOD_##id,
#include "isolate/daemon/methods.def"
#undef METHOD
	METHOD_COUNT
};

/* JSON-RPC's own codes, and two of ours. */
enum protocol_error {
	ERROR_PARSE = -32700,
	ERROR_REQUEST = -32600,
	ERROR_METHOD = -32601,
	ERROR_PARAMS = -32602,
	ERROR_FAILED = -32000,
	ERROR_BUSY = -32001,
	ERROR_NO_SUCH = -32002
};

struct protocol_request {
	enum protocol_method method;
	/* as it was written; "" for a notification, which gets no answer */
	char id[PROTOCOL_ID_MAX];
	struct json_slice params; /* an object; "{}" when there was none */
};

struct protocol_refusal {
	int code; /* 0: none */
	char message[256];
};

/* The name of a method, and a line about it; for descriptions. */
extern const struct protocol_method_text {
	const char *name, *params, *meaning;
} protocol_methods[METHOD_COUNT];

/*
 * Reads one line, without its newline. Returns true with a request, whose slices point into the
 * line; or false with what to answer. request->id is set in both cases as far as it could be read
 * ("null" where a refusal has no id to go with).
 */
bool protocol_read(const char *line, size_t length, struct protocol_request *request,
	struct protocol_refusal *refusal);

/*
 * A text member of params: copied when it is there. Returns false, with a refusal, when it is there
 * and is no plain string that fits.
 */
bool protocol_text(const struct protocol_request *r, const char *key, char *out, size_t size,
	struct protocol_refusal *refusal);

/* A whole number from low to high; *value stays as it is when the member is not there. */
bool protocol_number(const struct protocol_request *r, const char *key, int64_t low, int64_t high,
	int64_t *value, struct protocol_refusal *refusal);

/*
 * Lines to answer with, newline included: a result that is raw JSON; an error, with data that is
 * raw JSON or NULL, or as a whole object. Nothing for a notification.
 */
void protocol_result(struct buffer *out, const char *id, const char *result, size_t length);
void protocol_error_raw(struct buffer *out, const char *id, const char *error, size_t length);
void protocol_error(struct buffer *out, const char *id, int code, const char *message,
	const char *data, size_t data_length);

#endif
