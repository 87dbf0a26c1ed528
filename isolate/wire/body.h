/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One body, validated and called in this process: the part of the runner that knows Python and
 * nothing of processes.
 *
 * The caller has confined the process already; everything here may run hostile code and must be
 * assumed to have been taken over by it afterwards. The answer therefore goes into a plain memory
 * region that another process reads and checks.
 */
#ifndef CORDON_ISOLATE_WIRE_BODY_H
#define CORDON_ISOLATE_WIRE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const char *bytes;
	size_t length;
};

enum body_decision { BODY_BEGINS = 'B', BODY_IS_REFUSED = 'R' };

struct body_request {
	struct span source;      /* the body's text, any bytes */
	struct span args;        /* JSON object text, already through the gate; empty = {} */
	struct span return_expr; /* expression to return, or empty */
	struct span allow;       /* comma-separated imports */
	struct span permit;      /* comma-separated names whose rule is lifted */
	uint64_t output_limit;   /* most bytes of JSON output */
	bool validate_only;
	/* set by tests only, to show that the kernel layers hold by themselves */
	bool skip_validation;
	/*
	 * called once, before the body's first instruction or instead of it; false: do not go on.
	 * May be NULL
	 */
	bool (*decided)(enum body_decision decision);
};

enum body_verdict {
	BODY_NO_VERDICT = 0, /* the process ended before it could say */
	BODY_SUCCEEDED,
	BODY_FAILED, /* the code raised, or its value is not JSON */
	BODY_REFUSED /* validation */
};

enum body_field { BODY_OUTPUT, BODY_ERROR, BODY_DETAIL, BODY_FIELDS };

/*
 * The shared region. The writer fills fields from `data` upwards and sets verdict last, with a
 * release store; the reader copies header and fields out once, checks every offset against `size`,
 * and never looks again.
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

/*
 * Validates and (unless validate_only) calls the body; fills reply. Needs the GIL. Never raises.
 * When it returns, the process has only _exit(2) left to do.
 *  BODY_OUTPUT  JSON text of the value returned (BODY_SUCCEEDED only)
 *  BODY_ERROR   one line "Type: message" (UTF-8; any code point)
 *  BODY_DETAIL  of a success {} when the body only defines functions; else JSON object: stage,
 *               type, message, line, column, traceback, and for validation `violations`
 */
void body_perform(const struct body_request *request, struct body_reply *reply);

#endif
