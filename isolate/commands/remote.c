/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Through the daemon. See remote.h.
 *
 * The caller's three descriptors go along with the request, so the program reads and writes them
 * itself, as without a daemon; nothing is copied through here. A request that JSON cannot say (a
 * path that is no UTF-8) is refused instead of being changed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/base/json_read.h"
#include "isolate/options/option_table.h"
#include "isolate/daemon/client.h"
#include "isolate/daemon/protocol.h"
#include "isolate/sandbox/standard_streams.h"
#include "isolate/base/text.h"

static bool is_text(const char *text, size_t length)
{
	uint32_t point;

	for (size_t at = 0, step; at < length; at += step) {
		step = text_decode((const unsigned char *)text + at, length - at, &point, NULL);
		if (step == 0 || point == 0)
			return false;
	}
	return true;
}

static bool write_source(struct json_writer *w, const struct program *p)
{
	size_t room = sodium_base64_ENCODED_LEN(p->length, sodium_base64_VARIANT_ORIGINAL);
	char *coded;

	if (is_text(p->text, p->length)) {
		json_key(w, "text");
		json_bytes(w, p->text, p->length);
		return true;
	}
	coded = malloc(room);
	if (!coded)
		return false;
	json_key(w, "text_b64");
	json_string(w,
		sodium_bin2base64(coded, room, (const unsigned char *)p->text, p->length,
			sodium_base64_VARIANT_ORIGINAL));
	free(coded);
	return true;
}

static bool write_program(struct json_writer *w, const struct program *p)
{
	static const char *const KINDS[] = {
		[PROGRAM_BODY] = "body", [PROGRAM_SCRIPT] = "script", [PROGRAM_COMMAND] = "command"
	};
	bool valid = true;

	json_key(w, "program");
	json_open_object(w);
	json_key(w, "kind");
	json_string(w, KINDS[p->kind]);
	if (p->name) {
		json_key(w, "name");
		json_string(w, p->name);
		valid &= is_text(p->name, strlen(p->name));
	}
	if (p->argv && p->kind != PROGRAM_BODY) {
		json_key(w, "argv");
		json_open_array(w);
		for (char *const *word = p->argv; *word; word++) {
			json_string(w, *word);
			valid &= is_text(*word, strlen(*word));
		}
		json_close_array(w);
	}
	if (p->kind != PROGRAM_COMMAND)
		valid &= write_source(w, p);
	json_close_object(w);
	return valid;
}

bool remote_write_environment(struct json_writer *w, const struct options *o)
{
	static const char *const OWN[] = { "PATH", "HOME", "TERM", "LANG", "TMPDIR",
		"XDG_RUNTIME_DIR" };
	bool valid = true;

	json_key(w, "environment");
	json_open_object(w);
	for (size_t i = 0; i < sizeof OWN / sizeof *OWN + o->inherit_env.count; i++) {
		const char *name = i < sizeof OWN / sizeof *OWN
			? OWN[i]
			: o->inherit_env.items[i - sizeof OWN / sizeof *OWN];
		const char *value = getenv(name);
		bool again = false;

		for (size_t before = 0; before < i && !again; before++)
			again = strcmp(name,
					before < sizeof OWN / sizeof *OWN
						? OWN[before]
						: o->inherit_env.items[before -
							  sizeof OWN / sizeof *OWN]) == 0;
		if (!value || again)
			continue;
		json_key(w, name);
		json_string(w, value);
		valid &= is_text(value, strlen(value));
	}
	json_close_object(w);
	return valid;
}

int remote_request(struct buffer *out, enum command_set set, const struct options *o,
	const struct program *p, bool streams, bool follow, struct error *err)
{
	const char *method = protocol_methods[set == FOR_RUN ? METHOD_RUN
			: set == FOR_EXEC                    ? METHOD_EXECUTE
							     : METHOD_VALIDATE]
				     .name;
	char *directory = getcwd(NULL, 0);
	struct json_writer w;
	bool valid = directory && is_text(directory, strlen(directory));

	buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	json_begin(&w, out);
	json_open_object(&w);
	valid &= write_program(&w, p);
	json_key(&w, "options");
	valid &= options_write(o, set, &w);
	if (o->args_json && set == FOR_EXEC) {
		json_key(&w, "args");
		json_raw(&w, o->args_json, strlen(o->args_json));
	}
	if (o->return_expr && set == FOR_EXEC) {
		json_key(&w, "return");
		json_string(&w, o->return_expr);
		valid &= is_text(o->return_expr, strlen(o->return_expr));
	}
	valid &= remote_write_environment(&w, o);
	json_key(&w, "cwd");
	json_string(&w, directory ? directory : "/");
	if (streams) {
		json_key(&w, "streams");
		json_bool(&w, true);
	}
	if (follow) {
		json_key(&w, "follow");
		json_bool(&w, true);
	}
	json_close_object(&w);
	buffer_add_text(out, "}\n");
	free(directory);
	if (out->failed)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"writing the request to the daemon");
	/*
	 * Line breaks between the tokens of --args @FILE would end the request early. Inside
	 * strings there are none.
	 */
	for (size_t i = 0; i + 1 < out->length; i++)
		if (out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ' ';
	if (!valid)
		return error_set(err, FAILURE_BAD_INPUT, 0,
			"a path, word or variable is no UTF-8: that cannot be said to the daemon, "
			"only done without --daemon");
	return out->length > PROTOCOL_FRAME_MAX
		? error_set(err, FAILURE_BAD_INPUT, E2BIG,
			  "the program and its arguments are longer than the daemon takes (4 MiB)")
		: 0;
}

