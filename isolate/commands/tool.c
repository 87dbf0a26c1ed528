/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon tool: what was typed becomes the parameters of an action, and its result is printed.
 *
 * A table has a row for each subcommand: its action, the word that follows, and the function that
 * prints. Nothing is decided here; see isolate/tools/action.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/manual_tables.h"
#include "isolate/commands/help.h"
#include "isolate/commands/remote.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/failure_record.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/options/option_table.h"
#include "isolate/base/text.h"

enum word { NOTHING, A_FILE, A_NAME, A_BOUND_NAME, MAYBE_NAME };

struct sub {
	const char *name, *method;
	enum command_set set;
	enum word word;
	/* a daemon with the same libraries does it, so that its consoles show it */
	bool has_events;
	int (*print)(const struct buffer *result);
};

static int print_record(const struct buffer *result);
static int print_current(const struct buffer *result);
static int print_pending(const struct buffer *result);
static int print_lines(const struct buffer *result);

static const struct sub SUBS[] = {
	{ "spawn", "tool.spawn", FOR_TOOL_SPAWN, A_FILE, true, tool_print_item },
	{ "call", "tool.call", FOR_TOOL_CALL, A_NAME, true, print_record },
	{ "list", "tool.list", FOR_TOOL_LIST, NOTHING, false, print_current },
	{ "show", "tool.show", FOR_TOOL_SHOW, A_NAME, false, tool_print_shown },
	{ "pending", "tool.pending", FOR_TOOL_PENDING, NOTHING, false, print_pending },
	{ "promote", "tool.promote", FOR_TOOL_PROMOTE, A_BOUND_NAME, true, tool_print_item },
	{ "reject", "tool.reject", FOR_TOOL_REJECT, A_BOUND_NAME, true, tool_print_item },
	{ "revoke", "tool.revoke", FOR_TOOL_REVOKE, A_BOUND_NAME, true, tool_print_item },
	{ "forget", "tool.forget", FOR_TOOL_FORGET, A_NAME, true, tool_print_numbers },
	{ "history", "tool.history", FOR_TOOL_HISTORY, MAYBE_NAME, false, tool_print_history },
	{ "export", "tool.export", FOR_TOOL_EXPORT, NOTHING, false, print_lines },
	{ "import", "tool.import", FOR_TOOL_IMPORT, A_FILE, true, tool_print_numbers },
};

/* ---- printing what is not for people ---- */

static int print_slice(struct json_slice slice)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;

	buffer_add(&line, slice.text, slice.length);
	return answer_line(&line);
}

static int print_record(const struct buffer *result)
{
	return print_slice(json_get(json_slice(result->data, result->length), "record"));
}

/* Each item of an array on a line of its own. */
static int print_lines(const struct buffer *result)
{
	struct json_slice lines = json_get(json_slice(result->data, result->length), "lines"), item;
	int status = EXIT_OK;

	for (size_t at = 0; status == EXIT_OK && json_item(lines, &at, &item);)
		status = print_slice(item);
	return status;
}

static int print_current(const struct buffer *result)
{
	return tool_print_list(result, "tools");
}

static int print_pending(const struct buffer *result)
{
	return tool_print_list(result, "pending");
}

/* ---- what was typed ---- */

/*
 * NAME, NAME@VERSION, NAME@HASH, NAME@VERSION@HASH. A version has at most seven digits, a hash at
 * least eight.
 */
static int write_reference(struct json_writer *w, const char *word, bool bound, struct error *err)
{
	const char *at = strchr(word, '@');
	bool has_hash = false;

	json_key(w, "name");
	json_bytes(w, word, at ? (size_t)(at - word) : strlen(word));
	while (at) {
		const char *part = at + 1;
		size_t length = strcspn(part, "@"), digits = strspn(part, "0123456789"),
		       hex = strspn(part, "0123456789abcdef");

		at = part[length] ? part + length : NULL;
		if (length > 0 && length <= 7 && digits == length) {
			json_key(w, "version");
			json_integer(w, strtol(part, NULL, 10));
		} else if (length >= 8 && length <= 64 && hex == length) {
			json_key(w, "hash");
			json_bytes(w, part, length);
			has_hash = true;
		} else {
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"\"%.100s\" is not NAME, NAME@VERSION or NAME@HASH (8 to 64 "
				"hexadecimal digits)",
				word);
		}
	}
	if (bound && !has_hash)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"a decision is bound to what was looked at: give NAME@HASH (see `cordon "
			"tool show %.64s`)",
			word);
	return 0;
}

