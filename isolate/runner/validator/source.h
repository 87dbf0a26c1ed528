/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a body before it is parsed.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_SOURCE_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_SOURCE_H

#include "isolate/runner/validator/python.h"
#include "isolate/wire/body_request.h"
#include "isolate/runner/validator/violations.h"

enum { SOURCE_BYTES_MOST = 64 * 1024 };

struct source {
	/* str, what the parser is given; owned; NULL when it could not be decoded */
	PyObject *text;
	const char *bytes; /* the same as UTF-8, without a BOM; borrowed from the request */
	size_t length;
	size_t *line_starts; /* byte offsets; owned */
	size_t lines;
};

/*
 * Decodes bytes as strict UTF-8 (a BOM at the very start is skipped) and refuses what makes text
 * mean one thing to Python and another to whoever reads it. kind is put before each message ("" or
 * "--return: "). Returns 0 with violations added (text is then usable only if their number did not
 * grow), or -1 with a Python exception. source_free afterwards in any case.
 */
int source_load(
	struct source *source, struct span bytes, const char *kind, struct violations *found);
void source_free(struct source *source);

/*
 * The column in characters, counted from 1, of a byte offset in a line (counted from 1); 0 when
 * there is no such line.
 */
long source_column(const struct source *source, long line, long byte_offset);

/* The text of a line without its end. *length is 0 when there is no such line. */
const char *source_line(const struct source *source, long line, size_t *length);

#endif
