/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of JSON, for text that json_gate_check has accepted.
 *
 * A value is a slice of its document: what is asked of it is read there and then, and nothing is
 * kept. So arguments, outputs and ids pass through cordon byte for byte (integers beyond 2^53,
 * U+0000, escapes), and an event of which two members matter costs no more than finding these. A
 * document that is compared member by member (a schema and its arguments) is read once into a list
 * of nodes.
 *
 * Pure; reading does not recurse. A slice whose text is NULL stands for what is not there; every
 * function takes it.
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

struct json_slice {
	const char *text; /* borrowed from the document; NULL: not there */
	size_t length;
};

#define JSON_NONE ((struct json_slice){ NULL, 0 })

static inline struct json_slice json_slice(const char *text, size_t length)
{
	return (struct json_slice){ text, length };
}

/* The value of a member, or text NULL when there is none or it is no object. */
struct json_slice json_get(struct json_slice object, const char *name);

/*
 * Steps through the members of an object: *at is 0 before the first. Returns false after the last.
 * key is without its quotes, as it was written; a key written with escapes is no key of ours.
 */
bool json_next(
	struct json_slice object, size_t *at, struct json_slice *key, struct json_slice *value);

/* Steps through the items of an array in the same way. */
bool json_item(struct json_slice array, size_t *at, struct json_slice *item);

/* Whether a key that json_next gave is this one; and the key unescaped, to be freed, or NULL. */
bool json_key_is(struct json_slice key, const char *name);
char *json_dup_key(struct json_slice key);

/* What a value is, by its first byte; JSON_NULL when it is not there. */
enum json_kind json_kind(struct json_slice value);

/* Whether a value is this string, written without escapes; is true; is null or not there. */
bool json_is(struct json_slice value, const char *string);
bool json_is_true(struct json_slice value);
bool json_is_null(struct json_slice value);

/*
 * Copies the inside of a string written without escapes, NUL-terminated. Returns false when it is
 * no such string or does not fit.
 */
bool json_copy(struct json_slice value, char *out, size_t size);

/*
 * Appends the bytes that a string stands for, which may have U+0000 among them. Returns false, and
 * appends nothing, when the value is no string.
 */
bool json_decode(struct json_slice value, struct buffer *out);

/* The same as C text, to be freed. NULL when it is no string, has U+0000 in it, or no memory. */
char *json_dup(struct json_slice value);

/*
 * Appends the bytes of a member: NAME_b64 decoded where it is there, else NAME. Returns false when
 * neither is a string, or NAME_b64 is no base64.
 */
bool json_get_bytes(struct json_slice object, const char *name, struct buffer *out);

/* The whole part of a number of at most 31 characters, or `otherwise`. */
int64_t json_int(struct json_slice value, int64_t otherwise);

/* A number as the nearest double, whatever the locale, or `otherwise`. */
double json_double(struct json_slice value, double otherwise);

/* A number, exact where it is a whole number of 64 bits, however it is written (1, 1.0, 10e-1). */
struct json_number {
	bool is_whole;
	int64_t whole;
	double real; /* the nearest double, of either */
};

struct json_number json_read_number(struct json_slice value);

/* A string with a time as events have it (RFC 3339 in UTC), in nanoseconds since 1970, or 0. */
int64_t json_time(struct json_slice value);

/* Appends the visible form (text.h) of any value on one line: strings as text, the rest as JSON. */
void json_visible(struct json_slice value, struct buffer *out);

/*
 * The whole document as a flat list of nodes in the order of the text, which they point into. A
 * container says where its subtree ends. Strings are unescaped once. Numbers stay text.
 */
struct json_node {
	uint8_t kind; /* enum json_kind */
	/* index behind its subtree: the next sibling, if there is one */
	uint32_t end;
	uint32_t count;        /* of items or members */
	uint32_t length;       /* of a string's unescaped bytes */
	const char *bytes;     /* a string's unescaped bytes, not terminated */
	struct json_slice raw; /* as it stands in the text */
};

struct json_tree {
	/* [0] is the root; the members of an object are key, value, key, value, ... */
	struct json_node *nodes;
	uint32_t count;
	char *strings; /* what had to be unescaped */
};

#define JSON_TREE_NODES_MAX (1u << 21)

/*
 * Reads text that passed the gate and lives as long as the tree. Returns 0, or -1 when there are
 * more than JSON_TREE_NODES_MAX values or no memory (errno E2BIG, ENOMEM).
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
void json_canonical_string(struct buffer *out, const char *bytes, size_t length);

/*
 * Appends the canonical form with every number in one form, so that equal values have equal texts:
 * 1, 1.0 and 10e-1 are 1. Integers of any length differ; other numbers are equal when their doubles
 * are.
 */
void json_tree_normal(const struct json_tree *t, uint32_t node, struct buffer *out);

#endif
