/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a schema. See schema.h.
 *
 * One function for each way to read a keyword's value, and the table says which keyword is read by
 * which. Recursion follows the nesting of the document, which the gate bounds. References are
 * resolved when everything else was read.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/tools/schema_tree.h"
#include "isolate/base/text.h"

static int read_schema(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema **out);

static int read_SCHEMA(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema **schema)
{
	return read_schema(r, node, p, schema);
}

static int read_SCHEMAS(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_list *list)
{
	const struct json_node *value = schema_node(r, node);

	if (value->kind != JSON_ARRAY || value->count == 0)
		return schema_refuse(r, p, "must be an array of schemas with at least one");
	list->items = calloc(value->count, sizeof *list->items);
	if (!list->items)
		return schema_no_memory(r);
	for (uint32_t at = node + 1; at < value->end; at = schema_node(r, at)->end) {
		const struct schema_place here = { p, NULL, NULL, list->count };

		if (read_schema(r, at, &here, &list->items[list->count]) < 0)
			return -1;
		list->count++;
	}
	return 0;
}

struct member {
	const struct json_node *name;
	struct schema *schema;
};

static int compare_members(const void *a, const void *b)
{
	return json_tree_compare(
		((const struct member *)a)->name, ((const struct member *)b)->name);
}

static int read_MEMBERS(struct reading *r, uint32_t node, const struct schema_place *p,
	struct schema_members *members)
{
	const struct json_node *object = schema_node(r, node);
	struct member *sorted;
	int status = 0;

	if (object->kind != JSON_OBJECT)
		return schema_refuse(r, p, "must be an object of schemas");
	members->names = calloc(object->count + 1, sizeof *members->names);
	members->schemas = calloc(object->count + 1, sizeof *members->schemas);
	sorted = calloc(object->count + 1, sizeof *sorted);
	if (!members->names || !members->schemas || !sorted)
		status = schema_no_memory(r);
	for (uint32_t at = node + 1; status == 0 && at < object->end;
		at = schema_node(r, at + 1)->end) {
		const struct schema_place here = { p, schema_node(r, at), NULL, 0 };

		sorted[members->count].name = schema_node(r, at);
		status = read_schema(r, at + 1, &here, &sorted[members->count].schema);
		members->count++;
	}
	if (status == 0) {
		qsort(sorted, members->count, sizeof *sorted, compare_members);
		for (uint32_t i = 0; i < members->count; i++) {
			members->names[i] = sorted[i].name;
			members->schemas[i] = sorted[i].schema;
		}
	}
	free(sorted);
	return status;
}

static int read_REFERENCE(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema *from)
{
	const struct json_node *value = schema_node(r, node);

	if (value->kind != JSON_STRING ||
		(!json_tree_is(r->tree, node, "#") &&
			(value->length < 9 || memcmp(value->bytes, "#/$defs/", 8) != 0)))
		return schema_refuse(r, p, "leads to \"#\" or \"#/$defs/NAME\", and nowhere else");
	if (r->reference_count == REFERENCES_MAX)
		return schema_refuse(r, p, "there are more than %d references", REFERENCES_MAX);
	r->references[r->reference_count].from = from;
	r->references[r->reference_count++].node = node;
	return 0;
}

static int read_DEFINITIONS(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema *at)
{
	if (at != r->set->root)
		return schema_refuse(r, p, "stands at the root of the schema only");
	return read_MEMBERS(r, node, p, &r->set->definitions);
}

static int read_DIALECT(struct reading *r, uint32_t node, const struct schema_place *p)
{
	if (json_tree_is(r->tree, node, "https://json-schema.org/draft/2020-12/schema"))
		return 0;
	return schema_refuse(
		r, p, "only \"https://json-schema.org/draft/2020-12/schema\" is known");
}

/* ---- a schema ---- */

static int read_keyword(
	struct reading *r, uint32_t key, const struct schema_place *p, struct schema *s)
{
#define TAKE_TYPES(member) schema_read_TYPES(r, key + 1, p, &s->member)
#define TAKE_VALUES(member) schema_read_VALUES(r, key + 1, p, &s->member)
#define TAKE_ONE_VALUE(member) schema_read_ONE_VALUE(r, key + 1, p, &s->member)
#define TAKE_COUNT(member) schema_read_COUNT(r, key + 1, p, &s->member)
#define TAKE_NUMBER(member) schema_read_NUMBER(r, key + 1, p, &s->member)
#define TAKE_DIVISOR(member) schema_read_DIVISOR(r, key + 1, p, &s->member)
#define TAKE_TRUTH(member) schema_read_TRUTH(r, key + 1, p, &s->member)
#define TAKE_PATTERN(member) \
	(s->pattern_text = schema_node(r, key + 1), schema_read_PATTERN(r, key + 1, p, &s->member))
#define TAKE_NAMES(member) schema_read_NAMES(r, key + 1, p, &s->member)
#define TAKE_SCHEMA(member) read_SCHEMA(r, key + 1, p, &s->member)
#define TAKE_SCHEMAS(member) read_SCHEMAS(r, key + 1, p, &s->member)
#define TAKE_MEMBERS(member) read_MEMBERS(r, key + 1, p, &s->member)
#define TAKE_REFERENCE(member) read_REFERENCE(r, key + 1, p, s)
#define TAKE_DEFINITIONS(member) read_DEFINITIONS(r, key + 1, p, s)
#define TAKE_DIALECT(member) read_DIALECT(r, key + 1, p)
#define TAKE_NOTE(member) 0
#define KEYWORD(name, kind, member) \
	if (json_tree_is(r->tree, key, name)) \
		return TAKE_##kind(member);
#include "isolate/tools/schema_keywords.def"
#undef KEYWORD
	return schema_refuse(r, p, "this keyword is none that cordon knows");
}

