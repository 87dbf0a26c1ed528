/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the specification of a tool and, after a NUL byte, arguments for it.
 *
 * Whatever comes: what is accepted has a canonical form that is accepted again and is its own, with
 * the same hash; what is refused has a code and a printable reason. Arguments that passed the gate
 * get an answer, and the same one from the specification read back. The flat tree's canonical form
 * passes the gate.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/tools/spec.h"

static const struct json_gate_rules ANY = { .max_depth = 512, .allow_nul = true };

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_refusal(const struct error *err)
{
	must(err->code == FAILURE_SPEC_REFUSED || err->code == FAILURE_IDENTITY_REFUSED ||
		err->code == FAILURE_ARGUMENTS_REFUSED || err->code == FAILURE_RESOURCES_EXHAUSTED);
	must(err->context[0] != '\0');
	for (const char *c = err->context; *c; c++)
		must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void check_tree(const char *text, size_t length)
{
	struct buffer once = BUFFER_INIT, twice = BUFFER_INIT;
	struct json_tree tree;
	char reason[240];

	if (!json_gate_check(&ANY, text, length, reason, sizeof reason))
		return;
	must(json_tree_read(&tree, text, length) == 0 && tree.nodes[0].end == tree.count);
	json_tree_canonical(&tree, 0, &once);
	json_tree_free(&tree);
	must(json_gate_check(&ANY, once.data, once.length, reason, sizeof reason));
	must(json_tree_read(&tree, once.data, once.length) == 0);
	json_tree_canonical(&tree, 0, &twice);
	json_tree_free(&tree);
	must(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
	buffer_free(&once);
	buffer_free(&twice);
}

static void check_arguments(
	const struct spec *one, const struct spec *two, const char *text, size_t length)
{
	struct error err = ERROR_INIT, again = ERROR_INIT;
	char reason[240];
	int status;

	if (!json_gate_check(&JSON_GATE_ARGUMENTS, text, length, reason, sizeof reason))
		return;
	status = spec_check_arguments(one, text, length, &err);
	if (status < 0)
		check_refusal(&err);
	must(spec_check_arguments(two, text, length, &again) == status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, '\0', size);
	size_t length = nul ? (size_t)(nul - data) : size;
	struct error err = ERROR_INIT;
	char *text = malloc(size + 1);
	struct spec spec, again;

	if (!text)
		return 0;
	memcpy(text, data, size);
	check_tree(text, length);
	if (spec_read(&spec, text, length, &err) == 0) {
		must(spec_read(&again, spec.canonical.data, spec.canonical.length, &err) == 0);
		must(spec.canonical.length == again.canonical.length &&
			memcmp(spec.canonical.data, again.canonical.data, spec.canonical.length) ==
				0);
		must(strcmp(spec.hash, again.hash) == 0 && strlen(spec.hash) == 64);
		if (nul)
			check_arguments(&spec, &again, text + length + 1, size - length - 1);
		spec_free(&again);
		spec_free(&spec);
	} else {
		check_refusal(&err);
	}
	free(text);
	return 0;
}
