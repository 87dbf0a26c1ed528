/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker. See worker.h.
 *
 * The parameters of the request are a client's and are read here, not in the daemon: whatever they
 * make a parser do, it happens to one execution. Paths and environment are those that the client
 * named; where a client names none, they are the daemon's.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/base/failure_record.h"
#include "isolate/base/json_read.h"
#include "isolate/daemon/protocol.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"
#include "isolate/tools/action.h"
#include "isolate/tools/store.h"
#include "isolate/wire/record.h"

/* ---- job environment ---- */

/* Where cordon's own files are is the daemon's business and stays. */
static void clear_environment(void)
{
	const char *own = getenv("CORDON_LIBEXECDIR");
	_cleanup_free_ char *kept = own ? strdup(own) : NULL;

	clearenv();
	if (kept)
		setenv("CORDON_LIBEXECDIR", kept, 1);
}

static int environment_take(struct json_slice environment, struct error *err)
{
	struct json_slice key, value;

	if (!environment.text)
		return 0;
	if (json_kind(environment) == JSON_OBJECT)
		clear_environment();
	for (size_t at = 0; json_next(environment, &at, &key, &value);) {
		_cleanup_free_ char *name = json_dup_key(key), *text = json_dup(value);

		if (name && strcmp(name, "CORDON_LIBEXECDIR") == 0)
			continue;
		if (!name || !text || setenv(name, text, 1) != 0)
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"environment must be an object of strings");
	}
	return json_kind(environment) == JSON_OBJECT
		? 0
		: error_set(err, FAILURE_BAD_OPTION, 0, "environment must be an object of strings");
}

/* ---- tool worker ---- */

/*
 * The methods of tools.
 *
 * Whose library it is, and where libraries are, is the daemon's: that is taken before the
 * environment becomes the caller's. Who acts is the uid that the kernel gave for the other end of
 * the socket.
 */

/*
 * An error object: a sentence for people, and the failure record as data, with what belongs to it.
 */
static void write_error(const struct error *err, const struct buffer *more, struct buffer *answer)
{
	_cleanup_buffer_ struct buffer data = BUFFER_INIT;
	char sentence[1400];
	struct json_writer w;

	failure_record_write(err, &data);
	buffer_printf(answer, "%c", WORKER_ERROR);
	json_begin(&w, answer);
	json_open_object(&w);
	json_key(&w, "code");
	json_integer(&w, ERROR_FAILED);
	json_key(&w, "message");
	json_string(&w, error_sentence(err, sentence, sizeof sentence));
	if (data.length > 1 && !data.failed) {
		json_key(&w, "data");
		json_raw(&w, data.data, data.length - 1);
		buffer_add_text(answer, more->length ? "," : "");
		buffer_add(answer, more->data, more->length);
		buffer_add_text(answer, "}");
	}
	json_close_object(&w);
}

static void tool_work(const char *method, struct json_slice request, struct buffer *answer)
{
	struct json_slice params = json_get(request, "params");
	struct action_request r = { .name = method,
		.params = params.text,
		.length = params.length,
		.control = WORKER_CHANNEL,
		.events = WORKER_CHANNEL };
	struct action_answer a = ACTION_ANSWER_INIT;
	struct error err = ERROR_INIT;
	char base[PATH_MAX], id[40] = "", policy[40] = "";

	r.base = base;
	r.authority = authority_of_uid((unsigned)json_int(json_get(request, "uid"), -1));
	json_copy(json_get(request, "execution_id"), id, sizeof id);
	r.execution_id = id;
	json_copy(json_get(request, "policy"), policy, sizeof policy);
	r.policy = promotion_policy_of(policy);
	if (r.policy == POLICY_COUNT)
		r.policy = POLICY_THRESHOLD;
	r.threshold = json_int(json_get(request, "threshold"), 0);
	if (store_base(base, sizeof base, &err) == 0 &&
		environment_take(json_get(params, "environment"), &err) == 0 &&
		action_perform(&r, &a, &err) == 0) {
		buffer_printf(answer, "%c", WORKER_RECORD);
		buffer_add(answer, a.result.data, a.result.length);
	} else {
		write_error(&err, &a.data, answer);
	}
	action_answer_free(&a);
}

/* ---- executions ---- */

struct work {
	char *text; /* the request */
	size_t length;
	char method[40];
	struct json_slice params, program;
	enum command_set set;
	unsigned flags;
	bool has_streams;
	struct options options;
	struct program run;
	char *name, **argv; /* owned; the words end with NULL */
	struct buffer source;
	struct record result;
	struct error error;
};

