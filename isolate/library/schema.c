/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a schema. See schema.h.
 *
 * One function for each way to read a keyword's value, and the table says which keyword is read by which. Recursion follows the nesting of the document, which the gate bounds.
 * References are resolved when everything else was read.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/library/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/library/schema_tree.h"
#include "isolate/text.h"

#define PATTERN_MAX 4096
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

/* ---- errors ---- */

static void add_place(struct buffer *out, const struct place *p)
{
	if (p->up)
		add_place(out, p->up);
	if (p->name)
		buffer_add_text(out, p->name);
	else if (p->key)
		buffer_printf(out, "/%.*s", (int)(p->key->length < 60 ? p->key->length : 60), p->key->bytes);
	else
		buffer_printf(out, "/%u", p->index);
}

__attribute__((format(printf, 3, 4)))
static int refuse(struct reading *r, const struct place *p, const char *format, ...)
{
	struct buffer where = BUFFER_INIT;
	char what[200];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	add_place(&where, p);
	error_set(r->err, FAILURE_SPEC_REFUSED, 0, "%.250s: %s", where.length ? where.data : "", what);
	buffer_free(&where);
	return -1;
}

static int no_memory(struct reading *r)
{
	return error_set(r->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading a schema");
}

static const struct json_node *node_of(const struct reading *r, uint32_t node)
{
	return &r->tree->nodes[node];
}

/* ---- values of keywords ---- */

static int read_schema(struct reading *r, uint32_t node, const struct place *p, struct schema **out);

static int type_bit(const struct reading *r, uint32_t node, unsigned *bits)
{
	static const struct { const char *name; unsigned bits; } TYPES[] = {
		{ "null", 1u << JSON_NULL }, { "boolean", TYPE_BOOLEAN }, { "number", 1u << JSON_NUMBER }, { "integer", TYPE_INTEGER },
		{ "string", 1u << JSON_STRING }, { "array", 1u << JSON_ARRAY }, { "object", 1u << JSON_OBJECT },
	};

	for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
		if (json_tree_is(r->tree, node, TYPES[i].name)) {
			*bits |= TYPES[i].bits;
			return 0;
		}
	return -1;
}

static int read_TYPES(struct reading *r, uint32_t node, const struct place *p, unsigned *types)
{
	const struct json_node *value = node_of(r, node);
	bool list = value->kind == JSON_ARRAY;

	*types = 0;
	for (uint32_t at = list ? node + 1 : node; at < value->end; at = node_of(r, at)->end)
		if (type_bit(r, at, types) < 0)
			return refuse(r, p, "a type is one of null, boolean, number, integer, string, array, object");
	return *types ? 0 : refuse(r, p, "at least one type is needed");
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_value(struct reading *r, uint32_t node, char **texts, uint32_t *count)
{
	struct buffer text = BUFFER_INIT;

	json_tree_normal(r->tree, node, &text);
	if (text.failed || text.length == 0) {
		buffer_free(&text);
		return no_memory(r);
	}
	texts[(*count)++] = text.data;
	return 0;
}

static int read_VALUES(struct reading *r, uint32_t node, const struct place *p, struct schema_values *values)
{
	const struct json_node *list = node_of(r, node);

	if (list->kind != JSON_ARRAY)
		return refuse(r, p, "must be an array of values");
	values->present = true;
	values->texts = calloc(list->count + 1, sizeof *values->texts);
	if (!values->texts)
		return no_memory(r);
	for (uint32_t at = node + 1; at < list->end; at = node_of(r, at)->end)
		if (add_value(r, at, values->texts, &values->count) < 0)
			return -1;
	qsort(values->texts, values->count, sizeof *values->texts, compare_texts);
	return 0;
}

static int read_ONE_VALUE(struct reading *r, uint32_t node, const struct place *p, struct schema_values *value)
{
	(void)p;
	value->present = true;
	value->texts = calloc(2, sizeof *value->texts);
	return value->texts ? add_value(r, node, value->texts, &value->count) : no_memory(r);
}

static int read_NUMBER(struct reading *r, uint32_t node, const struct place *p, struct schema_bound *bound)
{
	const struct json_node *value = node_of(r, node);

	if (value->kind != JSON_NUMBER)
		return refuse(r, p, "must be a number");
	bound->present = true;
	bound->value = decimal_read(r->tree->text + value->raw, value->raw_length);
	return 0;
}

static int read_DIVISOR(struct reading *r, uint32_t node, const struct place *p, struct schema_bound *bound)
{
	if (read_NUMBER(r, node, p, bound) < 0)
		return -1;
	if (bound->value.sign <= 0 || bound->value.count > DECIMAL_DIVISOR_DIGITS)
		return refuse(r, p, "must be greater than 0 and have at most %d digits", DECIMAL_DIVISOR_DIGITS);
	return 0;
}

static int read_COUNT(struct reading *r, uint32_t node, const struct place *p, uint64_t *count)
{
	const struct json_node *value = node_of(r, node);
	struct decimal d = value->kind == JSON_NUMBER ? decimal_read(r->tree->text + value->raw, value->raw_length) : (struct decimal){ .sign = -1 };
	const char *at = d.digits;

	if (d.sign < 0 || !decimal_is_integer(&d) || d.point > 15)
		return refuse(r, p, "must be a whole number from 0 to 10^15");
	*count = 0;
	for (int64_t i = 0; d.sign > 0 && i < d.point; i++) {
		if (i < d.count && *at == '.')
			at++;
		*count = *count * 10 + (uint64_t)(i < d.count ? *at++ - '0' : 0);
	}
	return 0;
}

static int read_TRUTH(struct reading *r, uint32_t node, const struct place *p, bool *truth)
{
	const struct json_node *value = node_of(r, node);

	*truth = value->kind == JSON_TRUE;
	return value->kind == JSON_TRUE || value->kind == JSON_FALSE ? 0 : refuse(r, p, "must be true or false");
}

static int read_PATTERN(struct reading *r, uint32_t node, const struct place *p, pcre2_code **pattern)
{
	const struct json_node *value = node_of(r, node);
	pcre2_compile_context *context;
	unsigned char text[120];
	PCRE2_SIZE offset;
	int code;

	if (value->kind != JSON_STRING)
		return refuse(r, p, "must be a string");
	context = pcre2_compile_context_create(NULL);
	if (!context)
		return no_memory(r);
	pcre2_set_max_pattern_length(context, PATTERN_MAX);
	pcre2_set_parens_nest_limit(context, 100);
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	*pattern = pcre2_compile((PCRE2_SPTR)value->bytes, value->length,
				 PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, context);
	pcre2_compile_context_free(context);
	if (*pattern)
		return 0;
	pcre2_get_error_message(code, text, sizeof text);
	return refuse(r, p, "no regular expression that can be used (at most %d bytes): %s, at character %zu", PATTERN_MAX, (const char *)text, (size_t)offset);
}

static int compare_names(const void *a, const void *b)
{
	return json_tree_compare(*(const struct json_node *const *)a, *(const struct json_node *const *)b);
}

static int read_NAMES(struct reading *r, uint32_t node, const struct place *p, struct schema_names *names)
{
	const struct json_node *list = node_of(r, node);

	if (list->kind != JSON_ARRAY)
		return refuse(r, p, "must be an array of names");
	names->names = calloc(list->count + 1, sizeof *names->names);
	if (!names->names)
		return no_memory(r);
	for (uint32_t at = node + 1; at < list->end; at = node_of(r, at)->end) {
		if (node_of(r, at)->kind != JSON_STRING)
			return refuse(r, p, "must be an array of names");
		names->names[names->count++] = node_of(r, at);
	}
	qsort(names->names, names->count, sizeof *names->names, compare_names);
	for (uint32_t i = 1; i < names->count; i++)
		if (compare_names(&names->names[i - 1], &names->names[i]) == 0)
			return refuse(r, p, "a name stands twice");
	return 0;
}

static int read_SCHEMA(struct reading *r, uint32_t node, const struct place *p, struct schema **schema)
{
	return read_schema(r, node, p, schema);
}

static int read_SCHEMAS(struct reading *r, uint32_t node, const struct place *p, struct schema_list *list)
{
	const struct json_node *value = node_of(r, node);

	if (value->kind != JSON_ARRAY || value->count == 0)
		return refuse(r, p, "must be an array of schemas with at least one");
	list->items = calloc(value->count, sizeof *list->items);
	if (!list->items)
		return no_memory(r);
	for (uint32_t at = node + 1; at < value->end; at = node_of(r, at)->end) {
		const struct place here = { p, NULL, NULL, list->count };

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
	return json_tree_compare(((const struct member *)a)->name, ((const struct member *)b)->name);
}

static int read_MEMBERS(struct reading *r, uint32_t node, const struct place *p, struct schema_members *members)
{
	const struct json_node *object = node_of(r, node);
	struct member *sorted;
	int status = 0;

	if (object->kind != JSON_OBJECT)
		return refuse(r, p, "must be an object of schemas");
	members->names = calloc(object->count + 1, sizeof *members->names);
	members->schemas = calloc(object->count + 1, sizeof *members->schemas);
	sorted = calloc(object->count + 1, sizeof *sorted);
	if (!members->names || !members->schemas || !sorted)
		status = no_memory(r);
	for (uint32_t at = node + 1; status == 0 && at < object->end; at = node_of(r, at + 1)->end) {
		const struct place here = { p, node_of(r, at), NULL, 0 };

		sorted[members->count].name = node_of(r, at);
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

static int read_REFERENCE(struct reading *r, uint32_t node, const struct place *p, struct schema *from)
{
	const struct json_node *value = node_of(r, node);

	if (value->kind != JSON_STRING || (!json_tree_is(r->tree, node, "#") && (value->length < 9 || memcmp(value->bytes, "#/$defs/", 8) != 0)))
		return refuse(r, p, "leads to \"#\" or \"#/$defs/NAME\", and nowhere else");
	if (r->reference_count == REFERENCES_MAX)
		return refuse(r, p, "there are more than %d references", REFERENCES_MAX);
	r->references[r->reference_count].from = from;
	r->references[r->reference_count++].node = node;
	return 0;
}

static int read_DEFINITIONS(struct reading *r, uint32_t node, const struct place *p, struct schema *at)
{
	if (at != r->set->root)
		return refuse(r, p, "stands at the root of the schema only");
	return read_MEMBERS(r, node, p, &r->set->definitions);
}

static int read_DIALECT(struct reading *r, uint32_t node, const struct place *p)
{
	if (json_tree_is(r->tree, node, "https://json-schema.org/draft/2020-12/schema"))
		return 0;
	return refuse(r, p, "only \"https://json-schema.org/draft/2020-12/schema\" is known");
}

/* ---- a schema ---- */

static int read_keyword(struct reading *r, uint32_t key, const struct place *p, struct schema *s)
{
#define TAKE_TYPES(member) read_TYPES(r, key + 1, p, &s->member)
#define TAKE_VALUES(member) read_VALUES(r, key + 1, p, &s->member)
#define TAKE_ONE_VALUE(member) read_ONE_VALUE(r, key + 1, p, &s->member)
#define TAKE_COUNT(member) read_COUNT(r, key + 1, p, &s->member)
#define TAKE_NUMBER(member) read_NUMBER(r, key + 1, p, &s->member)
#define TAKE_DIVISOR(member) read_DIVISOR(r, key + 1, p, &s->member)
#define TAKE_TRUTH(member) read_TRUTH(r, key + 1, p, &s->member)
#define TAKE_PATTERN(member) (s->pattern_text = node_of(r, key + 1), read_PATTERN(r, key + 1, p, &s->member))
#define TAKE_NAMES(member) read_NAMES(r, key + 1, p, &s->member)
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
#include "isolate/library/schema_keywords.def"
#undef KEYWORD
	return refuse(r, p, "this keyword is none that cordon knows");
}

static int read_schema(struct reading *r, uint32_t node, const struct place *p, struct schema **out)
{
	const struct json_node *value = node_of(r, node);
	struct schema *s = calloc(1, sizeof *s);

	*out = s;
	if (!s)
		return no_memory(r);
	s->min_length = s->max_length = s->min_items = s->max_items = s->min_properties = s->max_properties = NO_COUNT;
	s->next = r->set->all;
	r->set->all = s;
	if (!r->set->root)
		r->set->root = s;
	if (value->kind == JSON_TRUE || value->kind == JSON_FALSE) {
		s->never = value->kind == JSON_FALSE;
		return 0;
	}
	if (value->kind != JSON_OBJECT)
		return refuse(r, p, "a schema is an object, true or false");
	for (uint32_t at = node + 1; at < value->end; at = node_of(r, at + 1)->end) {
		const struct place here = { p, node_of(r, at), NULL, 0 };

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
		if (*at == '%' && i + 2 < reference->length && sscanf((char[]){ at[1], at[2], '\0' }, "%2x", &byte) == 1) {
			out[used] = (char)byte;
			i += 2;
		}
		if (out[used] == '~' && i + 1 < reference->length && (reference->bytes[i + 1] == '0' || reference->bytes[i + 1] == '1'))
			out[used] = reference->bytes[++i] == '1' ? '/' : '~';
		used++;
	}
	return used;
}

static int resolve(struct reading *r, const char *place)
{
	for (uint32_t i = 0; i < r->reference_count; i++) {
		const struct json_node *reference = node_of(r, r->references[i].node);
		struct json_node wanted = { .kind = JSON_STRING };
		const struct place here = { NULL, NULL, place, 0 };
		char name[1024], shown[80];
		struct schema *found = reference->length == 1 ? r->set->root : NULL;

		wanted.bytes = name;
		wanted.length = (uint32_t)pointer_name(reference, name, sizeof name);
		for (uint32_t d = 0; !found && d < r->set->definitions.count; d++)
			if (json_tree_compare(r->set->definitions.names[d], &wanted) == 0)
				found = r->set->definitions.schemas[d];
		if (!found)
			return refuse(r, &here, "$ref \"%s\" leads nowhere", text_visible_into(shown, sizeof shown, reference->bytes, reference->length, TEXT_ONE_LINE));
		r->references[i].from->reference = found;
	}
	return 0;
}

struct schema_set *schema_read(const struct json_tree *tree, uint32_t node, const char *place, struct error *err)
{
	struct reading *r = calloc(1, sizeof *r);
	struct schema_set *set = calloc(1, sizeof *set);
	const struct place here = { NULL, NULL, place, 0 };
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
