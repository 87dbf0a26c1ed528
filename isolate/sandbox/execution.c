/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution. See execution.h.
 *
 * This file starts what an execution is made of and takes it apart again; what happens in between
 * is in event_loop.c. After the loop nothing of the sandbox runs, so its files can be exported and
 * its reply read without a race; the streams are drained without waiting for other holders of their
 * write ends.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/view/scratch.h"
#include "fs/export/workspace.h"
#include "isolate/base/message.h"
#include "isolate/base/clock.h"
#include "isolate/sandbox/runner_client.h"
#include "isolate/sandbox/event_loop.h"
#include "isolate/sandbox/launch.h"
#include "isolate/sandbox/verdict.h"

#define LAST_WORDS 4096
#define DEATH_MS 500

/*
 * The three descriptors that cordon-init starts with, and the pipes behind them. standard[] are to
 * be closed by the caller.
 */
static int open_streams(struct execution *x, int standard[3], int server[3])
{
	const struct options *o = x->options;
	bool body = x->program->kind == PROGRAM_BODY;
	struct record *r = x->record;

	if (o->stdin_open && x->streams->in >= 0 &&
		!(x->plan.spawn.limits.flags & LIMIT_TERMINAL)) {
		if (stdin_relay_open(&x->input, x->streams->in, &standard[0], x->err) < 0)
			return -1;
	} else {
		standard[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (standard[0] < 0 ||
		capture_open(&x->out, x->streams->out, (uint64_t)o->output_limit_bytes, &r->out,
			&standard[1]) != 0 ||
		capture_open(&x->errors, x->streams->err, (uint64_t)o->output_limit_bytes, &r->err,
			&standard[2]) != 0)
		return -1;
	if (!body)
		return 0;
	server[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	server[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return server[0] < 0 || server[1] < 0 ||
			capture_open(&x->server, -1, LAST_WORDS, &x->last_words, &server[2]) != 0
		? -1
		: 0;
}

static int watch_all(struct execution *x)
{
	const struct {
		int fd;
		enum source source;
	} watched[] = {
		{ x->launch.control, FROM_CONTROL },
		{ x->inner, FROM_INNER },
		{ x->launch.pidfd, FROM_PROCESS },
		{ x->timer, FROM_TIMER },
		{ x->out.source, FROM_OUT },
		{ x->errors.source, FROM_ERR },
		{ x->server.source, FROM_SERVER },
		{ x->streams->control, FROM_CALLER },
		{ x->view_check, FROM_VIEW_CHECK },
		{ x->processes.epoll, FROM_PROCESSES },
		/* Where events are wanted: loop_watch_view(), after the first process. */
		{ x->log ? -1 : x->view.launch.control, FROM_VIEW },
	};
	bool is_open = x->epoll >= 0 && x->timer >= 0 && (!x->log || x->processes.epoll >= 0) &&
		fcntl(x->launch.control, F_SETFL, O_NONBLOCK) == 0 &&
		(x->inner < 0 || fcntl(x->inner, F_SETFL, O_NONBLOCK) == 0);

	for (size_t i = 0; is_open && i < sizeof watched / sizeof *watched; i++)
		is_open = loop_watch(x, watched[i].fd, watched[i].source) == 0;
	if (!is_open)
		return error_set(
			x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "setting up the supervisor");
	loop_set_timer(x, clock_now_us() + START_US);
	if (x->input.source >= 0)
		loop_relay_input(x, false);
	return 0;
}

static int open_loop(struct execution *x)
{
	x->epoll = epoll_create1(EPOLL_CLOEXEC);
	x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->log)
		x->processes.epoll = epoll_create1(EPOLL_CLOEXEC);
	return watch_all(x);
}

/*
 * The sandbox's first process stands in its namespaces and waits for the plan: now the view can be
 * mounted there.
 */
static int start_view(struct execution *x)
{
	struct sandbox_plan *c = &x->plan;
	const struct itimerspec interval = { { 0, VIEW_CHECK_US * 1000 },
		{ 0, VIEW_CHECK_US * 1000 } };

	event_log_started(x->log, x->options, x->program, x->record);
	if (c->view_config < 0)
		return 0;
	x->view.options = x->options;
	x->view.processes = &x->processes;
	c->fds[c->view_index] = view_client_start(&x->view, c->view_config, x->launch.pidfd,
		x->streams->control, x->log, &x->record->view, x->err);
	if (c->fds[c->view_index] < 0)
		return -1;
	x->held_signals |= x->view.held_signals;
	x->view_check = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->view_check < 0 || timerfd_settime(x->view_check, 0, &interval, NULL) != 0)
		return error_set(
			x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "watching the view's server");
	return 0;
}

static void on_out(void *log, const char *bytes, size_t length)
{
	event_log_output(log, false, bytes, length);
}

static void on_err(void *log, const char *bytes, size_t length)
{
	event_log_output(log, true, bytes, length);
}

static void watch_output(struct execution *x)
{
	x->out.tap = on_out;
	x->errors.tap = on_err;
	x->out.tap_context = x->errors.tap_context = x->log;
}

/* A socket that broke says only that PID 1 is gone, perhaps before the kernel has its end ready. */
static void explain_death(struct execution *x)
{
	launch_explain(&x->launch,
		x->err->sys_errno == EPIPE || x->err->sys_errno == ECONNRESET ? DEATH_MS : 0,
		x->err);
}

/* What cannot be written is said before the program does its work. The directory is made here. */
static int check_export(const struct options *o, struct error *err)
{
	char path[PATH_MAX], *rest = path, *name;
	int fd;

	if (!o->export_dir)
		return 0;
	if (mkdir(o->export_dir, 0777) != 0 && errno != EEXIST)
		return error_set(err, FAILURE_EXPORT_FAILED, errno,
			"making the directory %s, before the start", o->export_dir);
	fd = open(o->export_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, FAILURE_EXPORT_FAILED, errno,
			"opening the directory %s, before the start", o->export_dir);
	close(fd);
	if (access(o->export_dir, W_OK | X_OK) != 0 || !realpath(o->export_dir, path))
		return error_set(err, FAILURE_EXPORT_FAILED, errno,
			"writing to the directory %s, before the start", o->export_dir);
	while (!o->overwrite && (name = strsep(&rest, "/")))
		if (workspace_is_run_by_tools(name))
			return error_set(err, FAILURE_EXPORT_FAILED, 0,
				"%s lies in %s, and tools of the host run what lies there; "
				"--overwrite writes it",
				o->export_dir, name);
	return 0;
}

static int start(struct execution *x, unsigned flags)
{
	struct sandbox_request in = { .options = x->options,
		.program = x->program,
		.flags = flags,
		.isolation = x->isolation };
	int standard[3] = { -1, -1, -1 }, server[3] = { -1, -1, -1 }, status = -1;
	struct launch_request request = { .has_namespaces = x->isolation->has_namespaces,
		.host_network = x->options->network == NETWORK_ALLOW };

	if (launch_check_kernel(x->err) < 0 || check_export(x->options, x->err) < 0)
		return -1;
	if (event_log_open(x->options, x->streams, x->record->execution_id, &x->log, x->err) < 0 ||
		launch_ids(&in.outside_uid, &in.outside_gid, x->err) < 0)
		return -1;
	in.events = x->log != NULL;
	cgroup_make(&x->cgroup, x->record->execution_id, limits_most_memory(x->options),
		x->options->pids);
	in.cgroup = x->cgroup.directory >= 0;
	terminal_window(x->streams->terminal, &in.rows, &in.columns);
	if (plan_build(&in, &x->plan, x->record, x->err) < 0)
		return -1;
	if (open_streams(x, standard, server) != 0) {
		if (x->err->code == FAILURE_NONE)
			error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno,
				"making the program's streams");
		goto out;
	}
	if (x->log)
		watch_output(x);
	memcpy(request.standard, x->program->kind == PROGRAM_BODY ? server : standard,
		sizeof request.standard);
	x->outside_uid = in.outside_uid;
	x->outside_gid = in.outside_gid;
	request.ids = (struct id_map){ x->plan.spawn.limits.uid, in.outside_uid,
		x->plan.spawn.limits.gid, in.outside_gid };
	if (launch_init(&request, &x->launch, x->err) < 0)
		goto out;
	x->record->confinement.layers |=
		x->launch.layers | (in.outside_uid != geteuid() ? LAYER_OTHER_USER : 0);
	if (in.cgroup && cgroup_enter(&x->cgroup, x->launch.pid, x->err) < 0)
		goto out;
	if (x->program->kind == PROGRAM_BODY) {
		x->inner = runner_client_begin(&x->plan, standard, x->err);
		if (x->inner < 0)
			goto out;
	}
	if (start_view(x) < 0)
		goto out;
	if (message_send(x->launch.control, "P", 1, x->plan.fds, x->plan.fd_count) != 0) {
		error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"sending the plan of the sandbox");
		goto out;
	}
	status = 0;
out:
	if (status < 0)
		explain_death(x);
	loop_close(standard, 3);
	loop_close(server, 3);
	return status;
}