static int write_file(struct json_writer *w, const char *path, struct error *err)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	char reason[256];
	static const struct json_gate_rules RULES = {
		.max_bytes = 4u << 20, .max_depth = 60, .must_be_object = true
	};
	int status = input_read(path, &text, err);

	if (status == 0 &&
		!json_gate_check(
			&RULES, text.data ? text.data : "", text.length, reason, sizeof reason))
		status = error_set(err, FAILURE_SPEC_REFUSED, 0,
			"%.100s is not accepted as JSON: %s", path, reason);
	if (status == 0) {
		json_key(w, "spec");
		json_raw(w, text.data, text.length);
	}
	return status;
}

static int write_options(
	struct json_writer *w, const struct sub *s, const struct options *o, struct error *err)
{
	const struct {
		const char *key, *value;
	} TEXTS[] = {
		{ "user", o->user },
		{ "session", o->session },
		{ "agent", o->agent },
		{ "policy", o->policy },
		{ "reason", o->reason },
	};
	bool runs = s->set & (FOR_TOOL_SPAWN | FOR_TOOL_CALL);
	char *directory;

	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
		if (TEXTS[i].value) {
			json_key(w, TEXTS[i].key);
			json_string(w, TEXTS[i].value);
		}
	if (o->threshold) {
		json_key(w, "threshold");
		json_integer(w, o->threshold);
	}
	if (!runs)
		return 0;
	json_key(w, "options");
	if (!options_write(o, s->set, w))
		return error_set(err, FAILURE_BAD_INPUT, 0,
			"a path or variable is no UTF-8, which the library's actions do not take");
	if (o->args_json) {
		json_key(w, "args");
		json_raw(w, o->args_json, strlen(o->args_json));
	}
	if (o->daemon && s->set == FOR_TOOL_CALL && !remote_write_environment(w, o))
		return error_set(err, FAILURE_BAD_INPUT, 0,
			"a variable is no UTF-8: that cannot be said to the daemon, only done "
			"without --daemon");
	directory = s->set == FOR_TOOL_CALL ? getcwd(NULL, 0) : NULL;
	if (directory) {
		json_key(w, "cwd");
		json_string(w, directory);
	}
	free(directory);
	return 0;
}

static int write_params(const struct sub *s, const struct options *o, const char *word,
	struct buffer *out, struct error *err)
{
	struct json_writer w;
	int status = 0;

	json_begin(&w, out);
	json_open_object(&w);
	if (s->word == A_FILE)
		status = write_file(&w, word, err);
	else if (word)
		status = write_reference(&w, word, s->word == A_BOUND_NAME, err);
	if (status == 0)
		status = write_options(&w, s, o, err);
	json_close_object(&w);
	return status == 0 && out->failed
		? error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "writing a request")
		: status;
}

/* ---- performing ---- */

static int say_failure(const struct sub *s, const struct options *o, const struct tool_answer *a)
{
	char sentence[1400];

	if (a->status == EXIT_USAGE)
		fprintf(stderr, "cordon tool %s: %s\nTry `cordon tool %s --help`.\n", s->name,
			a->error.context, s->name);
	else
		fprintf(stderr, "cordon tool %s: %s [%s]\n", s->name,
			error_sentence(&a->error, sentence, sizeof sentence),
			failure_name(a->error.code));
	if (o->json && a->failure.length > 0) {
		answer_line(&a->failure);
	} else if (o->json) {
		struct buffer record = BUFFER_INIT;

		failure_record_write(&a->error, &record);
		answer_line(&record);
		buffer_free(&record);
	}
	return a->status;
}

static int ask_and_print(const struct sub *s, const struct options *o, const struct buffer *params)
{
	struct tool_answer answer;
	int status;

	if (tool_ask(s->method, o, params, &answer) < 0) {
		status = say_failure(s, o, &answer);
	} else {
		status = o->json ? answer_line(&answer.result) : s->print(&answer.result);
		if (status == EXIT_OK)
			status = answer.status;
	}
	tool_answer_free(&answer);
	return status;
}

static void write_import(const struct options *o, const char *line, size_t length, int64_t number,
	struct buffer *out)
{
	struct json_writer w;

	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "keep");
	json_bool(&w, o->keep);
	json_key(&w, "first");
	json_integer(&w, number);
	json_key(&w, "options");
	options_write(o, FOR_TOOL_IMPORT, &w);
	if (o->user) {
		json_key(&w, "user");
		json_string(&w, o->user);
	}
	json_key(&w, "lines");
	json_open_array(&w);
	json_raw(&w, line, length);
	json_close_array(&w);
	json_close_object(&w);
}

