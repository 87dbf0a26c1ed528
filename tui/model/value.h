/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values out of JSON that passed the gate: for lines of the daemon, whose text others wrote.
 *
 * Pure. Strings are unescaped into buffers with a length, since they may hold U+0000. Only what the
 * functions with "shown" in their name give out is fit for a screen.
 */
#ifndef CORDON_TUI_MODEL_VALUE_H
#define CORDON_TUI_MODEL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

/*
 * Appends the bytes of a JSON string. Returns false, and appends nothing, when the slice is no
 * string.
 */
bool value_string(struct json_slice value, struct buffer *out);

/*
 * Appends the bytes that a member of an object stands for: NAME_b64 decoded where it is there, else
 * NAME. Returns false when neither is a string.
 */
bool value_bytes(struct json_slice object, const char *name, struct buffer *out);

/* A whole number, or `otherwise` when the slice is none. */
int64_t value_number(struct json_slice value, int64_t otherwise);
bool value_is_true(struct json_slice value);
bool value_is_null(struct json_slice value);

/* Steps through an array: *at is 0 before the first item. Returns false after the last. */
bool value_item(struct json_slice array, size_t *at, struct json_slice *item);

/* Appends the visible form of any value on one line: strings as text, everything else as JSON. */
void value_shown(struct json_slice value, struct buffer *out);

/*
 * Appends JSON with every character that acts on a terminal or hides in it as \uXXXX: the same
 * value, fit for a file that is shown on a terminal.
 */
void value_safe_json(struct json_slice value, struct buffer *out);

/* RFC 3339 in UTC, as events have it, to nanoseconds since 1970; 0 when it is none. */
int64_t value_time(struct json_slice value);

/* A member of an object slice; text NULL when the slice is no object or has none. */
struct json_slice value_of(struct json_slice object, const char *name);

#endif
