/* SPDX-License-Identifier: Apache-2.0 */
/* What a schema is made of, for the two files that read one and check with it. */
#ifndef CORDON_ISOLATE_TOOLS_SCHEMA_TREE_H
#define CORDON_ISOLATE_TOOLS_SCHEMA_TREE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/json_decimal.h"
#include "isolate/base/json_tree.h"

/* Bits: 1 << enum json_kind, true and false together, and one for whole numbers. */
#define TYPE_BOOLEAN (1u << JSON_FALSE | 1u << JSON_TRUE)
#define TYPE_INTEGER (1u << 8)
#define NO_COUNT UINT64_MAX

struct schema;

struct schema_list {
	struct schema **items;
	uint32_t count;
};

struct schema_values {                    /* normal forms, sorted */
	char **texts;
	uint32_t count;
	bool present;
};

struct schema_members {                   /* sorted by name */
	const struct json_node **names;
	struct schema **schemas;
	uint32_t count;
};

struct schema_names {                     /* sorted */
	const struct json_node **names;
	uint32_t count;
};

struct schema_bound {
	bool present;
	struct decimal value;
};

struct schema {
	bool never;                            /* false: refuses everything */
	bool unique;
	unsigned types;                        /* 0: any */
	struct schema_values values, constant;
	struct schema_bound minimum, maximum, above, below, divisor;
	uint64_t min_length, max_length, min_items, max_items, min_properties, max_properties; /* NO_COUNT: none */
	pcre2_code *pattern;
	const struct json_node *pattern_text;
	struct schema *items, *additional, *not_this, *reference;
	struct schema_list prefix, any_of, one_of, all_of;
	struct schema_members properties;
	struct schema_names required;
	struct schema *next;                   /* of all, for freeing */
};

struct schema_set {
	struct schema *root, *all;
	struct schema_members definitions;
};

#endif
