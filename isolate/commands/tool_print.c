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

#include "isolate/commands/print_record.h"
#include "isolate/commands/tool.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/json_read.h"
#include "isolate/base/text.h"

#define COLUMNS_MAX 8

static struct json_slice whole(const struct buffer *result)
{
	return json_slice(result->data, result->length);
}

/* Appends a member in its visible form, a string of at most `most` bytes (0: all of it). */
static void add_member(
	struct buffer *out, struct json_slice object, const char *key, unsigned long most)
{
	struct json_slice value = json_get(object, key);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (json_decode(value, &text))
		text_visible(out, text.data, most && most < text.length ? most : text.length,
			TEXT_ONE_LINE);
	else if (!json_is_null(value))
		json_visible(value, out);
}

/* Appends a template in which {KEY} and {KEY:MOST} stand for members of an object. */
static void add_filled(struct buffer *out, struct json_slice object, const char *template)
{
	for (const char *at = template; *at; at++) {
		char key[40];

		if (*at != '{') {
			buffer_add(out, at, 1);
			continue;
		}
		snprintf(key, sizeof key, "%.*s", (int)strcspn(at + 1, ":}"), at + 1);
		at += 1 + strlen(key);
		add_member(out, object, key, *at == ':' ? strtoul(at + 1, NULL, 10) : 0);
		at += strcspn(at, "}");
	}
}

static bool has_text(struct json_slice value)
{
	return json_kind(value) == JSON_STRING && value.length > 2;
}

/* Writes what was laid out, without the newline at its end. */
static int finish(struct buffer *out)
{
	int status;

	if (out->length > 0 && out->data[out->length - 1] == '\n')
		out->data[--out->length] = '\0';
	status = out->length > 0 || out->failed ? answer_line(out) : EXIT_OK;
	buffer_free(out);
	return status;
}

/* ---- tables ---- */

struct column {
	const char *title, *template;
	unsigned most; /* characters; 0: as long as it is */
};

