/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical forms of JSON, for hashes and for comparing values. See json_read.h.
 *
 * Only objects sort anything. Recursion is as deep as the document, which the gate bounds.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_canonical_string(struct buffer *out, const char *bytes, size_t length)
{
	static const char NAMED[] = "\b\t\n\f\r\"\\", WRITTEN[] = "btnfr\"\\";
	size_t plain = 0;

	buffer_add(out, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		const char *named = bytes[i] ? strchr(NAMED, bytes[i]) : NULL;

		if ((unsigned char)bytes[i] >= 0x20 && !named)
			continue;
		buffer_add(out, bytes + plain, i - plain);
		plain = i + 1;
		if (named)
			buffer_printf(out, "\\%c", WRITTEN[named - NAMED]);
		else
			buffer_printf(out, "\\u%04x", (unsigned char)bytes[i]);
	}
	buffer_add(out, bytes + plain, length - plain);
	buffer_add(out, "\"", 1);
}

static int compare_keys(const void *a, const void *b, void *nodes)
{
	const struct json_node *all = nodes;

	return json_tree_compare(&all[*(const uint32_t *)a], &all[*(const uint32_t *)b]);
}

/* Integers beyond 64 bits stay as they are written: that is their one form. */
static void write_number(struct json_slice value, struct buffer *out)
{
	struct json_number number = json_read_number(value);
	bool is_integer = true;

	for (size_t i = 0; i < value.length; i++)
		is_integer &=
			value.text[i] == '-' || (value.text[i] >= '0' && value.text[i] <= '9');
	if (number.is_whole)
		buffer_printf(out, "%" PRId64, number.whole);
	else if (is_integer)
		buffer_add(out, value.text, value.length);
	else if (fabs(number.real) >= 0x1p53)
		buffer_printf(out, "%.0f", number.real);
	else
		buffer_printf(out, "%.17g", number.real);
}

static void write_node(const struct json_tree *t, uint32_t index, bool normal, struct buffer *out);

static void write_object(
	const struct json_tree *t, uint32_t object, bool normal, struct buffer *out)
{
	const struct json_node *node = &t->nodes[object];
	uint32_t *keys = calloc(node->count + 1, sizeof *keys), count = 0;

	if (!keys) {
		out->failed = true;
		return;
	}
	for (uint32_t at = object + 1; at < node->end; at = t->nodes[at + 1].end)
		keys[count++] = at;
	qsort_r(keys, count, sizeof *keys, compare_keys, t->nodes);
	buffer_add(out, "{", 1);
	for (uint32_t i = 0; i < count; i++) {
		buffer_add(out, ",", i > 0);
		json_canonical_string(out, t->nodes[keys[i]].bytes, t->nodes[keys[i]].length);
		buffer_add(out, ":", 1);
		write_node(t, keys[i] + 1, normal, out);
	}
	buffer_add(out, "}", 1);
	free(keys);
}

static void write_node(const struct json_tree *t, uint32_t index, bool normal, struct buffer *out)
{
	const struct json_node *node = &t->nodes[index];

	if (node->kind == JSON_STRING) {
		json_canonical_string(out, node->bytes, node->length);
	} else if (node->kind == JSON_OBJECT) {
		write_object(t, index, normal, out);
	} else if (node->kind == JSON_ARRAY) {
		buffer_add(out, "[", 1);
		for (uint32_t at = index + 1; at < node->end; at = t->nodes[at].end) {
			buffer_add(out, ",", at > index + 1);
			write_node(t, at, normal, out);
		}
		buffer_add(out, "]", 1);
	} else if (node->kind == JSON_NUMBER && normal) {
		write_number(node->raw, out);
	} else {
		buffer_add(out, node->raw.text, node->raw.length);
	}
}

void json_tree_canonical(const struct json_tree *t, uint32_t node, struct buffer *out)
{
	write_node(t, node, false, out);
}

void json_tree_normal(const struct json_tree *t, uint32_t node, struct buffer *out)
{
	write_node(t, node, true, out);
}
