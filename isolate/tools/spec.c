/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specifications. See spec.h.
 *
 * A table has each key with the function that reads it. The hash is over the canonical form of what
 * decides what a call does (implementation, imports, parameters), so white space, the order of keys
 * and the way a string is escaped do not make another tool, and a changed byte of code does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/text.h"

static const struct json_gate_rules RULES = {
	.max_bytes = SPEC_BYTES_MAX, .max_depth = SPEC_DEPTH_MAX, .must_be_object = true
};

struct reading {
	struct spec *spec;
	const struct json_tree *tree;
	struct error *err;
};

static int refuse(struct reading *r, const char *sentence)
{
	return error_set(r->err, FAILURE_SPEC_REFUSED, 0, "%s", sentence);
}

static int no_memory(struct error *err)
{
	return error_set(
		err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading the specification of a tool");
}

static const struct json_node *node_of(const struct reading *r, uint32_t node)
{
	return &r->tree->nodes[node];
}

/* A string of 1 to most bytes, copied. */
static int take_text(
	struct reading *r, uint32_t node, const char *key, size_t most, char **out, size_t *length)
{
	const struct json_node *value = node_of(r, node);

	if (value->kind != JSON_STRING || value->length == 0 || value->length > most)
		return error_set(r->err, FAILURE_SPEC_REFUSED, 0,
			"%s: must be a string of 1 to %zu bytes%s", key, most,
			value->kind == JSON_STRING ? "" : ", and is none");
	*out = strndup(value->bytes, value->length);
	if (length)
		*length = value->length;
	return *out ? 0 : no_memory(r->err);
}

static int read_name(struct reading *r, uint32_t node)
{
	const struct json_node *value = node_of(r, node);

	if (value->kind != JSON_STRING)
		return refuse(r, "name: must be a string");
	if (identity_check_tool(value->bytes, value->length, r->err) < 0)
		return -1;
	memcpy(r->spec->name, value->bytes, value->length);
	r->spec->name[value->length] = '\0';
	return 0;
}

static int read_description(struct reading *r, uint32_t node)
{
	return take_text(r, node, "description", SPEC_DESCRIPTION_MAX, &r->spec->description, NULL);
}

static int read_implementation(struct reading *r, uint32_t node)
{
	return take_text(r, node, "implementation", SPEC_IMPLEMENTATION_MAX,
		&r->spec->implementation, &r->spec->implementation_length);
}

/* Parts of letters, digits and _ with points between, none of which begins with a digit. */
static bool is_module(const struct json_node *name)
{
	bool begins = true;

	if (name->kind != JSON_STRING || name->length == 0 || name->length > 200)
		return false;
	for (uint32_t i = 0; i < name->length; i++) {
		char c = name->bytes[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_',
		     digit = c >= '0' && c <= '9';

		if (!(letter || (!begins && (digit || c == '.'))))
			return false;
		begins = c == '.';
	}
	return !begins;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_imports(struct reading *r, uint32_t node)
{
	const struct json_node *list = node_of(r, node);
	struct spec *s = r->spec;
	size_t kept = 0;

	if (list->kind != JSON_ARRAY || list->count > SPEC_IMPORTS_MAX)
		return refuse(
			r, "allowed_imports: must be an array of at most 256 names of modules");
	s->imports = calloc(list->count + 1, sizeof *s->imports);
	if (!s->imports)
		return no_memory(r->err);
	for (uint32_t at = node + 1; at < list->end; at = node_of(r, at)->end) {
		char shown[80];

		if (!is_module(node_of(r, at)))
			return error_set(r->err, FAILURE_SPEC_REFUSED, 0,
				"allowed_imports/%zu: %s is no name of a module (letters, digits "
				"and _ of ASCII, points between)",
				s->import_count,
				text_visible_into(shown, sizeof shown, node_of(r, at)->raw.text,
					node_of(r, at)->raw.length, TEXT_ONE_LINE));
		s->imports[s->import_count] =
			strndup(node_of(r, at)->bytes, node_of(r, at)->length);
		if (!s->imports[s->import_count++])
			return no_memory(r->err);
	}
	qsort(s->imports, s->import_count, sizeof *s->imports, compare_texts);
	for (size_t i = 0; i < s->import_count; i++) {
		if (i > 0 && strcmp(s->imports[kept - 1], s->imports[i]) == 0)
			free(s->imports[i]);
		else
			s->imports[kept++] = s->imports[i];
	}
	s->import_count = kept;
	return 0;
}

static int read_number(
	struct reading *r, uint32_t node, const char *key, double low, double high, double *out)
{
	double number = json_double(node_of(r, node)->raw, NAN);
	bool good = node_of(r, node)->kind == JSON_NUMBER && number >= low && number <= high;

	if (good)
		*out = number;
	return good ? 0
		    : error_set(r->err, FAILURE_SPEC_REFUSED, 0,
			      "%s: must be a number from %.15g to %.15g", key, low, high);
}

static int read_timeout(struct reading *r, uint32_t node)
{
	return read_number(r, node, "timeout_s", 0.001, 86400, &r->spec->timeout_s);
}

static int read_memory(struct reading *r, uint32_t node)
{
	return read_number(r, node, "memory_mb", 1, 1048576, &r->spec->memory_mb);
}

/* ---- parameters ---- */

static int compare_keys(const void *a, const void *b, void *nodes)
{
	const struct json_node *all = nodes;

	return json_tree_compare(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

/* The short form, written out. */
static int write_long_form(struct reading *r, uint32_t node, struct buffer *out)
{
	const struct json_node *object = node_of(r, node);
	uint32_t *keys = calloc(object->count + 1, sizeof *keys), count = 0;
	bool first = true;

	if (!keys)
		return no_memory(r->err);
	for (uint32_t at = node + 1; at < object->end; at = node_of(r, at + 1)->end)
		keys[count++] = at;
	qsort_r(keys, count, sizeof *keys, compare_keys, r->tree->nodes);
	buffer_add_text(out, "{\"additionalProperties\":false,\"properties\":");
	json_tree_canonical(r->tree, node, out);
	buffer_add_text(out, ",\"required\":[");
	for (uint32_t i = 0; i < count; i++) {
		if (json_tree_member(r->tree, keys[i] + 1, "default"))
			continue;
		buffer_add_text(out, first ? "" : ",");
		json_canonical_string(out, node_of(r, keys[i])->bytes, node_of(r, keys[i])->length);
		first = false;
	}
	buffer_add_text(out, "],\"type\":\"object\"}");
	free(keys);
	return 0;
}

static int read_parameters(struct reading *r, uint32_t node)
{
	struct spec *s = r->spec;
	uint32_t type = json_tree_member(r->tree, node, "type");

	if (node_of(r, node)->kind != JSON_OBJECT)
		return refuse(r,
			"parameters: must be an object: a JSON Schema of the type \"object\", or a "
			"map of names to schemas");
	if (type && node_of(r, type)->kind == JSON_STRING) {
		if (!json_tree_is(r->tree, type, "object"))
			return refuse(r,
				"parameters/type: must be \"object\": the arguments of a call are "
				"one");
		json_tree_canonical(r->tree, node, &s->parameters);
	} else if (json_tree_member(r->tree, node, "$ref") ||
		json_tree_member(r->tree, node, "$defs")) {
		return refuse(r, "parameters: a JSON Schema must say \"type\": \"object\"");
	} else if (write_long_form(r, node, &s->parameters) < 0) {
		return -1;
	}
	if (s->parameters.failed ||
		json_tree_read(&s->parameter_tree, s->parameters.data, s->parameters.length) < 0)
		return no_memory(r->err);
	s->schema = schema_read(&s->parameter_tree, 0, "parameters", r->err);
	return s->schema ? 0 : -1;
}

/* ---- the whole ---- */

static const struct {
	const char *name;
	bool required;
	int (*read)(struct reading *, uint32_t);
} KEYS[] = {
	{ "name", true, read_name },
	{ "description", true, read_description },
	{ "parameters", true, read_parameters },
	{ "implementation", true, read_implementation },
	{ "allowed_imports", false, read_imports },
	{ "timeout_s", false, read_timeout },
	{ "memory_mb", false, read_memory },
};
#define KEY_COUNT (sizeof KEYS / sizeof *KEYS)

static int read_keys(struct reading *r)
{
	bool seen[KEY_COUNT] = { false };
	char shown[80];

	for (uint32_t at = 1; at < node_of(r, 0)->end; at = node_of(r, at + 1)->end) {
		size_t i = 0;

		while (i < KEY_COUNT && !json_tree_is(r->tree, at, KEYS[i].name))
			i++;
		if (i == KEY_COUNT)
			return error_set(r->err, FAILURE_SPEC_REFUSED, 0,
				"unknown key \"%s\"; there are name, description, parameters, "
				"implementation, allowed_imports, timeout_s, memory_mb",
				text_visible_into(shown, sizeof shown, node_of(r, at)->bytes,
					node_of(r, at)->length, TEXT_ONE_LINE));
		seen[i] = true;
		if (KEYS[i].read(r, at + 1) < 0)
			return -1;
	}
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (KEYS[i].required && !seen[i])
			return error_set(
				r->err, FAILURE_SPEC_REFUSED, 0, "%s: is missing", KEYS[i].name);
	return 0;
}

static void write_imports(const struct spec *s, struct buffer *out)
{
	buffer_add_text(out, "{\"allowed_imports\":[");
	for (size_t i = 0; i < s->import_count; i++)
		buffer_printf(out, "%s\"%s\"", i ? "," : "", s->imports[i]);
	buffer_add_text(out, "]");
}

static int write_canonical(struct spec *s, struct error *err)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	_cleanup_buffer_ struct buffer code = BUFFER_INIT;

	write_imports(s, &code);
	buffer_add_text(&code, ",\"implementation\":");
	json_canonical_string(&code, s->implementation, s->implementation_length);
	buffer_add_text(&code, ",\"parameters\":");
	buffer_add(&code, s->parameters.data, s->parameters.length);
	buffer_add_text(&code, "}");
	write_imports(s, &s->canonical);
	buffer_add_text(&s->canonical, ",\"description\":");
	json_canonical_string(&s->canonical, s->description, strlen(s->description));
	buffer_add_text(&s->canonical, ",\"implementation\":");
	json_canonical_string(&s->canonical, s->implementation, s->implementation_length);
	buffer_printf(&s->canonical,
		",\"memory_mb\":%.15g,\"name\":\"%s\",\"parameters\":", s->memory_mb, s->name);
	buffer_add(&s->canonical, s->parameters.data, s->parameters.length);
	buffer_printf(&s->canonical, ",\"timeout_s\":%.15g}", s->timeout_s);
	if (!code.failed) {
		crypto_hash_sha256(digest, (const unsigned char *)code.data, code.length);
		sodium_bin2hex(s->hash, sizeof s->hash, digest, sizeof digest);
	}
	return s->hash[0] && !s->canonical.failed ? 0 : no_memory(err);
}

int spec_read(struct spec *spec, const char *text, size_t length, struct error *err)
{
	struct json_tree tree = { .nodes = NULL };
	struct reading r = { spec, &tree, err };
	char reason[256];
	int status = -1;

	*spec = (struct spec){ .timeout_s = 5, .memory_mb = 128 };
	if (!json_gate_check(&RULES, text, length, reason, sizeof reason)) {
		error_set(err, FAILURE_SPEC_REFUSED, 0,
			"the specification is not accepted as JSON: %s", reason);
		return -1;
	}
	if (json_tree_read(&tree, text, length) < 0)
		no_memory(err);
	else if (read_keys(&r) == 0)
		status = write_canonical(spec, err);
	json_tree_free(&tree);
	if (status < 0)
		spec_free(spec);
	return status;
}

void spec_free(struct spec *s)
{
	for (size_t i = 0; i < s->import_count; i++)
		free(s->imports[i]);
	free(s->imports);
	free(s->description);
	free(s->implementation);
	schema_free(s->schema);
	json_tree_free(&s->parameter_tree);
	buffer_free(&s->parameters);
	buffer_free(&s->canonical);
	*s = (struct spec){ .timeout_s = 0 };
}

int spec_check_ceilings(const struct spec *s, struct error *err)
{
	const struct {
		const char *key;
		double value, most;
	} CEILINGS[] = { { "timeout_s", s->timeout_s, SPEC_TIMEOUT_MOST },
		{ "memory_mb", s->memory_mb, SPEC_MEMORY_MOST } };

	for (size_t i = 0; i < sizeof CEILINGS / sizeof *CEILINGS; i++)
		if (CEILINGS[i].value > CEILINGS[i].most)
			return error_set(err, FAILURE_SPEC_REFUSED, 0,
				"%s: %.15g is more than a tool may have, which is %.15g",
				CEILINGS[i].key, CEILINGS[i].value, CEILINGS[i].most);
	return 0;
}

int spec_check_arguments(const struct spec *s, const char *text, size_t length, struct error *err)
{
	struct buffer why = BUFFER_INIT;
	struct json_tree tree;
	int status;

	if (json_tree_read(&tree, text, length) < 0)
		return error_set(err,
			errno == E2BIG ? FAILURE_ARGUMENTS_REFUSED : FAILURE_RESOURCES_EXHAUSTED,
			errno, "the arguments of %s hold too many values", s->name);
	status = schema_check(s->schema, &tree, s->timeout_s, &why);
	if (status < 0)
		no_memory(err);
	else if (status == SCHEMA_REFUSED)
		status = error_set(err, FAILURE_ARGUMENTS_REFUSED, 0, "%s: %s", s->name,
			why.length ? why.data : "");
	json_tree_free(&tree);
	buffer_free(&why);
	return status;
}

uint32_t spec_lines(const struct spec *s)
{
	uint32_t lines = 0;

	for (size_t i = 0; i < s->implementation_length; i++)
		lines += s->implementation[i] == '\n';
	return lines +
		(s->implementation_length > 0 &&
			s->implementation[s->implementation_length - 1] != '\n');
}