static int bad(struct work *w, const char *sentence)
{
	return error_set(&w->error, FAILURE_BAD_OPTION, 0, "%s", sentence);
}

static int read_request(struct work *w)
{
	char id[40] = "", *method = w->method;
	struct json_slice request;
	struct stat st;

	if (fstat(WORKER_REQUEST, &st) != 0 || st.st_size <= 0 ||
		!(w->text = malloc((size_t)st.st_size)) ||
		pread(WORKER_REQUEST, w->text, (size_t)st.st_size, 0) != st.st_size)
		return error_set(
			&w->error, FAILURE_INTERNAL, errno, "reading the request of the daemon");
	w->length = (size_t)st.st_size;
	request = json_slice(w->text, w->length);
	close(WORKER_REQUEST);
	if (!json_copy(json_get(request, "method"), w->method, sizeof w->method) ||
		!json_copy(json_get(request, "execution_id"), id, sizeof id))
		return error_set(&w->error, FAILURE_INTERNAL, 0,
			"the request of the daemon has no method or id");
	snprintf(w->result.execution_id, sizeof w->result.execution_id, "%s", id);
	w->params = json_get(request, "params");
	w->program = json_get(w->params, "program");
	w->has_streams = json_get(request, "streams").length == 4;
	w->set = strcmp(method, "sandbox.run") == 0       ? FOR_RUN
		: strcmp(method, "sandbox.validate") == 0 ? FOR_VALIDATE
							  : FOR_EXEC;
	w->flags = w->set == FOR_VALIDATE ? EXECUTE_VALIDATE_ONLY : 0;
	return 0;
}

/*
 * A member of params as text to be freed; NULL when it is not there. *status is -1 when it is no
 * string.
 */
static char *member_text(struct work *w, const char *key, int *status)
{
	struct json_slice value = json_get(w->params, key);
	char *text = json_dup(value);

	if (value.text && !text)
		*status = error_set(&w->error, FAILURE_BAD_OPTION, 0, "%s must be a string", key);
	return text;
}

static int take_options(struct work *w)
{
	struct json_slice options = json_get(w->params, "options");
	struct json_slice args = json_get(w->params, "args");
	int status = 0;
	char *directory = member_text(w, "cwd", &status),
	     *value = member_text(w, "return", &status), *raw = NULL;

	options_init(&w->options, w->set);
	if (status == 0 && directory && chdir(directory) != 0)
		status = error_set(&w->error, FAILURE_PATH_MISSING, errno,
			"entering the caller's directory %s", directory);
	if (status == 0 && options.text &&
		options_profile(&w->options, w->set, "options", options.text, options.length,
			&w->error) < 0)
		status = -1;
	if (status == 0 && args.text && json_kind(args) != JSON_OBJECT)
		status = bad(w, "args must be an object");
	if (status == 0 && args.text &&
		(!(raw = strndup(args.text, args.length)) ||
			options_set(&w->options, w->set, "args", raw, &w->error) < 0))
		status = -1;
	if (status == 0 && value &&
		options_set(&w->options, w->set, "return", value, &w->error) < 0)
		status = -1;
	free(directory);
	free(value);
	free(raw);
	return status;
}