/*
 * SIGPIPE and SIGXFSZ are the caller's business everywhere but in here, where a reader that went
 * away and a file size limit of the caller's are ordinary errors of write(2). Sets *own to those of
 * the two that were not pending before.
 */
static void block_write_signals(sigset_t *before, sigset_t *own)
{
	static const int SIGNALS[] = { SIGPIPE, SIGXFSZ };
	sigset_t both, waiting;

	sigemptyset(&both);
	sigemptyset(own);
	sigpending(&waiting);
	for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
		sigaddset(&both, SIGNALS[i]);
		if (!sigismember(&waiting, SIGNALS[i]))
			sigaddset(own, SIGNALS[i]);
	}
	pthread_sigmask(SIG_BLOCK, &both, before);
}

static void unblock_write_signals(const sigset_t *before, const sigset_t *own)
{
	const struct timespec now = { 0, 0 };

	while (sigtimedwait(own, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The first failure is the one in the record. */
static void note_export_failure(struct execution *x, const struct error *why)
{
	if (x->record->export_error.code == FAILURE_NONE)
		x->record->export_error = *why;
}

/* What was changed below one --scratch. */
static int export_layer(
	struct execution *x, size_t i, const struct workspace_caps *caps, struct error *err)
{
	const char *source = x->options->ro[x->plan.scratch[i]].source;
	char *destination = NULL, *path = realpath(source, NULL);
	const struct scratch_below below = { path ? path : source, x->view.policy };
	struct workspace_totals totals = { 0 };
	uint64_t changes = 0;
	char layer[48];
	int host = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC), status;

	snprintf(layer, sizeof layer, SCRATCH_LAYER "%zu/files/", i + 1);
	x->record->export_written.below = layer;
	if (asprintf(&destination, "%s/" SCRATCH_LAYER "%zu", x->options->export_dir, i + 1) < 0)
		destination = NULL;
	status = !destination
		? error_set(err, FAILURE_EXPORT_FAILED, ENOMEM, "listing what was changed")
		: host < 0 ? error_set(err, FAILURE_EXPORT_FAILED, errno,
				     "opening %s, to compare it with what was changed", source)
			   : scratch_export(x->scratch[i], host, &below, destination, caps,
				     &changes, &totals, err);
	if (host >= 0)
		close(host);
	free(path);
	free(destination);
	x->record->exported_files += totals.files;
	x->record->export_skipped += totals.skipped;
	x->record->export_written.below = "";
	x->record->scratch_changes += changes;
	x->record->has_scratch = true;
	return status;
}

/*
 * What the program left may be too much to take out; that is the program's doing, so the record
 * says it and is a record all the same. Each layer for itself and before the workspace, so that no
 * one of them keeps the others from being listed.
 */
static void export(struct execution *x)
{
	const struct workspace_caps caps = { .files = 100000,
		.bytes = 4 * (uint64_t)x->options->workspace_bytes,
		.depth = 100,
		.overwrite = x->options->overwrite,
		.written = &x->record->export_written };
	struct record *r = x->record;
	struct workspace_totals totals;
	struct error why_not = ERROR_INIT;

	if (!x->options->export_dir || x->workspace < 0)
		return;
	r->exported = true;
	for (size_t i = 0; i < x->scratch_count && i < x->plan.scratch_count; i++) {
		struct error why = ERROR_INIT;

		if (export_layer(x, i, &caps, &why) < 0)
			note_export_failure(x, &why);
	}
	r->export_written.below = "";
	/* Nothing that the program made may pass for a layer. */
	if (workspace_export(x->workspace, x->options->export_dir, &caps,
		    x->plan.scratch_count > 0 ? scratch_is_layer : NULL, &totals, &why_not) < 0)
		note_export_failure(x, &why_not);
	r->exported_files += totals.files;
	r->export_skipped += totals.skipped;
}

/*
 * A reader that is slow gets everything, within the program's time; one that is gone, or a program
 * that was ended, is not waited for.
 */
static void finish_streams(struct execution *x)
{
	bool waits = !x->failed && !x->record->timed_out && x->options->timeout_us == 0;
	int64_t deadline = waits ? 0
		: x->state == STARTING || x->options->timeout_us == 0
		? 1
		: x->started_us + x->options->timeout_us;

	capture_finish(&x->out, deadline);
	capture_finish(&x->errors, deadline);
	capture_finish(&x->server, 1);
}

/*
 * PID 1 saw both ends from nearby; its word is taken when it can be true, which is when it is not
 * more than what the supervisor saw pass.
 */
static int64_t duration(const struct execution *x)
{
	int64_t seen = x->ended_us - x->launched_us;

	if (!x->program_started)
		return 0;
	if (x->ended && !x->record->timed_out && x->last_us >= x->first_us &&
		x->last_us - x->first_us <= (uint64_t)seen)
		return (int64_t)(x->last_us - x->first_us);
	return x->ended_us > x->started_us ? x->ended_us - x->started_us : 0;
}

/* The loop is over and nothing runs any more: what was left becomes the record. */
static int reach_conclusion(struct execution *x)
{
	struct verdict_facts facts = {
		.is_body = x->program->kind == PROGRAM_BODY,
		.program_started = x->program_started,
		.ended = x->ended,
		.outer_status = x->outer_status,
		.last_words = &x->last_words.bytes,
		.command = x->program->kind == PROGRAM_COMMAND ? x->program->argv[0]
							       : x->options->python,
	};

	struct cgroup_sums sums;

	finish_streams(x);
	/*
	 * A program may well end, of errors when it reads, before the loop has learnt why. A server
	 * that was killed from here has its reason elsewhere.
	 */
	if (!x->failed && x->state != KILLED && view_client_is_lost(&x->view, x->err))
		x->failed = true;
	if (x->failed)
		return -1;
	if (x->out.pass_errno || x->errors.pass_errno)
		return error_set(x->err, FAILURE_OUTPUT_FAILED,
			x->out.pass_errno ? x->out.pass_errno : x->errors.pass_errno,
			"writing the program's %s",
			x->out.pass_errno ? "standard output" : "standard error");
	x->record->duration_us = duration(x);
	x->record->timeout_us = x->options->timeout_us;
	cgroup_account(&x->cgroup, &sums);
	verdict_sums(x->record, &sums, x->ended);
	if (facts.is_body && x->ended)
		runner_client_end(x->reply, x->refused, x->record);
	verdict_limits(x->record, x->options);
	if (verdict_reach(&facts, x->record, x->err) < 0)
		return -1;
	export(x);
	return 0;
}

static int conclude(struct execution *x)
{
	int status = reach_conclusion(x);

	if (status < 0 && !x->program_started && x->state != KILLED)
		launch_explain(&x->launch, 0, x->err);
	return status;
}

static void release(struct execution *x, int status)
{
	int fds[] = { x->inner, x->timer, x->epoll, x->workspace, x->reply, x->terminal.master };

	terminal_restore(&x->terminal);
	stdin_relay_close(&x->input);
	/*
	 * Both were killed. Where the one cannot end, it waits in the kernel for the other, which
	 * then cannot either.
	 */
	view_client_close(
		&x->view, launch_close(&x->launch, LAUNCH_CLOSE_MS) ? LAUNCH_CLOSE_MS : 0);
	loop_close(&x->view_check, 1);
	loop_close(x->scratch, x->scratch_count);
	cgroup_remove(&x->cgroup);
	finish_streams(x);
	notify_flush(&x->notify, clock_now_us(), true);
	processes_close(&x->processes, x->log);
	/* what failed on the way there has a beginning, too */
	event_log_started(x->log, x->options, x->program, x->record);
	event_log_close(x->log, x->record, status < 0 ? x->err : NULL);
	notify_close(&x->notify);
	loop_close(fds, sizeof fds / sizeof *fds);
	plan_build_free(&x->plan);
	buffer_free(&x->last_words.bytes);
}

/* The caller ended it before there was a program to end: that is no failure of cordon's. */
static int was_interrupted(struct execution *x)
{
	*x->err = (struct error)ERROR_INIT;
	x->record->signal = x->view.interrupted;
	x->record->end_cause = x->view.end_cause ? x->view.end_cause : END_BY_SIGNAL;
	buffer_printf(&x->record->error,
		"Interrupted: signal %d came before the program was started", x->view.interrupted);
	return 0;
}

/*
 * On the heap: it is too large for the stack of a caller with a small one (setrlimit(2), musl's
 * threads).
 */
static struct execution *begin(struct error *err)
{
	struct execution *x = calloc(1, sizeof *x);

	if (!x) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "setting up the supervisor");
		return NULL;
	}
	x->launch = (struct launch){ -1, -1, -1, 0 };
	x->cgroup = (struct cgroup)CGROUP_INIT;
	x->out = x->errors = x->server = (struct capture)CAPTURE_INIT;
	x->input = (struct stdin_relay)STDIN_RELAY_INIT;
	x->terminal.fd = x->terminal.master = x->terminal.keeper = -1;
	x->inner = x->timer = x->epoll = x->workspace = x->reply = x->view_check = x->outer_status =
		-1;
	x->view = (struct view_client)VIEW_CLIENT_INIT;
	x->notify.setup.listener = x->processes.epoll = -1;
	x->plan.view_config = x->plan.runner_socket = -1;
	return x;
}

