/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's loop. See execution.h.
 *
 * Phases: starting (until the program runs; a generous deadline of our own), running (the caller's limit), ending. Ending goes by degrees: the lifeline is shut, which
 * makes PID 1 kill and reap everything and report the sums; after a grace the process itself is killed, and with it its namespace. A timeout of a
 * body first ends the execution and then the fork server above it. After that the streams are drained, without waiting for whoever may still hold them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/execution.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/workspace.h"
#include "isolate/confine/cgroup.h"
#include "isolate/confine/message.h"
#include "isolate/confine/report.h"
#include "isolate/supervise/capture.h"
#include "isolate/supervise/compose.h"
#include "isolate/supervise/conversation.h"
#include "isolate/supervise/launch.h"
#include "isolate/supervise/terminal.h"
#include "isolate/supervise/verdict.h"

#define START_US (60 * INT64_C(1000000))
#define GRACE_US INT64_C(300000)
#define READ_AT_ONCE (256 * 1024)
#define LAST_WORDS 4096

enum phase { STARTING, RUNNING, ENDING, KILLED };

enum source { FROM_CONTROL, FROM_INNER, FROM_OUT, FROM_ERR, TO_OUT, TO_ERR, FROM_SERVER, FROM_TIMER, FROM_PROCESS, FROM_CALLER, FROM_TERMINAL, SOURCES };

struct execution {
	const struct options *options;
	const struct program *program;
	const struct streams *streams;
	struct result *result;
	struct error *err;
	bool isolated, failed, gone, program_started, ended;
	enum phase phase;
	struct launch launch;
	struct composition composition;
	struct cgroup cgroup;
	struct capture out, errors, server;
	struct captured last_words;      /* what the interpreter said before the runner was up */
	struct terminal terminal;
	int inner, timer, epoll, workspace, reply, interrupts;
	uint64_t held_signals;           /* bit n: signal n came before the program ran */
	int64_t started_us, ended_us;
	int outer_status;
};

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void set_timer(struct execution *x, int64_t at_us)
{
	struct itimerspec at = { { 0, 0 }, { at_us / 1000000, (at_us % 1000000) * 1000 } };

	timerfd_settime(x->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static int watch(struct execution *x, int fd, enum source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return fd < 0 || epoll_ctl(x->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -1;
}

static void unwatch(struct execution *x, int fd)
{
	if (fd >= 0)
		epoll_ctl(x->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Sets everything off that ends the sandbox in good order. */
static void end(struct execution *x)
{
	if (x->phase >= ENDING)
		return;
	x->phase = ENDING;
	if (x->ended_us == 0)
		x->ended_us = now_us();
	/* The execution first, so that its sums arrive; without one, or after it, what is above it. */
	if (x->inner >= 0)
		shutdown(x->inner, SHUT_WR);
	else
		shutdown(x->launch.control, SHUT_WR);
	set_timer(x, now_us() + GRACE_US);
}

static void kill_now(struct execution *x)
{
	x->phase = KILLED;
	syscall(SYS_pidfd_send_signal, x->launch.pidfd, SIGKILL, NULL, 0);
	cgroup_kill(&x->cgroup);
	set_timer(x, now_us() + 10 * GRACE_US);
}

static void fail(struct execution *x, const struct error *why)
{
	if (!x->failed)
		*x->err = *why;
	x->failed = true;
	end(x);
}

static void on_timer(struct execution *x)
{
	struct error why = ERROR_INIT;
	uint64_t ticks;

	if (read(x->timer, &ticks, sizeof ticks) != sizeof ticks)
		return;
	switch (x->phase) {
	case STARTING:
		error_set(&why, x->program->kind == PROGRAM_BODY ? FAILURE_RUNNER_BROKEN : FAILURE_MOUNT_DENIED, ETIMEDOUT,
			  "starting the sandbox took over %d seconds", (int)(START_US / 1000000));
		fail(x, &why);
		break;
	case RUNNING:
		x->result->timed_out = true;
		end(x);
		break;
	case ENDING:
		kill_now(x);
		break;
	case KILLED:
		x->gone = true; /* stuck in the kernel: nothing more can be done from here */
		break;
	}
}

static void close_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void on_started(struct execution *x, const struct report *r)
{
	x->result->confinement.layers |= r->layers;
	if (x->phase != STARTING)
		return;
	x->phase = RUNNING;
	x->program_started = true;
	x->started_us = now_us();
	set_timer(x, x->options->timeout_us > 0 ? x->started_us + x->options->timeout_us : 0);
	for (int number = 1; number < 64; number++)
		if (x->held_signals & (UINT64_C(1) << number))
			syscall(SYS_pidfd_send_signal, x->launch.pidfd, number, NULL, 0);
}

static void on_ended(struct execution *x, const struct report *r)
{
	if (x->ended)
		return;
	x->ended = true;
	if (x->ended_us == 0)
		x->ended_us = now_us();
	x->result->confinement.layers |= r->layers;
	verdict_usage(x->result, r);
}

/* The program's terminal has come: from here on it is the stream that is captured. */
static void on_terminal(struct execution *x, int master)
{
	x->terminal.master = master;
	x->out.source = fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (x->out.source < 0 || fcntl(x->out.source, F_SETFL, O_NONBLOCK) != 0)
		return;
	watch(x, x->out.source, FROM_OUT);
	terminal_begin(&x->terminal, x->streams->terminal);
	watch(x, x->terminal.fd, FROM_TERMINAL);
}

static void on_report(struct execution *x, const struct report *r, int *fds, size_t count, bool inner)
{
	struct error why = { (enum failure)r->failure, r->error, "" };
	bool of_program = inner || x->program->kind != PROGRAM_BODY;

	switch ((enum report_kind)r->kind) {
	case REPORT_READY:
		x->result->confinement.layers |= r->layers;
		if (of_program && count > 0 && x->workspace < 0) {
			x->workspace = fds[0];
			fds[0] = -1;
		}
		if (count > 1 && (x->composition.spawn.limits.flags & LIMIT_TERMINAL) && x->terminal.master < 0) {
			on_terminal(x, fds[1]);
			fds[1] = -1;
		}
		break;
	case REPORT_STARTED:
		if (of_program)
			on_started(x, r);
		break;
	case REPORT_NOT_STARTED:
		x->result->exec_errno = r->error ? r->error : ENOENT;
		x->result->confinement.layers |= r->layers;
		break;
	case REPORT_ENDED:
		if (!of_program) {
			x->outer_status = r->status;
			break;
		}
		on_ended(x, r);
		if (inner && count > 0 && x->reply < 0) {
			x->reply = fds[0];
			fds[0] = -1;
		}
		break;
	case REPORT_FAILED:
		snprintf(why.context, sizeof why.context, "%s", r->context);
		fail(x, &why);
		break;
	}
	close_fds(fds, count);
}

/* Reads reports until there are no more for now. Returns false at the end of the stream. */
static bool read_reports(struct execution *x, int socket, bool inner)
{
	for (;;) {
		char bytes[sizeof(struct report) + 1];
		struct report r;
		int fds[4];
		size_t count;
		ssize_t got;

		got = message_receive(socket, bytes, sizeof bytes, fds, 4, &count);
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		if (report_parse(bytes, (size_t)got, &r)) {
			on_report(x, &r, fds, count, inner);
		} else {
			struct error why = ERROR_INIT;

			close_fds(fds, count);
			error_set(&why, FAILURE_INTERNAL, EPROTO, "reading a report from inside the sandbox: it is malformed");
			fail(x, &why);
		}
	}
}

static void on_inner(struct execution *x)
{
	if (read_reports(x, x->inner, true) && !x->ended)
		return;
	unwatch(x, x->inner);
	close(x->inner);
	x->inner = -1;
	/* The execution is over: what is above it may go. */
	if (x->phase < ENDING) {
		end(x);
	} else {
		shutdown(x->launch.control, SHUT_WR);
		set_timer(x, now_us() + GRACE_US);
	}
}

static void on_process(struct execution *x)
{
	read_reports(x, x->launch.control, false);
	if (x->inner >= 0)
		read_reports(x, x->inner, true);
	if (x->ended_us == 0)
		x->ended_us = now_us(); /* PID 1 went without a word */
	x->gone = true;
}

static void pass_signal(struct execution *x, int number)
{
	bool asks_to_end = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;

	if (number == SIGWINCH)
		terminal_resize(&x->terminal);
	x->interrupts += asks_to_end;
	/* A body has no handlers to wait for, and somebody who asks three times means it. */
	if (number == SIGKILL || (asks_to_end && (x->program->kind == PROGRAM_BODY || x->interrupts > 2))) {
		x->result->signal = number;
		end(x);
	} else if (x->phase == RUNNING) {
		syscall(SYS_pidfd_send_signal, x->launch.pidfd, number, NULL, 0);
	} else if (x->phase == STARTING) {
		x->held_signals |= UINT64_C(1) << number;
	}
}

/* The caller's side of the terminal has ended: a terminal that is gone hangs up, a pipe that is empty types the end of file. */
static void on_input_end(struct execution *x)
{
	static const char END_OF_FILE = 4;

	if (isatty(x->terminal.fd))
		pass_signal(x, SIGHUP);
	else if (write(x->terminal.master, &END_OF_FILE, 1) != 1)
		pass_signal(x, SIGHUP);
}

/* Bytes from the caller, each a signal to pass on. */
static void on_caller(struct execution *x)
{
	unsigned char numbers[16];
	ssize_t count = read(x->streams->control, numbers, sizeof numbers);

	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
		unwatch(x, x->streams->control);
	for (ssize_t i = 0; i < count; i++)
		if (numbers[i] > 0 && numbers[i] < 64)
			pass_signal(x, numbers[i]);
}

/*
 * Either the program is read or its reader is waited for. In both cases a descriptor that is closed has left the epoll set by itself.
 */
static void on_stream(struct execution *x, struct capture *c, enum source from, enum source to)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.u32 = to };
	bool was_blocked = capture_is_blocked(c);

	capture_pass(c);
	if (!capture_is_blocked(c) && c->source >= 0)
		capture_read(c, READ_AT_ONCE);
	if (capture_is_blocked(c) == was_blocked)
		return;
	if (!was_blocked) {
		unwatch(x, c->source);
		epoll_ctl(x->epoll, EPOLL_CTL_ADD, c->pass_to, &event);
	} else {
		unwatch(x, c->pass_to);
		if (c->source >= 0)
			watch(x, c->source, from);
	}
}

static void on_event(struct execution *x, enum source source)
{
	switch (source) {
	case FROM_CONTROL:
		if (!read_reports(x, x->launch.control, false))
			unwatch(x, x->launch.control);
		break;
	case FROM_INNER:
		on_inner(x);
		break;
	case FROM_OUT:
	case TO_OUT:
		on_stream(x, &x->out, FROM_OUT, TO_OUT);
		break;
	case FROM_ERR:
	case TO_ERR:
		on_stream(x, &x->errors, FROM_ERR, TO_ERR);
		break;
	case FROM_SERVER:
		on_stream(x, &x->server, FROM_SERVER, FROM_SERVER);
		break;
	case FROM_TIMER:
		on_timer(x);
		break;
	case FROM_PROCESS:
		on_process(x);
		break;
	case FROM_CALLER:
		on_caller(x);
		break;
	case FROM_TERMINAL:
		if (!terminal_type(&x->terminal)) {
			unwatch(x, x->terminal.fd);
			on_input_end(x);
		}
		break;
	case SOURCES:
		break;
	}
}

static int loop(struct execution *x)
{
	while (!x->gone) {
		struct epoll_event events[SOURCES];
		int count = epoll_wait(x->epoll, events, SOURCES, -1);

		if (count < 0 && errno != EINTR)
			return error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "waiting for the sandbox");
		for (int i = 0; i < count; i++)
			on_event(x, (enum source)events[i].data.u32);
	}
	return 0;
}

/*
 * The caller's input for the program. A terminal is mostly open for writing, too: then the program gets a description of its own that only reads.
 */
static int input_of(int fd)
{
	char path[40];
	int copy;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	copy = isatty(fd) ? open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
	return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* The three descriptors that cordon-init starts with, and the pipes behind them. standard[] are to be closed by the caller. */
static int open_streams(struct execution *x, int standard[3], int server[3])
{
	const struct options *o = x->options;
	bool body = x->program->kind == PROGRAM_BODY;
	struct result *r = x->result;

	if (o->stdin_open && x->streams->in >= 0 && !(x->composition.spawn.limits.flags & LIMIT_TERMINAL))
		standard[0] = input_of(x->streams->in);
	else
		standard[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (standard[0] < 0 || capture_open(&x->out, x->streams->out, (uint64_t)o->output_limit_bytes, &r->out, &standard[1]) != 0 ||
	    capture_open(&x->errors, x->streams->err, (uint64_t)o->output_limit_bytes, &r->err, &standard[2]) != 0)
		return -1;
	if (!body)
		return 0;
	server[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	server[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return server[0] < 0 || server[1] < 0 || capture_open(&x->server, -1, LAST_WORDS, &x->last_words, &server[2]) != 0 ? -1 : 0;
}

static int open_loop(struct execution *x)
{
	x->epoll = epoll_create1(EPOLL_CLOEXEC);
	x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->epoll < 0 || x->timer < 0 || fcntl(x->launch.control, F_SETFL, O_NONBLOCK) != 0 ||
	    (x->inner >= 0 && fcntl(x->inner, F_SETFL, O_NONBLOCK) != 0) || watch(x, x->launch.control, FROM_CONTROL) != 0 ||
	    watch(x, x->inner, FROM_INNER) != 0 || watch(x, x->launch.pidfd, FROM_PROCESS) != 0 || watch(x, x->timer, FROM_TIMER) != 0 ||
	    watch(x, x->out.source, FROM_OUT) != 0 || watch(x, x->errors.source, FROM_ERR) != 0 || watch(x, x->server.source, FROM_SERVER) != 0 ||
	    watch(x, x->streams->control, FROM_CALLER) != 0)
		return error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "setting up the supervisor");
	set_timer(x, now_us() + START_US);
	return 0;
}

static int start(struct execution *x, unsigned flags)
{
	struct composition_input in = { .options = x->options, .program = x->program, .flags = flags, .isolated = x->isolated };
	int standard[3] = { -1, -1, -1 }, server[3] = { -1, -1, -1 }, status = -1;
	struct launch_request request = { .isolated = x->isolated, .host_network = x->options->network == NETWORK_ALLOW };

	if (launch_ids(&in.outside_uid, &in.outside_gid, x->err) < 0)
		return -1;
	cgroup_make(&x->cgroup, x->result->execution_id, x->options->memory_bytes, x->options->pids);
	in.cgroup = x->cgroup.directory >= 0;
	terminal_window(x->streams->terminal, &in.rows, &in.columns);
	if (compose(&in, &x->composition, &x->result->confinement, x->err) < 0)
		return -1;
	if (open_streams(x, standard, server) != 0) {
		error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the program's streams");
		goto out;
	}
	memcpy(request.standard, x->program->kind == PROGRAM_BODY ? server : standard, sizeof request.standard);
	request.outside_uid = in.outside_uid;
	request.outside_gid = in.outside_gid;
	if (launch_init(&request, &x->launch, x->err) < 0)
		goto out;
	x->result->confinement.layers |= x->launch.layers | (in.outside_uid != geteuid() ? LAYER_OTHER_USER : 0);
	if (in.cgroup && cgroup_enter(&x->cgroup, x->launch.pid, x->err) < 0)
		goto out;
	if (x->program->kind == PROGRAM_BODY) {
		x->inner = conversation_begin(&x->composition, standard, x->err);
		if (x->inner < 0)
			goto out;
	}
	if (message_send(x->launch.control, "P", 1, x->composition.fds, x->composition.fd_count) != 0) {
		error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno, "sending the plan of the sandbox");
		goto out;
	}
	status = 0;
out:
	close_fds(standard, 3);
	close_fds(server, 3);
	return status;
}

/*
 * SIGPIPE and SIGXFSZ are the caller's business everywhere but in here, where a reader that went away and a file size limit of the caller's are ordinary
 * errors of write(2). Sets *own to those of the two that were not pending before.
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

static int export(struct execution *x)
{
	const struct workspace_caps caps = { .files = 100000, .bytes = 4 * (uint64_t)x->options->workspace_bytes, .depth = 100 };
	struct workspace_totals totals;

	if (!x->options->export_dir || x->workspace < 0 || x->failed)
		return 0;
	if (workspace_export(x->workspace, x->options->export_dir, &caps, &totals, x->err) < 0)
		return -1;
	x->result->exported = true;
	x->result->exported_files = totals.files;
	x->result->export_skipped = totals.skipped;
	return 0;
}

/* A reader that is slow gets everything, within the program's time; one that is gone, or a program that was ended, is not waited for. */
static void finish_streams(struct execution *x)
{
	bool waits = !x->failed && !x->result->timed_out && x->options->timeout_us == 0;
	int64_t deadline = waits ? 0 : x->phase == STARTING || x->options->timeout_us == 0 ? 1 : x->started_us + x->options->timeout_us;

	capture_finish(&x->out, deadline);
	capture_finish(&x->errors, deadline);
	capture_finish(&x->server, 1);
}

/* The loop is over and nothing runs any more: what was left becomes the result. */
static int conclude(struct execution *x)
{
	struct verdict_facts facts = {
		.is_body = x->program->kind == PROGRAM_BODY,
		.program_started = x->program_started,
		.ended = x->ended,
		.outer_status = x->outer_status,
		.last_words = &x->last_words.bytes,
		.command = x->program->kind == PROGRAM_COMMAND ? x->program->argv[0] : x->options->python,
	};

	struct cgroup_sums sums;

	finish_streams(x);
	if (x->failed)
		return -1;
	x->result->duration_us = x->program_started && x->ended_us > x->started_us ? x->ended_us - x->started_us : 0;
	x->result->timeout_us = x->options->timeout_us;
	cgroup_account(&x->cgroup, &sums);
	verdict_sums(x->result, &sums);
	if (facts.is_body && x->ended)
		conversation_end(x->reply, x->result);
	return verdict_reach(&facts, x->result, x->err) < 0 ? -1 : export(x);
}

static void release(struct execution *x)
{
	int fds[] = { x->inner, x->timer, x->epoll, x->workspace, x->reply, x->terminal.master };

	terminal_restore(&x->terminal);
	launch_close(&x->launch);
	cgroup_remove(&x->cgroup);
	finish_streams(x);
	close_fds(fds, sizeof fds / sizeof *fds);
	compose_free(&x->composition);
	buffer_free(&x->last_words.bytes);
}

int execution_run(bool isolated, const struct options *options, const struct program *program, const struct streams *streams, unsigned flags,
		  struct result *result, struct error *err)
{
	struct execution x = {
		.options = options, .program = program, .streams = streams, .result = result, .err = err, .isolated = isolated,
		.launch = { -1, -1, -1, 0 }, .cgroup = CGROUP_INIT, .out = CAPTURE_INIT, .errors = CAPTURE_INIT, .server = CAPTURE_INIT,
		.terminal = { .fd = -1, .master = -1 }, .inner = -1, .timer = -1, .epoll = -1, .workspace = -1, .reply = -1,
		.composition.runner_socket = -1, .outer_status = -1,
	};
	sigset_t before, own;
	int status;

	block_write_signals(&before, &own);
	status = start(&x, flags);
	if (status == 0)
		status = open_loop(&x);
	if (status == 0) {
		/* Only PID 1 may hold these now, or their end would never show. */
		close_fds(x.composition.fds, x.composition.fd_count);
		x.composition.fd_count = 0;
		status = loop(&x);
	}
	terminal_restore(&x.terminal);
	if (status == 0)
		status = conclude(&x);
	release(&x);
	unblock_write_signals(&before, &own);
	return status;
}

int execution_probe(bool isolated, struct error *err)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	const struct program program = { .kind = PROGRAM_COMMAND, .argv = argv };
	const struct streams streams = STREAMS_CAPTURE;
	struct options options;
	struct result result;
	int status;

	options_init(&options, FOR_RUN);
	status = result_init(&result, err);
	if (status == 0) {
		status = execution_run(isolated, &options, &program, &streams, 0, &result, err);
		if (status == 0 && !result.success)
			status = error_set(err, FAILURE_INTERNAL, 0, "/bin/true did not succeed inside");
		result_free(&result);
	}
	options_free(&options);
	return status;
}
