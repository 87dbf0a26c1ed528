/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what the gate accepts, both forms of the reader must read, and alike.
 *
 * For every set of rules: the verdict may not depend on anything but the text, the reason is always
 * one printable line, and for an accepted text the nodes and the slices have the same members,
 * items and strings, and no key stands twice in one object.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/base/text.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool is_same(struct json_slice a, struct json_slice b)
{
	return a.text == b.text && a.length == b.length;
}

static void check_string(const struct json_node *node)
{
	struct buffer bytes = BUFFER_INIT;

	must(json_decode(node->raw, &bytes) && bytes.length == node->length &&
		(bytes.length == 0 || memcmp(bytes.data, node->bytes, bytes.length) == 0));
	buffer_free(&bytes);
}

static void check_object(const struct json_tree *t, uint32_t object)
{
	struct json_slice key, value;
	uint32_t in = object + 1, count = 0;

	for (size_t at = 0; json_next(t->nodes[object].raw, &at, &key, &value); count++) {
		must(in < t->nodes[object].end && key.text == t->nodes[in].raw.text + 1);
		must(is_same(value, t->nodes[in + 1].raw));
		for (uint32_t other = object + 1; other < in; other = t->nodes[other + 1].end)
			must(json_tree_compare(&t->nodes[other], &t->nodes[in]) != 0);
		in = t->nodes[in + 1].end;
	}
	must(in == t->nodes[object].end && count == t->nodes[object].count);
}

static void check_array(const struct json_tree *t, uint32_t array)
{
	struct json_slice item;
	uint32_t in = array + 1, count = 0;

	for (size_t at = 0; json_item(t->nodes[array].raw, &at, &item); count++) {
		must(in < t->nodes[array].end && is_same(item, t->nodes[in].raw));
		in = t->nodes[in].end;
	}
	must(in == t->nodes[array].end && count == t->nodes[array].count);
}

static void check_readers(const char *text, size_t length, bool is_object)
{
	struct json_tree t;

	must(json_tree_read(&t, text, length) == 0 && t.nodes[0].end == t.count);
	must(!is_object || t.nodes[0].kind == JSON_OBJECT);
	for (uint32_t i = 0; i < t.count; i++) {
		must(json_kind(t.nodes[i].raw) == t.nodes[i].kind);
		if (t.nodes[i].kind == JSON_STRING)
			check_string(&t.nodes[i]);
		else if (t.nodes[i].kind == JSON_OBJECT)
			check_object(&t, i);
		else if (t.nodes[i].kind == JSON_ARRAY)
			check_array(&t, i);
	}
	json_tree_free(&t);
}

static void check_reason(const char *reason, size_t size)
{
	size_t length = strnlen(reason, size);

	if (length == 0 || length == size)
		abort();
	for (size_t at = 0; at < length;) {
		uint32_t code_point;
		size_t step = text_decode(
			(const unsigned char *)reason + at, length - at, &code_point, NULL);

		if (step == 0 || text_is_hidden(code_point))
			abort();
		at += step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_gate_rules rules[] = {
		{ .max_depth = 64 },
		{ .max_depth = 64, .must_be_object = true },
		{ .max_depth = 8, .one_line = true },
		{ .max_depth = 4096, .allow_nul = true },
	};
	bool accepted[4];

	for (size_t i = 0; i < 4; i++) {
		char reason[240];

		accepted[i] =
			json_gate_check(&rules[i], (const char *)data, size, reason, sizeof reason);
		if (!accepted[i])
			check_reason(reason, sizeof reason);
	}
	/* Stricter rules may only refuse more. */
	if ((accepted[1] && !accepted[0]) || (accepted[2] && !accepted[0]) ||
		(accepted[0] && !accepted[3]))
		abort();
	if (accepted[2] && (memchr(data, '\n', size) || memchr(data, '\r', size)))
		abort();
	if (accepted[3])
		check_readers((const char *)data, size, accepted[1]);
	return 0;
}
