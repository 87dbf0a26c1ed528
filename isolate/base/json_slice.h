/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw text of a member of a JSON object.
 *
 * Arguments, outputs and ids must pass through cordon byte for byte (integers beyond 2^53, escapes), so they are cut out of a document instead of being
 * parsed and written again. Only for text that json_gate_check has accepted as an object. Pure, no allocation, no recursion.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_SLICE_H
#define CORDON_ISOLATE_BASE_JSON_SLICE_H

#include <stdbool.h>
#include <stddef.h>

struct json_slice {
	const char *text; /* into the document; NULL: not there */
	size_t length;
};

/*
 * Steps through the members of an object: *at is 0 before the first. Returns false after the last. key is without its quotes, as it was written; a key
 * written with escapes is no key of ours.
 */
bool json_slice_next(const char *object, size_t length, size_t *at, struct json_slice *key, struct json_slice *value);

/* Steps through the items of an array in the same way. */
bool json_slice_item(const char *array, size_t length, size_t *at, struct json_slice *item);

/* The value of a key, or text NULL. */
struct json_slice json_slice_of(const char *object, size_t length, const char *key);

/* Whether a slice is this string, written without escapes. */
bool json_slice_is(struct json_slice slice, const char *string);

/* Copies the inside of a string written without escapes, NUL-terminated. Returns false when it is no such string or does not fit. */
bool json_slice_copy(struct json_slice slice, char *out, size_t size);

#endif
