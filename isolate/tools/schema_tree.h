/* SPDX-License-Identifier: Apache-2.0 */
/* What a schema is made of, for the two files that read one and check with it. */
#ifndef CORDON_ISOLATE_TOOLS_SCHEMA_TREE_H
#define CORDON_ISOLATE_TOOLS_SCHEMA_TREE_H

#include "isolate/base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/json_read.h"

/* Bits: 1 << enum json_kind, true and false together, and one for whole numbers. */
#define TYPE_BOOLEAN (1u << JSON_FALSE | 1u << JSON_TRUE)
#define TYPE_INTEGER (1u << 8)
#define NO_COUNT UINT64_MAX

struct schema;

struct schema_list {
	struct schema **items;
	uint32_t count;
};

struct schema_values { /* normal forms, sorted */
	char **texts;
	uint32_t count;
	bool present;
};

struct schema_members { /* sorted by name */
	const struct json_node **names;
	struct schema **schemas;
	uint32_t count;
};

struct schema_names { /* sorted */
	const struct json_node **names;
	uint32_t count;
};

struct schema_bound {
	bool present;
	struct json_number value;
};

struct schema {
	bool never; /* false: refuses everything */
	bool unique;
	unsigned types; /* 0: any */
	struct schema_values values, constant;
	struct schema_bound minimum, maximum, above, below, divisor;
	/* NO_COUNT: none */
	uint64_t min_length, max_length, min_items, max_items, min_properties, max_properties;
	pcre2_code *pattern;
	const struct json_node *pattern_text;
	struct schema *items, *additional, *not_this, *reference;
	struct schema_list prefix, any_of, one_of, all_of;
	struct schema_members properties;
	struct schema_names required;
	struct schema *next; /* of all, for freeing */
};

struct schema_set {
	struct schema *root, *all;
	struct schema_members definitions;
};

/*
 * A schema that is being read: for the two files that do it, schema.c (what holds other schemas)
 * and schema_values.c (what holds values).
 */

#define REFERENCES_MAX 4096

struct schema_place {
	const struct schema_place *up;
	const struct json_node *key; /* NULL: an index */
	const char *name;            /* of the outermost */
	uint32_t index;
};

struct reading {
	const struct json_tree *tree;
	struct schema_set *set;
	struct error *err;
	struct {
		struct schema *from;
		uint32_t node;
	} references[REFERENCES_MAX];
	uint32_t reference_count;
};

/* Says where and what is wrong, with SPEC_REFUSED; that memory ran out. Return -1. */
int schema_refuse(struct reading *r, const struct schema_place *p, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int schema_no_memory(struct reading *r);

/* A node of the document. */
const struct json_node *schema_node(const struct reading *r, uint32_t node);

/* For sorting names: pointers to nodes. */
int schema_compare_names(const void *a, const void *b);

/*
 * One function for each way in which a keyword's value is read (schema_keywords.def). Each returns
 * 0 or -1.
 */
int schema_read_TYPES(
	struct reading *r, uint32_t node, const struct schema_place *p, unsigned *types);
int schema_read_VALUES(struct reading *r, uint32_t node, const struct schema_place *p,
	struct schema_values *values);
int schema_read_ONE_VALUE(struct reading *r, uint32_t node, const struct schema_place *p,
	struct schema_values *value);
int schema_read_NUMBER(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_bound *bound);
int schema_read_DIVISOR(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_bound *bound);
int schema_read_COUNT(
	struct reading *r, uint32_t node, const struct schema_place *p, uint64_t *count);
int schema_read_TRUTH(struct reading *r, uint32_t node, const struct schema_place *p, bool *truth);
int schema_read_PATTERN(
	struct reading *r, uint32_t node, const struct schema_place *p, pcre2_code **pattern);
int schema_read_NAMES(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_names *names);

#endif