static size_t count_characters(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* The text of a cell, cut to its column. */
static char *cell(const struct column *c, struct json_slice row)
{
	struct buffer text = BUFFER_INIT;
	char *at, *end;

	add_filled(&text, row, c->template);
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
	struct buffer *out, struct json_slice rows, const struct column *columns, size_t count)
{
	size_t widths[COLUMNS_MAX];
	struct json_slice row;

	for (size_t i = 0; i < count; i++)
		widths[i] = strlen(columns[i].title);
	for (size_t at = 0; json_item(rows, &at, &row);) {
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
	for (size_t at = 0; json_item(rows, &at, &row);) {
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
		{ "USER", "{user}", 20 },
		{ "TOOL", "{name}@{version}", 0 },
		{ "HASH", "{hash:12}", 0 },
		{ "STATE", "{state}", 0 },
		{ "POLICY", "{policy}", 0 },
		{ "CALLS", "{successes}+{failures}", 0 },
		{ "CREATED", "{created:19}", 0 },
		{ "DESCRIPTION", "{description}", 60 },
	};
	struct json_slice broken;
	struct buffer out = BUFFER_INIT, warnings = BUFFER_INIT;

	add_table(&out, json_get(whole(result), key), COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
	for (size_t at = 0; json_item(json_get(whole(result), "broken"), &at, &broken);)
		add_filled(&warnings, broken,
			"cordon: the library of {user} cannot be read: {error} [{code}]\n");
	fputs(warnings.length ? warnings.data : "", stderr);
	buffer_free(&warnings);
	return finish(&out);
}

int tool_print_history(const struct buffer *result)
{
	static const struct column COLUMNS[] = {
		{ "TIME", "{time:19}", 0 },
		{ "TOOL", "{name}@{version}", 0 },
		{ "HASH", "{hash:12}", 0 },
		{ "DECISION", "{decision}", 0 },
		{ "BY", "{by}", 40 },
		{ "REASON", "{reason}", 0 },
	};
	struct buffer out = BUFFER_INIT;

	add_table(&out, json_get(whole(result), "history"), COLUMNS,
		sizeof COLUMNS / sizeof *COLUMNS);
	return finish(&out);
}

/* ---- one tool ---- */

/* The version that a decision gave its promotion back. */
static void add_restored(struct buffer *out, struct json_slice answer)
{
	struct json_slice restored = json_get(answer, "restored");

	if (restored.text)
		add_filled(out, restored,
			"{name}@{version} is the promoted version again, hash {hash}\n");
}

int tool_print_item(const struct buffer *result)
{
	struct buffer out = BUFFER_INIT;

	add_filled(&out, whole(result),
		"{name}@{version} {state}, {policy} (threshold {threshold}), {successes} calls "
		"succeeded and {failures} failed\nhash {hash}\n");
	add_restored(&out, whole(result));
	return finish(&out);
}

int tool_print_numbers(const struct buffer *result)
{
	struct json_slice key, value;
	struct buffer out = BUFFER_INIT;

	for (size_t at = 0; json_next(whole(result), &at, &key, &value);)
		if (value.text[0] >= '0' && value.text[0] <= '9')
			buffer_printf(&out, "%s%.*s %.*s", out.length ? ", " : "", (int)key.length,
				key.text, (int)value.length, value.text);
	buffer_add_text(&out, "\n");
	add_restored(&out, whole(result));
	return finish(&out);
}

static void add_capabilities(struct buffer *out, struct json_slice list, bool compared)
{
	struct json_slice item;

	for (size_t at = 0; json_item(list, &at, &item);) {
		bool changed = compared && json_is_true(json_get(item, "changed"));
		_cleanup_free_ char *what = json_dup(json_get(item, "what"));

		buffer_printf(out, "  %c %-16s ", changed ? '!' : ' ', what ? what : "");
		if (changed) {
			add_filled(out, item,
				has_text(json_get(item, "before")) ? "{before}" : "none");
			buffer_add_text(out, "  ->  ");
		}
		add_filled(out, item, has_text(json_get(item, "after")) ? "{after}" : "none");
		buffer_add_text(out, "\n");
	}
}

static void add_block(struct buffer *out, const char *title, const struct buffer *text)
{
	buffer_printf(out, "\n%s\n", title);
	text_visible(out, text->data, text->length, TEXT_LINES);
	if (text->length > 0 && text->data[text->length - 1] != '\n')
		buffer_add_text(out, "\n");
}

/*
 * Code with the numbers of its lines, and a line that marks its end: no line of the code looks like
 * what follows it.
 */
static void add_code(struct buffer *out, const char *title, const struct buffer *text)
{
	unsigned number = 0;

	buffer_printf(out, "\n%s\n", title);
	for (size_t at = 0, length; at < text->length; at += length + 1, number++) {
		const char *newline = memchr(text->data + at, '\n', text->length - at);

		length = newline ? (size_t)(newline - text->data) - at : text->length - at;
		buffer_printf(out, "%5u  ", number + 1);
		text_visible(out, text->data + at, length, TEXT_ONE_LINE);
		buffer_add_text(out, "\n");
	}
	buffer_printf(out, "  end  of %s, %u line%s\n", title, number, number == 1 ? "" : "s");
}

static void add_runs(struct buffer *out, struct json_slice runs)
{
	struct json_slice run;
	int count = 0;

	for (size_t at = 0; json_item(runs, &at, &run);)
		count++;
	buffer_printf(out, "\nruns (%d shown, newest first)\n", count);
	for (size_t at = 0; json_item(runs, &at, &run);) {
		add_filled(out, run, "  {time:19}");
		buffer_printf(out, " %8.1f ms  ", json_double(json_get(run, "duration_ms"), 0));
		add_filled(out, run,
			json_is_true(json_get(run, "success")) ? "succeeded{error}\n"
							       : "failed: {error}\n");
	}
}

int tool_print_shown(const struct buffer *result)
{
	struct json_slice shown = whole(result), previous = json_get(shown, "previous");
	_cleanup_buffer_ struct buffer diff = BUFFER_INIT, code = BUFFER_INIT;
	struct buffer out = BUFFER_INIT;

	json_decode(json_get(shown, "diff"), &diff);
	json_decode(json_get(json_get(shown, "spec"), "implementation"), &code);
	if (diff.length == 0)
		buffer_add_text(&diff, "nothing");

	add_filled(&out, shown,
		"{name}@{version} of {user}: {state}, {policy} (threshold {threshold}), "
		"{successes} calls succeeded and {failures} failed\nhash {hash}\n"
		"a decision on it: cordon tool promote --user {user} {name}@{version}@{hash:12}, "
		"or reject\nspawned {created:19}");
	if (has_text(json_get(shown, "decided")))
		add_filled(&out, shown, "; decided {decided:19} by {decided_by}: {reason}");
	add_filled(&out, shown, "\n{description}\n\nwhat it may do and touched");
	if (!json_is_null(previous))
		add_filled(&out, previous,
			", beside version {version} ({hash:12}), which was promoted\n");
	else
		buffer_add_text(&out, " (no version was promoted before)\n");
	add_capabilities(&out, json_get(shown, "capabilities"), !json_is_null(previous));
	if (!json_is_null(previous))
		add_block(&out, "what changed in the code", &diff);
	add_code(&out, "implementation", &code);
	add_runs(&out, json_get(shown, "runs"));
	return finish(&out);
}
