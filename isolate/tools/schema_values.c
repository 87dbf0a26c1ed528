/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a schema's keywords: types, numbers, patterns, names. See schema_tree.h.
 *
 * What is read is brought into the form in which it is compared later, once: values in normal form
 * and sorted, names sorted, patterns compiled, with bounds on each.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "isolate/tools/schema_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_MAX 4096

static void add_place(struct buffer *out, const struct schema_place *p)
{
	if (p->up)
		add_place(out, p->up);
	if (p->name)
		buffer_add_text(out, p->name);
	else if (p->key)
		buffer_printf(out, "/%.*s", (int)(p->key->length < 60 ? p->key->length : 60),
			p->key->bytes);
	else
		buffer_printf(out, "/%u", p->index);
}

int schema_refuse(struct reading *r, const struct schema_place *p, const char *format, ...)
{
	_cleanup_buffer_ struct buffer where = BUFFER_INIT;
	char what[200];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	add_place(&where, p);
	error_set(r->err, FAILURE_SPEC_REFUSED, 0, "%.250s: %s", where.length ? where.data : "",
		what);
	return -1;
}

int schema_no_memory(struct reading *r)
{
	return error_set(r->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading a schema");
}

const struct json_node *schema_node(const struct reading *r, uint32_t node)
{
	return &r->tree->nodes[node];
}

static int type_bit(const struct reading *r, uint32_t node, unsigned *bits)
{
	static const struct {
		const char *name;
		unsigned bits;
	} TYPES[] = {
		{ "null", 1u << JSON_NULL },
		{ "boolean", TYPE_BOOLEAN },
		{ "number", 1u << JSON_NUMBER },
		{ "integer", TYPE_INTEGER },
		{ "string", 1u << JSON_STRING },
		{ "array", 1u << JSON_ARRAY },
		{ "object", 1u << JSON_OBJECT },
	};

	for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
		if (json_tree_is(r->tree, node, TYPES[i].name)) {
			*bits |= TYPES[i].bits;
			return 0;
		}
	return -1;
}

int schema_read_TYPES(
	struct reading *r, uint32_t node, const struct schema_place *p, unsigned *types)
{
	const struct json_node *value = schema_node(r, node);
	bool list = value->kind == JSON_ARRAY;

	*types = 0;
	for (uint32_t at = list ? node + 1 : node; at < value->end; at = schema_node(r, at)->end)
		if (type_bit(r, at, types) < 0)
			return schema_refuse(r, p,
				"a type is one of null, boolean, number, integer, string, array, "
				"object");
	return *types ? 0 : schema_refuse(r, p, "at least one type is needed");
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
		return schema_no_memory(r);
	}
	texts[(*count)++] = text.data;
	return 0;
}

int schema_read_VALUES(struct reading *r, uint32_t node, const struct schema_place *p,
	struct schema_values *values)
{
	const struct json_node *list = schema_node(r, node);

	if (list->kind != JSON_ARRAY)
		return schema_refuse(r, p, "must be an array of values");
	values->present = true;
	values->texts = calloc(list->count + 1, sizeof *values->texts);
	if (!values->texts)
		return schema_no_memory(r);
	for (uint32_t at = node + 1; at < list->end; at = schema_node(r, at)->end)
		if (add_value(r, at, values->texts, &values->count) < 0)
			return -1;
	qsort(values->texts, values->count, sizeof *values->texts, compare_texts);
	return 0;
}

int schema_read_ONE_VALUE(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_values *value)
{
	(void)p;
	value->present = true;
	value->texts = calloc(2, sizeof *value->texts);
	return value->texts ? add_value(r, node, value->texts, &value->count) : schema_no_memory(r);
}

int schema_read_NUMBER(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_bound *bound)
{
	const struct json_node *value = schema_node(r, node);

	if (value->kind != JSON_NUMBER)
		return schema_refuse(r, p, "must be a number");
	bound->present = true;
	bound->value = json_read_number(value->raw);
	return 0;
}

int schema_read_DIVISOR(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_bound *bound)
{
	if (schema_read_NUMBER(r, node, p, bound) < 0)
		return -1;
	return bound->value.real > 0 ? 0 : schema_refuse(r, p, "must be greater than 0");
}

int schema_read_COUNT(
	struct reading *r, uint32_t node, const struct schema_place *p, uint64_t *count)
{
	const struct json_node *value = schema_node(r, node);
	struct json_number number = { .is_whole = false };

	if (value->kind == JSON_NUMBER)
		number = json_read_number(value->raw);
	if (!number.is_whole || number.whole < 0 || number.whole > INT64_C(1000000000000000))
		return schema_refuse(r, p, "must be a whole number from 0 to 10^15");
	*count = (uint64_t)number.whole;
	return 0;
}

int schema_read_TRUTH(struct reading *r, uint32_t node, const struct schema_place *p, bool *truth)
{
	const struct json_node *value = schema_node(r, node);

	*truth = value->kind == JSON_TRUE;
	return value->kind == JSON_TRUE || value->kind == JSON_FALSE
		? 0
		: schema_refuse(r, p, "must be true or false");
}

int schema_read_PATTERN(
	struct reading *r, uint32_t node, const struct schema_place *p, pcre2_code **pattern)
{
	const struct json_node *value = schema_node(r, node);
	pcre2_compile_context *context;
	unsigned char text[120];
	PCRE2_SIZE offset;
	int code;

	if (value->kind != JSON_STRING)
		return schema_refuse(r, p, "must be a string");
	context = pcre2_compile_context_create(NULL);
	if (!context)
		return schema_no_memory(r);
	pcre2_set_max_pattern_length(context, PATTERN_MAX);
	pcre2_set_parens_nest_limit(context, 100);
	pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
	/*
	 * A callout before each item of the pattern is how a match is charged for, see
	 * schema_check.c.
	 */
	*pattern = pcre2_compile((PCRE2_SPTR)value->bytes, value->length,
		PCRE2_AUTO_CALLOUT | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
			PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
			PCRE2_NEVER_BACKSLASH_C,
		&code, &offset, context);
	pcre2_compile_context_free(context);
	if (*pattern)
		return 0;
	pcre2_get_error_message(code, text, sizeof text);
	return schema_refuse(r, p,
		"no regular expression that can be used (at most %d bytes): %s, at character %zu",
		PATTERN_MAX, (const char *)text, (size_t)offset);
}

int schema_compare_names(const void *a, const void *b)
{
	return json_tree_compare(
		*(const struct json_node *const *)a, *(const struct json_node *const *)b);
}

int schema_read_NAMES(
	struct reading *r, uint32_t node, const struct schema_place *p, struct schema_names *names)
{
	const struct json_node *list = schema_node(r, node);

	if (list->kind != JSON_ARRAY)
		return schema_refuse(r, p, "must be an array of names");
	names->names = calloc(list->count + 1, sizeof *names->names);
	if (!names->names)
		return schema_no_memory(r);
	for (uint32_t at = node + 1; at < list->end; at = schema_node(r, at)->end) {
		if (schema_node(r, at)->kind != JSON_STRING)
			return schema_refuse(r, p, "must be an array of names");
		names->names[names->count++] = schema_node(r, at);
	}
	qsort(names->names, names->count, sizeof *names->names, schema_compare_names);
	for (uint32_t i = 1; i < names->count; i++)
		if (schema_compare_names(&names->names[i - 1], &names->names[i]) == 0)
			return schema_refuse(r, p, "a name stands twice");
	return 0;
}
