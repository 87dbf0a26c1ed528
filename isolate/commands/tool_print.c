/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of `cordon tool` for people. See tool.h.
 *
 * Every text of a result may be a model's, so each goes through the sanitiser. A table is laid out
 * by columns of a terminal, and what is long is cut there, never in what an operator decides on:
 * that is `tool show`, which cuts nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/tool.h"
#include "isolate/base/json_read.h"
#include "isolate/base/text.h"

#define COLUMNS_MAX 8

static const char *text_in(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(value) ? value->valuestring : "";
}

static long long number_in(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? (long long)value->valuedouble : 0;
}

static void add_visible(struct buffer *out, const char *text)
{
	text_visible(out, text, strlen(text), TEXT_ONE_LINE);
}

/* Writes what was laid out, without the newline at its end. */
static int finish(struct buffer *out, cJSON *tree)
{
	int status;

	if (out->length > 0 && out->data[out->length - 1] == '\n')
		out->data[--out->length] = '\0';
	status = out->length > 0 || out->failed ? answer_line(out) : EXIT_OK;
	buffer_free(out);
	cJSON_Delete(tree);
	return status;
}

static cJSON *parse(const struct buffer *result)
{
	return result->length ? cJSON_ParseWithLength(result->data, result->length) : NULL;
}

/* ---- tables ---- */

struct column {
	const char *title, *key;
	unsigned most; /* characters; 0: as long as it is */
	/* NULL: the text of key */
	void (*add)(struct buffer *out, const cJSON *row, const char *key);
};

static void add_tool(struct buffer *out, const cJSON *row, const char *key)
{
	add_visible(out, text_in(row, key));
	buffer_printf(out, "@%lld", number_in(row, "version"));
}

static void add_calls(struct buffer *out, const cJSON *row, const char *key)
{
	(void)key;
	buffer_printf(out, "%lld+%lld", number_in(row, "successes"), number_in(row, "failures"));
}

static void add_hash(struct buffer *out, const cJSON *row, const char *key)
{
	buffer_printf(out, "%.12s", text_in(row, key));
}

static void add_second(struct buffer *out, const cJSON *row, const char *key)
{
	buffer_printf(out, "%.19s", text_in(row, key));
}

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* The text of a cell, cut to its column. */
static char *cell(const struct column *c, const cJSON *row)
{
	struct buffer text = BUFFER_INIT;
	char *at, *end;

	if (c->add)
		c->add(&text, row, c->key);
	else
		add_visible(&text, text_in(row, c->key));
	if (!text.data)
		return strdup("");
	if (c->most && count_characters(text.data) > c->most) {
		size_t kept = 0;

		for (at = text.data, end = NULL; *at; at++)
			if (((unsigned char)*at & 0xc0) != 0x80 && kept++ == c->most - 3) {
				end = at;
				break;
			}
		if (end) {
			*end = '\0';
			text.length = (size_t)(end - text.data);
			buffer_add_text(&text, "...");
		}
	}
	return text.data;
}

static void add_table(
	struct buffer *out, const cJSON *rows, const struct column *columns, size_t count)
{
	size_t widths[COLUMNS_MAX];
	const cJSON *row;

	for (size_t i = 0; i < count; i++)
		widths[i] = strlen(columns[i].title);
	cJSON_ArrayForEach (row, rows) {
		for (size_t i = 0; i < count; i++) {
			char *text = cell(&columns[i], row);

			if (text && count_characters(text) > widths[i])
				widths[i] = count_characters(text);
			free(text);
		}
	}
	for (size_t i = 0; i < count; i++)
		buffer_printf(out, "%-*s%s", i + 1 < count ? (int)widths[i] : 0, columns[i].title,
			i + 1 < count ? "  " : "");
	buffer_add_text(out, "\n");
	cJSON_ArrayForEach (row, rows) {
		for (size_t i = 0; i < count; i++) {
			char *text = cell(&columns[i], row);

			buffer_add_text(out, text ? text : "");
			for (size_t used = text ? count_characters(text) : 0;
				i + 1 < count && used < widths[i] + 2; used++)
				buffer_add_text(out, " ");
			free(text);
		}
		buffer_add_text(out, "\n");
	}
}

