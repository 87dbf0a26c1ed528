/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the validator found: a bounded list of refusals, each with its rule, place and rewrite.
 *
 * All of them are collected, not just the first, because a model that gets one mistake at a time
 * retries once per mistake.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_VIOLATIONS_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_VIOLATIONS_H

#include "isolate/runner/validator/python.h"
#include "isolate/base/json_write.h"
#include "isolate/runner/validator/rules.h"

enum { VIOLATIONS_MOST = 100 };

struct violation {
	enum rule rule;
	long line, column;      /* 1-based, in characters; 0 = unknown */
	PyObject *name;         /* str or NULL: what was refused; owned */
	PyObject *message;      /* str, owned */
	const char *rewrite;    /* static text, or NULL ... */
	PyObject *rewrite_text; /* ... or a str made for this place, or NULL; owned */
};

struct violations {
	struct violation items[VIOLATIONS_MOST];
	size_t count;
	size_t dropped; /* how many more there were */
};

void violations_clear(struct violations *list);

/*
 * Adds one. name (may be NULL) is borrowed, message and rewrite_text (may be NULL) are taken over.
 * A message of NULL is an exception that was raised while it was made. The same rule and name at
 * the same place is added once. Returns 0, or -1 with a Python exception.
 */
int violations_add(struct violations *list, enum rule rule, long line, long column, PyObject *name,
	PyObject *message, const char *rewrite, PyObject *rewrite_text);

/* Puts them in the order of the text. */
void violations_sort(struct violations *list);

/* Writes the line "ValidationError: line 1: ..." that stands for all of them. */
void violations_summary(const struct violations *list, struct buffer *out);

/* Writes the error_detail object of the record. The list is not empty. */
void violations_detail(const struct violations *list, struct buffer *out);

/*
 * Appends a str as UTF-8 (what cannot be encoded as escapes); never raises. one_line turns line
 * breaks into escapes.
 */
void buffer_add_str(struct buffer *out, PyObject *text, bool one_line);
/* The same as a JSON string value. */
void json_str(struct json_writer *w, PyObject *text);

#endif
