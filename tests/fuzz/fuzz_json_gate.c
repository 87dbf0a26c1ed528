/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what the gate accepts, cJSON must accept too, and must read without losing
 * anything that the gate stands for.
 *
 * For every set of rules: the verdict may not depend on anything but the text, the reason is always
 * one printable line, and for an accepted text cJSON parses all of it, finds no key twice in one
 * object, and no string cut short.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/text.h"

/* Aborts when a key occurs twice in one object. */
static void check_tree(const cJSON *node)
{
	for (const cJSON *child = node->child; child; child = child->next) {
		if (cJSON_IsObject(node)) {
			for (const cJSON *other = child->next; other; other = other->next) {
				if (strcmp(child->string, other->string) == 0)
					abort();
			}
		}
		check_tree(child);
	}
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
	if (accepted[0]) {
		const char *end = NULL;
		cJSON *tree = cJSON_ParseWithLengthOpts((const char *)data, size, &end, 0);

		if (!tree || (accepted[1] && !cJSON_IsObject(tree)))
			abort();
		check_tree(tree);
		cJSON_Delete(tree);
	}
	return 0;
}
