/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges documents by schemas, for tests/tools/schema_suite.t: each line of standard input is
 * ["schema",…], two JSON values in an array; for each a line comes out: valid, invalid, or
 * "refused: " and why the schema is not one that tools may have.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/tools/schema.h"

static const struct json_gate_rules ANY = { .max_depth = 256, .allow_nul = true };

static int read_part(struct json_tree *out, const struct json_tree *pair, uint32_t node)
{
	return json_tree_read(out, pair->nodes[node].raw.text, pair->nodes[node].raw.length);
}

static void judge(const struct json_tree *pair)
{
	struct error err = ERROR_INIT;
	struct buffer why = BUFFER_INIT;
	struct json_tree schema, document;
	struct schema_set *set;

	if (read_part(&schema, pair, 1) < 0)
		return;
	set = schema_read(&schema, 0, "parameters", &err);
	if (!set) {
		printf("refused: %s\n", err.context);
	} else if (read_part(&document, pair, pair->nodes[1].end) == 0) {
		printf("%s\n",
			schema_check(set, &document, 5, &why) == SCHEMA_OK ? "valid" : "invalid");
		json_tree_free(&document);
	}
	buffer_free(&why);
	schema_free(set);
	json_tree_free(&schema);
}

int main(void)
{
	char *line = NULL, reason[240];
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) > 0) {
		struct json_tree pair;

		length -= line[length - 1] == '\n';
		if (!json_gate_check(&ANY, line, (size_t)length, reason, sizeof reason)) {
			printf("refused: %s\n", reason);
		} else if (json_tree_read(&pair, line, (size_t)length) == 0) {
			judge(&pair);
			json_tree_free(&pair);
		}
	}
	free(line);
	return ferror(stdin) ? 1 : 0;
}
