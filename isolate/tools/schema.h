/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Schema for the arguments of tools: the part of 2020-12 that tool schemas use
 * (schema_keywords.def), exactly, or an error that says where.
 *
 * A schema comes from a model, and so do the arguments: both are bounded. Numbers are decimals and
 * are never rounded. A check has a budget of steps, so no schema can make it run for long, patterns
 * included, and a deadline. A keyword that is not known is an error when the schema is read, never
 * ignored.
 *
 * What differs from the standard: format and the other annotations decide nothing (as the standard
 * allows); $ref leads to "#" or "#/$defs/NAME" and $defs stands at the root; a pattern is PCRE2's
 * with the meanings of ECMA-262 switched on, so \s and the like may differ beyond ASCII.
 */
#ifndef CORDON_ISOLATE_TOOLS_SCHEMA_H
#define CORDON_ISOLATE_TOOLS_SCHEMA_H

#include <stddef.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"

struct schema_set;

enum { SCHEMA_OK = 0, SCHEMA_REFUSED = 1 };

/*
 * Reads a schema out of a tree, which must outlive it. place is what messages call it
 * ("parameters"). Returns NULL with SPEC_REFUSED, which says where and what, or
 * RESOURCES_EXHAUSTED.
 */
struct schema_set *schema_read(
	const struct json_tree *tree, uint32_t node, const char *place, struct error *err);
void schema_free(struct schema_set *s);

/*
 * Checks a document. Returns 0 when it keeps to the schema, 1 when not, with a line for each
 * violation (at most eight) appended to why, "/path: what is wrong", separated by "; ". A check
 * that ends without an answer (steps or time used up) is a violation, too. seconds: how long it may
 * take. Returns -1 without memory. why holds text of the document.
 */
int schema_check(const struct schema_set *s, const struct json_tree *document, double seconds,
	struct buffer *why);

#endif
