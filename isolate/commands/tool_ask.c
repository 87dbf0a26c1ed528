/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for something to be done with tools: in this process, or by the daemon. See tool.h.
 *
 * Both ways lead to the same function (isolate/tools/action.h), so they cannot differ in what they
 * do. SQLite keeps several processes on one library apart.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/tool.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/failure_record.h"
#include "isolate/base/json_read.h"
#include "isolate/tools/action.h"
#include "isolate/tools/store.h"
#include "isolate/daemon/client.h"
#include "isolate/daemon/control_socket.h"
#include "isolate/daemon/protocol.h"

/* for a daemon that is stopped or full; then the command works alone */
#define PATIENCE_NS 200000000

/* A command may ask more than once; its signals are collected once. */
static int signals(void)
{
	static int collected = -1;

	if (collected < 0)
		collected = signals_collect();
	return collected;
}

static int ask_here(const char *method, const struct options *o, const struct buffer *params,
	struct tool_answer *out)
{
	struct action_answer answer = ACTION_ANSWER_INIT;
	struct action_request request = { .name = method,
		.params = params->data,
		.length = params->length,
		.control = -1,
		.events = -1 };
	char base[PATH_MAX];
	int status;

	if (store_base(base, sizeof base, &out->error) < 0)
		return -1;
	if (o->events_file) {
		request.events = open(o->events_file,
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
		if (request.events < 0)
			return error_set(&out->error, FAILURE_PATH_MISSING, errno,
				"opening %s, to write events to", o->events_file);
	}
	request.base = base;
	request.authority = authority_of_uid(getuid());
	if (action_runs_code(method))
		request.control = signals();
	status = action_perform(&request, &answer, &out->error);
	out->status = answer.status;
	if (status == 0) {
		out->result = answer.result;
		answer.result = (struct buffer)BUFFER_INIT;
	} else {
		struct buffer record = BUFFER_INIT;

		failure_record_write(&out->error, &record);
		if (!record.failed && record.length > 1) {
			buffer_add(&out->failure, record.data, record.length - 1);
			buffer_add_text(&out->failure, answer.data.length ? "," : "");
			buffer_add(&out->failure, answer.data.data, answer.data.length);
			buffer_add_text(&out->failure, "}");
		}
		buffer_free(&record);
	}
	if (request.events >= 0)
		close(request.events);
	action_answer_free(&answer);
	return status;
}

bool tool_daemon_serves(const char *socket_path)
{
	static const char INFO[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\"}\n";
	const struct itimerspec patience = { .it_value.tv_nsec = PATIENCE_NS };
	_cleanup_close_ int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	char standard[PATH_MAX], own[PATH_MAX], its[PATH_MAX];
	struct client client = CLIENT_INIT;
	struct error ignored = ERROR_INIT;
	struct json_slice answer;
	bool is_same = false;

	if (timer < 0 || timerfd_settime(timer, 0, &patience, NULL) != 0 || !store_identity(own))
		return false;
	if (socket_path || socket_default_path(standard, sizeof standard))
		client.fd = socket_connect_now(socket_path ? socket_path : standard);
	if (client.fd >= 0 && client_send(&client, INFO, sizeof INFO - 1, NULL, 0, &ignored) == 0 &&
		client_line(&client, timer, &answer, &ignored) == 1)
		is_same = json_copy(json_get(json_get(answer, "result"), "library"), its,
				  sizeof its) &&
			strcmp(own, its) == 0;
	client_close(&client);
	return is_same;
}

/* What an error of the daemon says, as an error of ours. */
static int take_failure(struct json_slice text, struct tool_answer *out)
{
	struct json_slice data = json_get(text, "data");

	client_failure(text, &out->error);
	if (data.text)
		buffer_add(&out->failure, data.text, data.length);
	out->status = action_exit_status(&out->error);
	return -1;
}

static int converse(struct client *c, int signals, struct tool_answer *out)
{
	for (;;) {
		struct json_slice line, result, failure;
		int got = client_line(c, signals, &line, &out->error);

		if (got < 0)
			return -1;
		if (got == 0) {
			client_pass_signals(c, signals);
			continue;
		}
		result = json_get(line, "result");
		failure = json_get(line, "error");
		if (failure.text)
			return take_failure(failure, out);
		if (!result.text)
			continue;
		buffer_add(&out->result, result.text, result.length);
		out->status = (int)json_int(json_get(result, "status"), EXIT_OK);
		return out->result.failed ? error_set(&out->error, FAILURE_RESOURCES_EXHAUSTED,
						    ENOMEM, "keeping the daemon's answer")
					  : 0;
	}
}

static int ask_daemon(const char *method, const struct options *o, const struct buffer *params,
	struct tool_answer *out)
{
	struct client client = CLIENT_INIT;
	struct buffer request = BUFFER_INIT;
	int status = -1;

	if (o->events_file)
		return error_set(&out->error, FAILURE_BAD_OPTION, 0,
			"--events FILE does not go with --daemon: its events are in the daemon's "
			"log, see `cordon events`");
	buffer_printf(
		&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", method);
	buffer_add(&request, params->data, params->length);
	buffer_add_text(&request, "}\n");
	/* Line breaks between tokens would end the request early; inside strings there are none. */
	for (size_t i = 0; i + 1 < request.length; i++)
		if (request.data[i] == '\n' || request.data[i] == '\r')
			request.data[i] = ' ';
	if (request.failed || request.length > PROTOCOL_FRAME_MAX)
		error_set(&out->error, FAILURE_BAD_INPUT, E2BIG,
			"the request is longer than the daemon takes (4 MiB)");
	else if (client_open(&client, o->socket_path, &out->error) == 0 &&
		client_send(&client, request.data, request.length, NULL, 0, &out->error) == 0)
		status = converse(&client, action_runs_code(method) ? signals() : -1, out);
	client_close(&client);
	buffer_free(&request);
	return status;
}

int tool_ask(const char *method, const struct options *o, const struct buffer *params,
	struct tool_answer *answer)
{
	int status;

	*answer = (struct tool_answer){ .error = ERROR_INIT, .status = EXIT_FAILED };
	status = o->daemon ? ask_daemon(method, o, params, answer)
			   : ask_here(method, o, params, answer);
	if (status < 0 && answer->failure.length == 0)
		failure_record_write(&answer->error, &answer->failure);
	if (status < 0 && answer->status == EXIT_OK)
		answer->status = action_exit_status(&answer->error);
	return status;
}

void tool_answer_free(struct tool_answer *answer)
{
	buffer_free(&answer->result);
	buffer_free(&answer->failure);
}