int tool_print_list(const struct buffer *result, const char *key)
{
	static const struct column COLUMNS[] = {
		{ "USER", "user", 20, NULL },
		{ "TOOL", "name", 0, add_tool },
		{ "HASH", "hash", 0, add_hash },
		{ "STATE", "state", 0, NULL },
		{ "POLICY", "policy", 0, NULL },
		{ "CALLS", "successes", 0, add_calls },
		{ "CREATED", "created", 0, add_second },
		{ "DESCRIPTION", "description", 60, NULL },
	};
	cJSON *tree = parse(result);
	const cJSON *broken;
	struct buffer out = BUFFER_INIT;

	add_table(&out, cJSON_GetObjectItemCaseSensitive(tree, key), COLUMNS,
		sizeof COLUMNS / sizeof *COLUMNS);
	cJSON_ArrayForEach (broken, cJSON_GetObjectItemCaseSensitive(tree, "broken"))
		fprintf(stderr, "cordon: the library of %s cannot be read: %s [%s]\n",
			text_in(broken, "user"), text_in(broken, "error"), text_in(broken, "code"));
	return finish(&out, tree);
}

int tool_print_history(const struct buffer *result)
{
	static const struct column COLUMNS[] = {
		{ "TIME", "time", 0, add_second },
		{ "TOOL", "name", 0, add_tool },
		{ "HASH", "hash", 0, add_hash },
		{ "DECISION", "decision", 0, NULL },
		{ "BY", "by", 40, NULL },
		{ "REASON", "reason", 0, NULL },
	};
	cJSON *tree = parse(result);
	struct buffer out = BUFFER_INIT;

	add_table(&out, cJSON_GetObjectItemCaseSensitive(tree, "history"), COLUMNS,
		sizeof COLUMNS / sizeof *COLUMNS);
	return finish(&out, tree);
}

/* ---- one tool ---- */

/* The version that a decision gave its promotion back. */
static void add_restored(struct buffer *out, const cJSON *tree)
{
	const cJSON *restored = cJSON_GetObjectItemCaseSensitive(tree, "restored");

	if (!restored)
		return;
	add_visible(out, text_in(restored, "name"));
	buffer_printf(out, "@%lld is the promoted version again, hash %s\n",
		number_in(restored, "version"), text_in(restored, "hash"));
}

int tool_print_item(const struct buffer *result)
{
	cJSON *tree = parse(result);
	struct buffer out = BUFFER_INIT;

	add_visible(&out, text_in(tree, "name"));
	buffer_printf(&out,
		"@%lld %s, %s (threshold %lld), %lld calls succeeded and %lld failed\nhash %s\n",
		number_in(tree, "version"), text_in(tree, "state"), text_in(tree, "policy"),
		number_in(tree, "threshold"), number_in(tree, "successes"),
		number_in(tree, "failures"), text_in(tree, "hash"));
	add_restored(&out, tree);
	return finish(&out, tree);
}

int tool_print_numbers(const struct buffer *result)
{
	cJSON *tree = parse(result);
	struct buffer out = BUFFER_INIT;
	const cJSON *item;

	cJSON_ArrayForEach (item, tree)
		if (cJSON_IsNumber(item))
			buffer_printf(&out, "%s%s %lld", out.length ? ", " : "", item->string,
				(long long)item->valuedouble);
	buffer_add_text(&out, "\n");
	add_restored(&out, tree);
	return finish(&out, tree);
}

static void add_capabilities(struct buffer *out, const cJSON *list, bool compared)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		bool changed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "changed"));

		buffer_printf(
			out, "  %c %-16s ", compared && changed ? '!' : ' ', text_in(item, "what"));
		if (compared && changed) {
			add_visible(
				out, *text_in(item, "before") ? text_in(item, "before") : "none");
			buffer_add_text(out, "  ->  ");
		}
		add_visible(out, *text_in(item, "after") ? text_in(item, "after") : "none");
		buffer_add_text(out, "\n");
	}
}

