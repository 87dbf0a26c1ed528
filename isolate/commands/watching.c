/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watch, cordon-operate's part. See watch_option.h.
 *
 * The daemon is a child in a process group of its own: what is typed, and what stops the console,
 * is not for it. It has no socket and no log. It ends when the console's end of the pair is closed,
 * and the kernel ends it when the console dies in any other way; the sandbox follows it, as it
 * follows every daemon.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/console_command.h"
#include "isolate/commands/remote.h"
#include "isolate/commands/watch_option.h"
#include "isolate/base/json_gate.h"
#include "isolate/daemon/protocol.h"
#include "isolate/daemon/daemon.h"
#include "isolate/base/json_read.h"

struct watching {
	char *text; /* owned: the envelope */
	struct json_slice envelope;
	char name[16], theme[16];
	struct buffer events; /* the name of a file, or nothing */
	struct buffer request;
	bool json, plain;
	enum command_set set;
	struct follow follow;
};

static int read_envelope(struct watching *w, struct error *err)
{
	static const struct json_gate_rules GATE = { .max_bytes = PROTOCOL_FRAME_MAX + 65536,
		.max_depth = PROTOCOL_DEPTH_MAX,
		.must_be_object = true };
	char reason[240];
	struct stat st;

	if (fstat(WATCH_REQUEST, &st) != 0 || st.st_size <= 0 ||
		!(w->text = malloc((size_t)st.st_size)) ||
		pread(WATCH_REQUEST, w->text, (size_t)st.st_size, 0) != st.st_size)
		return error_set(err, FAILURE_INTERNAL, errno, "reading what is to be watched");
	close(WATCH_REQUEST);
	w->envelope = json_slice(w->text, (size_t)st.st_size);
	if (!json_gate_check(&GATE, w->text, w->envelope.length, reason, sizeof reason))
		return error_set(
			err, FAILURE_INTERNAL, 0, "reading what is to be watched: %s", reason);
	json_copy(json_get(w->envelope, "name"), w->name, sizeof w->name);
	json_copy(json_get(w->envelope, "theme"), w->theme, sizeof w->theme);
	json_decode(json_get(w->envelope, "events"), &w->events);
	w->json = json_is_true(json_get(w->envelope, "json"));
	w->plain = json_is_true(json_get(w->envelope, "plain"));
	w->set = strcmp(w->name, "exec") == 0 ? FOR_EXEC : FOR_RUN;
	buffer_add(&w->request, json_get(w->envelope, "request").text,
		json_get(w->envelope, "request").length);
	buffer_add_text(&w->request, "\n");
	return w->request.failed || w->events.failed
		? error_set(
			  err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading what is to be watched")
		: 0;
}

static _Noreturn void be_daemon(int connection, pid_t console)
{
	const struct server_options options = { .jobs = 1,
		.queue = 1,
		.connections = 1,
		.is_private = true,
		.connection = connection };
	struct error err = ERROR_INIT;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != console || null < 0)
		_exit(EXIT_FAILED);
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	_exit(server_run(&options, &err) == 0 ? EXIT_OK : EXIT_FAILED);
}

static pid_t start_daemon(int *connection, struct error *err)
{
	pid_t console = getpid(), pid = -1;
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0)
		pid = fork();
	if (pid == 0) {
		close(pair[0]);
		be_daemon(pair[1], console);
	}
	if (pair[1] >= 0)
		close(pair[1]);
	if (pid < 0) {
		if (pair[0] >= 0)
			close(pair[0]);
		error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "starting what runs the program");
	}
	*connection = pair[0];
	return pid;
}

static void on_event(void *argument, struct json_slice event)
{
	follow_event(argument, event);
}

static int watch(struct watching *w, struct error *err)
{
	struct tui_options t = { .fd = -1,
		.request = w->request.data,
		.request_length = w->request.length,
		.plain = w->plain,
		.on_event = on_event,
		.on_event_argument = &w->follow };
	_cleanup_buffer_ struct buffer answer = BUFFER_INIT;
	struct json_slice line;
	int status = EXIT_FAILED, result;
	pid_t daemon = -1;

	result = console_theme(w->theme, &t.theme, err);
	if (result == 0)
		result = follow_open(&w->follow, w->events.length ? w->events.data : NULL, err);
	if (result == 0)
		result = (daemon = start_daemon(&t.fd, err)) < 0 ? -1 : tui_run(&t, &answer, err);
	if (daemon > 0)
		waitpid(daemon, NULL, 0);
	line = json_slice(answer.data, answer.length);
	if (result == 0 && answer.length == 0)
		result = error_set(err, FAILURE_DAEMON_LOST, 0,
			"watching the run: what ran it ended without an answer");
	if (result == 0)
		result = remote_answer(json_get(line, "result"), json_get(line, "error"), w->set,
			w->json, &status, err);
	if (result == 0)
		follow_summary(&w->follow);
	return status;
}

int watching_main(void)
{
	struct watching w = {
		.events = BUFFER_INIT, .request = BUFFER_INIT, .follow = FOLLOW_INIT, .set = FOR_RUN
	};
	struct error err = ERROR_INIT;
	int status = EXIT_FAILED;

	if (read_envelope(&w, &err) == 0)
		status = watch(&w, &err);
	follow_close(&w.follow);
	if (err.code == FAILURE_BAD_OPTION)
		status = answer_usage(w.name, &err, w.set == FOR_EXEC || w.json);
	else if (err.code != FAILURE_NONE)
		status = answer_failure(w.name, &err, w.set == FOR_EXEC || w.json);
	buffer_free(&w.events);
	buffer_free(&w.request);
	free(w.text);
	return status;
}
