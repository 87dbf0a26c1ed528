/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict gate before every JSON parser: RFC 8259 to the letter, and bounded.
 *
 * Pure: bytes in, a verdict out; bounded memory, no recursion. What
 * passes the gate means the same to every parser, and can be spliced into a document of ours as it
 * stands.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_GATE_H
#define CORDON_ISOLATE_BASE_JSON_GATE_H

#include <stdbool.h>
#include <stddef.h>

struct json_gate_rules {
	size_t max_bytes;   /* 0 = no cap */
	unsigned max_depth; /* nesting of arrays and objects, at most 4096 */
	/* let the escape \u0000 pass (outputs of bodies) */
	bool allow_nul;
	bool must_be_object;
	/* refuse raw newlines between tokens, so that the text can stand in an NDJSON record */
	bool one_line;
};

/* What a document of options or of settings must keep to. */
extern const struct json_gate_rules JSON_GATE_DOCUMENT; /* 1 MiB, depth 64, object, no NUL */
/* 16 MiB, depth 512, object, NUL escape allowed */
extern const struct json_gate_rules JSON_GATE_ARGUMENTS;

/*
 * Checks text. Returns true, or false with a sentence in reason ("duplicate key \"scope\" at byte
 * 20"), which is always NUL-terminated and holds no byte that could harm a terminal. Bytes are
 * counted from 0; 240 bytes of room hold any reason. Duplicate keys (after unescaping), invalid
 * UTF-8, lone surrogate escapes, a BOM, trailing bytes, NaN and Infinity, leading zeros are
 * refused; so are numbers like 1e999 that no double can hold, and more than 2^20 keys in the
 * objects open at one time. Integers may have any length.
 */
bool json_gate_check(const struct json_gate_rules *rules, const char *text, size_t length,
	char *reason, size_t reason_size);

#endif