static int read_schema(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema **out)
{
	const struct json_node *value = schema_node(r, node);
	struct schema *s = calloc(1, sizeof *s);

	*out = s;
	if (!s)
		return schema_no_memory(r);
	s->min_length = s->max_length = s->min_items = s->max_items = s->min_properties =
		s->max_properties = NO_COUNT;
	s->next = r->set->all;
	r->set->all = s;
	if (!r->set->root)
		r->set->root = s;
	if (value->kind == JSON_TRUE || value->kind == JSON_FALSE) {
		s->never = value->kind == JSON_FALSE;
		return 0;
	}
	if (value->kind != JSON_OBJECT)
		return schema_refuse(r, p, "a schema is an object, true or false");
	for (uint32_t at = node + 1; at < value->end; at = schema_node(r, at + 1)->end) {
		const struct schema_place here = { p, schema_node(r, at), NULL, 0 };

		if (read_keyword(r, at, &here, s) < 0)
			return -1;
	}
	return 0;
}

/* The name in "#/$defs/NAME", with ~1, ~0 and %XX read. Returns its length. */
static size_t pointer_name(const struct json_node *reference, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 8; i < reference->length && used < size; i++) {
		const char *at = reference->bytes + i;
		unsigned byte;

		out[used] = *at;
		if (*at == '%' && i + 2 < reference->length &&
			sscanf((char[]){ at[1], at[2], '\0' }, "%2x", &byte) == 1) {
			out[used] = (char)byte;
			i += 2;
		}
		if (out[used] == '~' && i + 1 < reference->length &&
			(reference->bytes[i + 1] == '0' || reference->bytes[i + 1] == '1'))
			out[used] = reference->bytes[++i] == '1' ? '/' : '~';
		used++;
	}
	return used;
}

static int resolve(struct reading *r, const char *place)
{
	for (uint32_t i = 0; i < r->reference_count; i++) {
		const struct json_node *reference = schema_node(r, r->references[i].node);
		struct json_node wanted = { .kind = JSON_STRING };
		const struct schema_place here = { NULL, NULL, place, 0 };
		char name[1024], shown[80];
		struct schema *found = reference->length == 1 ? r->set->root : NULL;

		wanted.bytes = name;
		wanted.length = (uint32_t)pointer_name(reference, name, sizeof name);
		for (uint32_t d = 0; !found && d < r->set->definitions.count; d++)
			if (json_tree_compare(r->set->definitions.names[d], &wanted) == 0)
				found = r->set->definitions.schemas[d];
		if (!found)
			return schema_refuse(r, &here, "$ref \"%s\" leads nowhere",
				text_visible_into(shown, sizeof shown, reference->bytes,
					reference->length, TEXT_ONE_LINE));
		r->references[i].from->reference = found;
	}
	return 0;
}

struct schema_set *schema_read(
	const struct json_tree *tree, uint32_t node, const char *place, struct error *err)
{
	struct reading *r = calloc(1, sizeof *r);
	struct schema_set *set = calloc(1, sizeof *set);
	const struct schema_place here = { NULL, NULL, place, 0 };
	struct schema *root;

	if (!r || !set) {
		free(r);
		free(set);
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading a schema");
		return NULL;
	}
	r->tree = tree;
	r->set = set;
	r->err = err;
	if (read_schema(r, node, &here, &root) < 0 || resolve(r, place) < 0) {
		schema_free(set);
		set = NULL;
	}
	free(r);
	return set;
}

static void free_texts(char **texts, uint32_t count)
{
	for (uint32_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
}

void schema_free(struct schema_set *set)
{
	if (!set)
		return;
	for (struct schema *s = set->all, *next; s; s = next) {
		next = s->next;
		free_texts(s->values.texts, s->values.count);
		free_texts(s->constant.texts, s->constant.count);
		pcre2_code_free(s->pattern);
		free(s->prefix.items);
		free(s->any_of.items);
		free(s->one_of.items);
		free(s->all_of.items);
		free(s->properties.names);
		free(s->properties.schemas);
		free(s->required.names);
		free(s);
	}
	free(set->definitions.names);
	free(set->definitions.schemas);
	free(set);
}
