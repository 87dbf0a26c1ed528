/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON document as a flat list of nodes, for text that json_gate_check has accepted.
 *
 * Where a value must be looked at as it is (integers beyond 2^53, U+0000, thousands of members)
 * cJSON will not do: its numbers are doubles, its strings end at a NUL. Nodes stand in the order of
 * the text and point into it; a container says where its subtree ends, so nothing recurses. Strings
 * are unescaped once. Numbers stay text.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_READ_H
#define CORDON_ISOLATE_BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_write.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_node {
	uint8_t kind; /* enum json_kind */
	/* index behind its subtree: the next sibling, if there is one */
	uint32_t end;
	uint32_t count;           /* of items or members */
	uint32_t raw, raw_length; /* where it stands in the text */
	uint32_t length;          /* of a string's unescaped bytes */
	const char *bytes;        /* a string's unescaped bytes, not terminated */
};

struct json_tree {
	const char *text; /* borrowed: must live as long as the tree */
	/* [0] is the root; the members of an object are key, value, key, value, ... */
	struct json_node *nodes;
	uint32_t count;
	char *strings; /* what had to be unescaped */
};

#define JSON_TREE_NODES_MAX (1u << 21)

/*
 * Reads text that passed the gate. Returns 0, or -1 when there are more than JSON_TREE_NODES_MAX
 * values or no memory (errno E2BIG, ENOMEM).
 */
int json_tree_read(struct json_tree *t, const char *text, size_t length);
void json_tree_free(struct json_tree *t);

/*
 * The value of an object's member, or 0 (which is the root and so no member). Looks at each member
 * in turn.
 */
uint32_t json_tree_member(const struct json_tree *t, uint32_t object, const char *key);

/* Whether a string node is this text. */
bool json_tree_is(const struct json_tree *t, uint32_t string, const char *text);

/*
 * Compares two strings by their bytes, as memcmp(3) would if the shorter one came first among
 * equals.
 */
int json_tree_compare(const struct json_node *a, const struct json_node *b);

/*
 * Appends the canonical form: members sorted by the bytes of their keys, no white space, strings
 * with no escape that is not needed. Numbers stay as they were written. Two documents that differ
 * in nothing but these have the same canonical form.
 */
void json_tree_canonical(const struct json_tree *t, uint32_t node, struct buffer *out);

/*
 * The same with every number in the form that equal numbers share (json_decimal.h): equal values,
 * and only they, have equal texts. It is no JSON.
 */
void json_tree_normal(const struct json_tree *t, uint32_t node, struct buffer *out);

/* The same for a string by itself. */
void json_canonical_string(struct buffer *out, const char *bytes, size_t length);

/*
 * The raw text of a member of a JSON object.
 *
 * Arguments, outputs and ids must pass through cordon byte for byte (integers beyond 2^53,
 * escapes), so they are cut out of a document instead of being parsed and written again. Only for
 * text that json_gate_check has accepted as an object. Pure, no allocation, no recursion.
 */

struct json_slice {
	const char *text; /* into the document; NULL: not there */
	size_t length;
};

/*
 * Steps through the members of an object: *at is 0 before the first. Returns false after the last.
 * key is without its quotes, as it was written; a key written with escapes is no key of ours.
 */
bool json_slice_next(const char *object, size_t length, size_t *at, struct json_slice *key,
	struct json_slice *value);

/* Steps through the items of an array in the same way. */
bool json_slice_item(const char *array, size_t length, size_t *at, struct json_slice *item);

/* The value of a key, or text NULL. */
struct json_slice json_slice_of(const char *object, size_t length, const char *wanted);

/* Whether a slice is this string, written without escapes. */
bool json_slice_is(struct json_slice slice, const char *string);

/*
 * Copies the inside of a string written without escapes, NUL-terminated. Returns false when it is
 * no such string or does not fit.
 */
bool json_slice_copy(struct json_slice slice, char *out, size_t size);

#endif