/* Lines one by one: a library may be larger than a request. */
static int import(const struct sub *s, const struct options *o, const char *path)
{
	struct tool_answer answer = { .error = ERROR_INIT, .status = EXIT_FAILED };
	_cleanup_buffer_ struct buffer text = BUFFER_INIT, sum = BUFFER_INIT;
	long imported = 0, skipped = 0, number = 0;
	int status = input_read(path, &text, &answer.error);

	for (size_t at = 0; status == 0 && at < text.length;) {
		const char *line = text.data + at, *newline = memchr(line, '\n', text.length - at);
		size_t length = newline ? (size_t)(newline - line) : text.length - at;
		static const struct json_gate_rules RULES = { .max_bytes = 4u << 20,
			.max_depth = 60,
			.must_be_object = true,
			.one_line = true };
		struct buffer params = BUFFER_INIT;
		char reason[256];

		at += length + 1;
		number++;
		if (length == 0)
			continue;
		if (!json_gate_check(&RULES, line, length, reason, sizeof reason)) {
			answer.status = EXIT_REFUSED;
			status = error_set(&answer.error, FAILURE_SPEC_REFUSED, 0,
				"line %ld of %.100s is not accepted as JSON: %s", number, path,
				reason);
			break;
		}
		write_import(o, line, length, number, &params);
		tool_answer_free(&answer);
		status = tool_ask(s->method, o, &params, &answer);
		buffer_free(&params);
		if (status == 0) {
			struct json_slice result =
				json_slice(answer.result.data, answer.result.length);

			imported += json_int(json_get(result, "imported"), 0);
			skipped += json_int(json_get(result, "skipped"), 0);
		}
	}
	if (status < 0) {
		status = say_failure(s, o, &answer);
	} else {
		buffer_printf(&sum, "{\"imported\":%ld,\"skipped\":%ld}", imported, skipped);
		status = o->json ? answer_line(&sum) : tool_print_numbers(&sum);
	}
	tool_answer_free(&answer);
	return status;
}

static int perform(const struct sub *s, const struct options *o, const char *word)
{
	struct tool_answer answer = { .error = ERROR_INIT, .status = EXIT_USAGE };
	struct buffer params = BUFFER_INIT;
	int status;

	if (s->set == FOR_TOOL_IMPORT)
		return import(s, o, word);
	if (write_params(s, o, word, &params, &answer.error) < 0) {
		answer.status = answer.error.code == FAILURE_BAD_OPTION ? EXIT_USAGE
			: answer.error.code == FAILURE_SPEC_REFUSED     ? EXIT_REFUSED
									: EXIT_FAILED;
		status = say_failure(s, o, &answer);
	} else {
		status = ask_and_print(s, o, &params);
	}
	buffer_free(&params);
	return status;
}

/* A variable that is no UTF-8 cannot be said in JSON. */
static bool can_be_said(const struct sub *s, const struct options *o)
{
	_cleanup_buffer_ struct buffer scratch = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &scratch);
	json_open_object(&w);
	return s->set != FOR_TOOL_CALL || remote_write_environment(&w, o);
}

/* Options stand before the word and after it. */
static int parse(const struct sub *s, int argc, char **argv, struct options *o, const char **word,
	bool *help, struct error *err)
{
	bool wanted = s->word != NOTHING;
	int at = 0;

	*word = NULL;
	while (at < argc) {
		int next = options_parse(o, s->set, argc - at, argv + at, help, err);

		if (next < 0 || *help)
			return next;
		at += next;
		if (at >= argc)
			break;
		if (!wanted || *word)
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"\"%.100s\" is one word too many", argv[at]);
		*word = argv[at];
	}
	if (!*word && wanted && s->word != MAYBE_NAME)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			s->word == A_FILE ? "a FILE is needed, or - for standard input"
					  : "the name of a tool is needed");
	return 0;
}

int command_tool(int argc, char **argv)
{
	const struct sub *s = NULL;
	struct options options;
	struct error err = ERROR_INIT;
	const char *word;
	bool help = false;
	char name[80], shown[80];
	int status;

	for (size_t i = 0; argc > 1 && i < sizeof SUBS / sizeof *SUBS; i++)
		if (strcmp(argv[1], SUBS[i].name) == 0)
			s = &SUBS[i];
	if (!s && argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_subcommands("tool");
	if (!s) {
		fprintf(stderr, "cordon tool: %s%s. Try `cordon tool --help`.\n",
			argc > 1 ? "there is no command " : "a command is needed",
			argc > 1 ? text_visible_into(shown, sizeof shown, argv[1], strlen(argv[1]),
					   TEXT_ONE_LINE)
				 : "");
		return EXIT_USAGE;
	}
	snprintf(name, sizeof name, "tool %s", s->name);
	options_init(&options, s->set);
	if (parse(s, argc - 1, argv + 1, &options, &word, &help, &err) < 0) {
		status = answer_usage(name, &err, options.json);
	} else {
		if (!help && s->has_events && !options.events_file && can_be_said(s, &options))
			options.daemon |= tool_daemon_serves(options.socket_path);
		status = help ? print_command_help(s->set) : perform(s, &options, word);
	}
	options_free(&options);
	return status;
}