static void add_block(struct buffer *out, const char *title, const char *text)
{
	buffer_printf(out, "\n%s\n", title);
	text_visible(out, text, strlen(text), TEXT_LINES);
	if (*text && text[strlen(text) - 1] != '\n')
		buffer_add_text(out, "\n");
}

/*
 * Code with the numbers of its lines, and a line that marks its end: no line of the code looks like
 * what follows it.
 */
static void add_code(struct buffer *out, const char *title, const char *text)
{
	unsigned number = 0;

	buffer_printf(out, "\n%s\n", title);
	for (const char *line = text; *line; number++) {
		size_t length = strcspn(line, "\n");

		buffer_printf(out, "%5u  ", number + 1);
		text_visible(out, line, length, TEXT_ONE_LINE);
		buffer_add_text(out, "\n");
		line += length + (line[length] == '\n');
	}
	buffer_printf(out, "  end  of %s, %u line%s\n", title, number, number == 1 ? "" : "s");
}

static void add_runs(struct buffer *out, const cJSON *runs)
{
	const cJSON *run;

	buffer_printf(out, "\nruns (%d shown, newest first)\n", cJSON_GetArraySize(runs));
	cJSON_ArrayForEach (run, runs) {
		bool good = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "success"));

		buffer_printf(out, "  %.19s %8.1f ms  %s", text_in(run, "time"),
			cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(run, "duration_ms")),
			good ? "succeeded" : "failed: ");
		add_visible(out, text_in(run, "error"));
		buffer_add_text(out, "\n");
	}
}

int tool_print_shown(const struct buffer *result)
{
	cJSON *tree = parse(result);
	const cJSON *previous = cJSON_GetObjectItemCaseSensitive(tree, "previous");
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(tree, "spec");
	struct buffer out = BUFFER_INIT;

	add_visible(&out, text_in(tree, "name"));
	buffer_printf(&out,
		"@%lld of %s: %s, %s (threshold %lld), %lld calls succeeded and %lld failed\nhash "
		"%s\n",
		number_in(tree, "version"), text_in(tree, "user"), text_in(tree, "state"),
		text_in(tree, "policy"), number_in(tree, "threshold"), number_in(tree, "successes"),
		number_in(tree, "failures"), text_in(tree, "hash"));
	buffer_printf(&out,
		"a decision on it: cordon tool promote --user %s %s@%lld@%.12s, or reject\n",
		text_in(tree, "user"), text_in(tree, "name"), number_in(tree, "version"),
		text_in(tree, "hash"));
	buffer_printf(&out, "spawned %.19s", text_in(tree, "created"));
	if (*text_in(tree, "decided")) {
		buffer_printf(&out, "; decided %.19s by ", text_in(tree, "decided"));
		add_visible(&out, text_in(tree, "decided_by"));
		buffer_add_text(&out, ": ");
		add_visible(&out, text_in(tree, "reason"));
	}
	buffer_add_text(&out, "\n");
	add_visible(&out, text_in(tree, "description"));
	if (cJSON_IsObject(previous))
		buffer_printf(&out,
			"\n\nwhat it may do and touched, beside version %lld (%.12s), which was "
			"promoted\n",
			number_in(previous, "version"), text_in(previous, "hash"));
	else
		buffer_add_text(
			&out, "\n\nwhat it may do and touched (no version was promoted before)\n");
	add_capabilities(&out, cJSON_GetObjectItemCaseSensitive(tree, "capabilities"),
		cJSON_IsObject(previous));
	if (cJSON_IsObject(previous))
		add_block(&out, "what changed in the code",
			*text_in(tree, "diff") ? text_in(tree, "diff") : "nothing");
	add_code(&out, "implementation", text_in(spec, "implementation"));
	add_runs(&out, cJSON_GetObjectItemCaseSensitive(tree, "runs"));
	return finish(&out, tree);
}