/* Prints what the command prints, from the record in place of the result. */
static int print_record(struct json_slice record, enum command_set set, bool json, int status)
{
	struct json_slice detail = json_get(record, "error_detail"),
			  exit_code = json_get(record, "exit_code");
	struct buffer text = BUFFER_INIT, export_error = BUFFER_INIT, line = BUFFER_INIT;
	struct record r = { .exit_code = exit_code.text && json_is_null(exit_code) ? -1 : 0 };
	int written = EXIT_OK;

	json_decode(json_get(record, "error"), &r.error);
	json_decode(json_get(json_get(record, "exported"), "error"), &export_error);
	if (set == FOR_EXEC || json) {
		buffer_add(&text, record.text, record.length);
		written = answer_line(&text);
	} else if (set == FOR_VALIDATE) {
		if (json_kind(detail) == JSON_OBJECT)
			buffer_add(&r.detail, detail.text, detail.length);
		violations_describe(&r, &text);
		written = answer_line(&text);
	} else {
		text_visible(&line, export_error.data, export_error.length, TEXT_ONE_LINE);
		if (line.length > 0)
			fprintf(stderr, "cordon: the export is not complete: %s\n", line.data);
		answer_outcome(&r);
	}
	buffer_free(&line);
	buffer_free(&export_error);
	buffer_free(&text);
	buffer_free(&r.detail);
	buffer_free(&r.error);
	return written == EXIT_OK ? status : written;
}

int remote_answer(struct json_slice result, struct json_slice failure, enum command_set set,
	bool json, int *status, struct error *err)
{
	if (!result.text)
		return client_failure(failure, err);
	*status = print_record(json_get(result, "record"), set, json,
		(int)json_int(json_get(result, "status"), EXIT_FAILED));
	return 0;
}

static int converse(struct client *c, const struct buffer *request, enum command_set set,
	const struct options *o, bool streams, struct follow *follow, int *status,
	struct error *err)
{
	static const char ID[] = "{\"id\":1,";
	const int descriptors[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	int signals = signals_collect();

	if (client_send(c, ID, strlen(ID), descriptors, streams ? 3 : 0, err) < 0 ||
		client_send(c, request->data + 1, request->length - 1, NULL, 0, err) < 0)
		return -1;
	for (;;) {
		struct json_slice line, result, failure;
		int got = client_line(c, signals, &line, err);

		if (got < 0)
			return -1;
		if (got == 0) {
			client_pass_signals(c, signals);
			continue;
		}
		if (follow_take(follow, line))
			continue;
		result = json_get(line, "result");
		failure = json_get(line, "error");
		if (failure.text || result.text)
			return remote_answer(result, failure, set, o->json, status, err);
	}
}

int remote_execute(
	const char *name, enum command_set set, const struct options *o, const struct program *p)
{
	bool json = set == FOR_EXEC || o->json,
	     streams = set == FOR_RUN ? !o->json || o->stdin_open || o->tty : o->stdin_open;
	struct error err = ERROR_INIT;
	struct client client = CLIENT_INIT;
	struct follow follow = FOLLOW_INIT;
	struct buffer request = BUFFER_INIT;
	struct terminal terminal = { .fd = -1, .master = -1, .keeper = -1 };
	int status = EXIT_FAILED;

	if ((!o->events_file || follow_open(&follow, o->events_file, &err) == 0) &&
		remote_request(&request, set, o, p, streams, o->events_file != NULL, &err) == 0 &&
		client_open(&client, o->socket_path, &err) == 0) {
		/*
		 * Keys go to the program's terminal as they are. The supervisor, which is no
		 * process of this terminal, leaves that to us.
		 */
		if (o->tty)
			terminal_begin(&terminal, STDIN_FILENO);
		if (converse(&client, &request, set, o, streams, &follow, &status, &err) == 0)
			follow_summary(&follow);
		terminal_restore(&terminal);
	}
	client_close(&client);
	follow_close(&follow);
	buffer_free(&request);
	if (err.code != FAILURE_NONE)
		return answer_failure(name, &err, json);
	return status;
}