static int take_words(struct work *w, struct json_slice words)
{
	struct json_slice word;
	size_t count = 0;

	for (size_t at = 0; json_item(words, &at, &word); count++)
		continue;
	if (json_kind(words) != JSON_ARRAY)
		return bad(w, "argv must be an array of strings");
	w->run.argv = w->argv = calloc(count + 1, sizeof *w->argv);
	if (!w->argv)
		return error_set(
			&w->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping a command");
	count = 0;
	for (size_t at = 0; json_item(words, &at, &word);)
		if (!(w->argv[count++] = json_dup(word)))
			return bad(w, "argv must be an array of strings");
	return 0;
}

/* Source text: a string, or base64 where it is no UTF-8. */
static int take_source(struct work *w)
{
	struct json_slice text = json_get(w->program, "text"),
			  coded = json_get(w->program, "text_b64"),
			  *given = text.text ? &text : &coded;

	if (json_kind(*given) != JSON_STRING || (text.text && coded.text))
		return bad(w, "program needs text or text_b64");
	if (!json_get_bytes(w->program, "text", &w->source))
		return bad(w, "text_b64 is no base64");
	w->run.text = w->source.data ? w->source.data : "";
	w->run.length = w->source.length;
	return w->source.failed ? error_set(&w->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
					  "keeping a program's text")
				: 0;
}

static int check_members(struct work *w)
{
	static const char *const KNOWN[] = { "kind", "text", "text_b64", "name", "argv" };
	struct json_slice key, value;

	if (json_kind(w->program) != JSON_OBJECT)
		return bad(w, "program must be an object");
	for (size_t at = 0; json_next(w->program, &at, &key, &value);) {
		size_t i = 0;

		while (i < sizeof KNOWN / sizeof *KNOWN && !json_key_is(key, KNOWN[i]))
			i++;
		if (i == sizeof KNOWN / sizeof *KNOWN)
			return error_set(&w->error, FAILURE_BAD_OPTION, 0,
				"program has an unknown member \"%.*s\"",
				(int)(key.length < 60 ? key.length : 60), key.text);
	}
	return 0;
}

static int take_program(struct work *w)
{
	struct json_slice kind = json_get(w->program, "kind"), name = json_get(w->program, "name"),
			  words = json_get(w->program, "argv");

	if (check_members(w) < 0)
		return -1;
	if (name.text && !(w->run.name = w->name = json_dup(name)))
		return bad(w, "the program's name must be a string");
	if (w->set != FOR_RUN) {
		w->run.kind = PROGRAM_BODY;
		return kind.text && !json_is(kind, "body") ? bad(w, "only a body is validated")
							   : take_source(w);
	}
	if (json_is(kind, "command")) {
		w->run.kind = PROGRAM_COMMAND;
		if (take_words(w, words) < 0)
			return -1;
		return w->argv[0] && w->argv[0][0] ? 0 : bad(w, "there is no command to run");
	}
	if (!json_is(kind, "script"))
		return bad(w, "the program's kind must be \"command\" or \"script\"");
	w->run.kind = PROGRAM_SCRIPT;
	if (!w->run.name)
		w->run.name = "script.py";
	if (words.text && take_words(w, words) < 0)
		return -1;
	if (take_source(w) < 0)
		return -1;
	return memchr(w->run.text, '\0', w->run.length)
		? error_set(&w->error, FAILURE_BAD_INPUT, 0,
			  "the script holds a NUL byte, which no Python source may")
		: 0;
}

static int execute(struct work *w)
{
	struct streams streams = STREAMS_CAPTURE;
	const struct tier *tier = tier_find(w->options.tier, &w->error);

	if (!tier)
		return -1;
	streams.control = WORKER_CHANNEL;
	streams.events = WORKER_CHANNEL;
	if (w->has_streams) {
		streams.in = w->options.stdin_open || w->options.tty ? STDIN_FILENO : -1;
		streams.terminal = w->options.tty ? STDIN_FILENO : -1;
		if (w->set == FOR_RUN) {
			streams.out = STDOUT_FILENO;
			streams.err = STDERR_FILENO;
		}
	}
	return tier->execute(&w->options, &w->run, &streams, w->flags, &w->result, &w->error);
}

/* Dies with the daemon; gone already is the same as dying now. */
static int tie_to_daemon(void)
{
	struct pollfd daemon = { WORKER_CHANNEL, 0, 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || poll(&daemon, 1, 0) < 0 ||
		(daemon.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return -1;
	for (int fd = WORKER_REQUEST; fd <= WORKER_ANSWER; fd++)
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			return -1;
	return 0;
}

int worker_main(void)
{
	struct work w = { .length = 0, .error = ERROR_INIT };
	struct buffer answer = BUFFER_INIT;
	int status;

	if (tie_to_daemon() < 0)
		return 1;
	/* for ps(1): it was started by its descriptor */
	prctl(PR_SET_NAME, "cordon-worker", 0, 0, 0);
	if (record_init(&w.result, &w.error) == 0 && read_request(&w) == 0 &&
		action_exists(w.method)) {
		tool_work(w.method, json_slice(w.text, w.length), &answer);
	} else if (w.error.code == FAILURE_NONE &&
		environment_take(json_get(w.params, "environment"), &w.error) == 0 &&
		take_options(&w) == 0 && take_program(&w) == 0 && execute(&w) == 0) {
		buffer_printf(&answer, "%c{\"status\":%d,\"record\":", WORKER_RECORD,
			record_exit_status(&w.result, w.set != FOR_RUN));
		record_write(&w.result, &answer);
		buffer_add_text(&answer, "}");
	} else {
		buffer_printf(&answer, "%c", WORKER_FAILURE);
		failure_record_write(&w.error, &answer);
	}
	status = answer.failed || write_all(WORKER_ANSWER, answer.data, answer.length) < 0;
	buffer_free(&answer);
	options_free(&w.options);
	record_free(&w.result);
	for (char **word = w.argv; word && *word; word++)
		free(*word);
	free(w.argv);
	free(w.name);
	buffer_free(&w.source);
	free(w.text);
	return status;
}
