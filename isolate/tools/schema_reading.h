/* SPDX-License-Identifier: Apache-2.0 */
/* A schema that is being read: for the two files that do it, schema.c (what holds other schemas) and schema_values.c (what holds values). */
#ifndef CORDON_ISOLATE_TOOLS_SCHEMA_READING_H
#define CORDON_ISOLATE_TOOLS_SCHEMA_READING_H

#include "isolate/base/error.h"
#include "isolate/tools/schema_tree.h"

#define REFERENCES_MAX 4096

struct place {
	const struct place *up;
	const struct json_node *key; /* NULL: an index */
	const char *name;            /* of the outermost */
	uint32_t index;
};

struct reading {
	const struct json_tree *tree;
	struct schema_set *set;
	struct error *err;
	struct { struct schema *from; uint32_t node; } references[REFERENCES_MAX];
	uint32_t reference_count;
};

/* Says where and what is wrong, with SPEC_REFUSED; that memory ran out. Return -1. */
int schema_refuse(struct reading *r, const struct place *p, const char *format, ...) __attribute__((format(printf, 3, 4)));
int schema_no_memory(struct reading *r);

/* A node of the document. */
const struct json_node *schema_node(const struct reading *r, uint32_t node);

/* For sorting names: pointers to nodes. */
int schema_compare_names(const void *a, const void *b);

/* One function for each way in which a keyword's value is read (schema_keywords.def). Each returns 0 or -1. */
int schema_read_TYPES(struct reading *r, uint32_t node, const struct place *p, unsigned *types);
int schema_read_VALUES(struct reading *r, uint32_t node, const struct place *p, struct schema_values *values);
int schema_read_ONE_VALUE(struct reading *r, uint32_t node, const struct place *p, struct schema_values *value);
int schema_read_NUMBER(struct reading *r, uint32_t node, const struct place *p, struct schema_bound *bound);
int schema_read_DIVISOR(struct reading *r, uint32_t node, const struct place *p, struct schema_bound *bound);
int schema_read_COUNT(struct reading *r, uint32_t node, const struct place *p, uint64_t *count);
int schema_read_TRUTH(struct reading *r, uint32_t node, const struct place *p, bool *truth);
int schema_read_PATTERN(struct reading *r, uint32_t node, const struct place *p, pcre2_code **pattern);
int schema_read_NAMES(struct reading *r, uint32_t node, const struct place *p, struct schema_names *names);

#endif