/* From the launch to the record. */
static int carry_out(struct execution *x, unsigned flags)
{
	int status = start(x, flags);

	if (status < 0 && x->view.interrupted)
		status = was_interrupted(x);
	else if (status == 0)
		status = open_loop(x);
	if (status == 0 && !x->view.interrupted) {
		/* Only PID 1 may hold these now, or their end would never show. */
		loop_close(x->plan.fds, x->plan.fd_count);
		x->plan.fd_count = 0;
		status = loop_run(x);
	}
	terminal_restore(&x->terminal);
	return status == 0 && !x->view.interrupted ? conclude(x) : status;
}

int execution_run(const struct isolation *isolation, const struct options *options,
	const struct program *program, const struct streams *streams, unsigned flags,
	struct record *record, struct error *err)
{
	struct execution *x = begin(err);
	sigset_t before, own;
	int status;

	if (!x)
		return -1;
	x->options = options;
	x->program = program;
	x->streams = streams;
	x->record = record;
	x->err = err;
	x->isolation = isolation;
	block_write_signals(&before, &own);
	x->launched_us = clock_now_us();
	status = carry_out(x, flags);
	if (status < 0)
		refusal_explain(err);
	release(x, status);
	unblock_write_signals(&before, &own);
	free(x);
	return status;
}

int execution_probe(const struct isolation *isolation, struct error *err)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	const struct program program = { .kind = PROGRAM_COMMAND, .argv = argv };
	const struct streams streams = STREAMS_CAPTURE;
	struct options options;
	struct record record;
	int status;

	options_init(&options, FOR_RUN);
	status = record_init(&record, err);
	if (status == 0) {
		status = execution_run(isolation, &options, &program, &streams, 0, &record, err);
		if (status == 0 && !record.success)
			status = error_set(
				err, FAILURE_INTERNAL, 0, "/bin/true did not succeed inside");
		record_free(&record);
	}
	options_free(&options);
	return status;
}
