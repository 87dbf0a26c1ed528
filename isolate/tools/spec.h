/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The specification of a tool (GeneratedToolSpec), as a model writes it and as the library keeps
 * it.
 *
 * Everything is checked here and only here, whether it comes from a file, over the socket or out of
 * the database: strict JSON, no unknown key, every text bounded, parameters that are a schema. What
 * is kept is the canonical form, so that two spellings of one specification are one.
 *
 * parameters is a JSON Schema whose "type" is "object", or the short form: a map of names to
 * schemas, in which a parameter without "default" is required and no other is allowed. The
 * canonical form has the long one.
 */
#ifndef CORDON_ISOLATE_TOOLS_SPEC_H
#define CORDON_ISOLATE_TOOLS_SPEC_H

#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "isolate/tools/identity.h"
#include "isolate/tools/schema.h"

#define SPEC_IMPLEMENTATION_MAX (1u << 20)
#define SPEC_DESCRIPTION_MAX 16384u
#define SPEC_IMPORTS_MAX 256u
#define SPEC_BYTES_MAX (4u << 20)
#define SPEC_DEPTH_MAX 48u
#define SPEC_HASH_ROOM 65

/* The most that a tool may have: an hour, and what a small host can spare for one call. */
#define SPEC_TIMEOUT_MOST 3600.0
#define SPEC_MEMORY_MOST 16384.0

struct spec {
	char name[IDENTITY_ROOM];
	char *description, *implementation; /* owned, without U+0000 */
	size_t implementation_length;
	char **imports; /* owned, sorted, each once */
	size_t import_count;
	double timeout_s, memory_mb;
	struct buffer parameters; /* canonical, long form */
	struct buffer canonical;  /* the whole, one line */
	/* sha256 of the canonical form of {allowed_imports, implementation, parameters} */
	char hash[SPEC_HASH_ROOM];
	struct json_tree parameter_tree; /* of parameters */
	struct schema_set *schema;       /* into it */
};

/*
 * Reads a specification. Returns 0, or -1 with SPEC_REFUSED, IDENTITY_REFUSED (its name) or
 * RESOURCES_EXHAUSTED; *spec is then empty.
 */
int spec_read(struct spec *spec, const char *text, size_t length, struct error *err);
void spec_free(struct spec *spec);

/*
 * Whether what a specification permits itself is what a tool may have at most: a model writes it,
 * and an operator has not seen it yet. To be asked before anything is kept or run; what is in a
 * library stays readable. Returns 0, or -1 with SPEC_REFUSED, which says where.
 */
int spec_check_ceilings(const struct spec *spec, struct error *err);

/*
 * Checks arguments, which passed JSON_GATE_ARGUMENTS. Returns 0, or -1 with ARGUMENTS_REFUSED,
 * which says where, or RESOURCES_EXHAUSTED.
 */
int spec_check_arguments(
	const struct spec *spec, const char *text, size_t length, struct error *err);

/* How many lines the implementation has. */
uint32_t spec_lines(const struct spec *spec);

#endif
