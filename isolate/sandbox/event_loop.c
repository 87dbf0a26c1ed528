/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens during an execution, and what follows from it. See event_loop.h.
 *
 * The table STEPS has the states. Ending goes by degrees: the lifeline is shut, which makes PID 1
 * kill and reap everything and report the sums; after a grace PID 1 itself is killed, and with it
 * its namespace. A body ends first, then the fork server above it. The loop is over when PID 1 is
 * gone, whatever the state, or when KILLED has passed its deadline too.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "isolate/init/reap.h"
#include "isolate/base/clock.h"
#include "isolate/base/trace.h"

#define GRACE_US INT64_C(300000)
#define READ_AT_ONCE (256 * 1024) /* of one stream */

void loop_set_timer(struct execution *x, int64_t at_us)
{
	struct itimerspec at = { { 0, 0 }, { at_us / 1000000, (at_us % 1000000) * 1000 } };

	timerfd_settime(x->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

int loop_watch(struct execution *x, int fd, enum source source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return fd < 0 || epoll_ctl(x->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -1;
}

void loop_unwatch(struct execution *x, int fd)
{
	if (fd >= 0)
		epoll_ctl(x->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* ---- the actions of the table ---- */

/* The caller's time begins, and what came too early is passed on. */
static void begin_program(struct execution *x)
{
	x->program_started = true;
	x->started_us = clock_now_us();
	event_log_confined(x->log, x->record);
	loop_set_timer(x, x->options->timeout_us > 0 ? x->started_us + x->options->timeout_us : 0);
	for (int number = 1; number < 64; number++)
		if (x->held_signals & (UINT64_C(1) << number))
			syscall(SYS_pidfd_send_signal, x->launch.pidfd, number, NULL, 0);
	if (x->asked_to_pause)
		loop_ask_to_pause(x, true);
}

static void shut_lifeline(struct execution *x)
{
	if (x->ended_us == 0)
		x->ended_us = clock_now_us();
	/*
	 * The execution first, so that its sums arrive; without one, or after it, what is above it.
	 */
	shutdown(x->inner >= 0 ? x->inner : x->launch.control, SHUT_WR);
	loop_set_timer(x, clock_now_us() + GRACE_US);
}

static void fail_start(struct execution *x)
{
	if (!x->failed)
		error_set(x->err,
			x->program->kind == PROGRAM_BODY ? FAILURE_RUNNER_BROKEN
							 : FAILURE_MOUNT_DENIED,
			ETIMEDOUT, "starting the sandbox took over %d seconds",
			(int)(START_US / 1000000));
	x->failed = true;
	shut_lifeline(x);
}

static void time_out(struct execution *x)
{
	x->record->timed_out = true;
	event_log_limit(x->log, "wall-time", x->options->timeout_us / 1000);
	shut_lifeline(x);
}

static void kill_now(struct execution *x)
{
	/* First whatever a process inside might be waiting for in the kernel. */
	view_client_kill(&x->view);
	syscall(SYS_pidfd_send_signal, x->launch.pidfd, SIGKILL, NULL, 0);
	cgroup_kill(&x->cgroup);
	loop_set_timer(x, clock_now_us() + 10 * GRACE_US);
}

/* It is stuck in the kernel: nothing more can be done from here. */
static void give_up(struct execution *x)
{
	x->gone = true;
}

static const struct step {
	void (*action)(struct execution *x); /* NULL: the event changes nothing */
	enum state next;
} STEPS[STATES][LOOP_EVENTS] = {
	[STARTING] = { [ON_STARTED] = { begin_program, RUNNING },
		[ON_DEADLINE] = { fail_start, ENDING },
		[ON_END] = { shut_lifeline, ENDING },
		[ON_OVER] = { shut_lifeline, ENDING } },
	[RUNNING] = { [ON_DEADLINE] = { time_out, ENDING },
		[ON_END] = { shut_lifeline, ENDING },
		[ON_OVER] = { shut_lifeline, ENDING } },
	[ENDING] = { [ON_DEADLINE] = { kill_now, KILLED }, [ON_OVER] = { shut_lifeline, ENDING } },
	[KILLED] = { [ON_DEADLINE] = { give_up, KILLED }, [ON_OVER] = { shut_lifeline, KILLED } },
};

void loop_step(struct execution *x, enum loop_event event)
{
	static const char *const NAMES[] = { "starting", "running", "ending", "killed" };
	const struct step *s = &STEPS[x->state][event];

	if (!s->action)
		return;
	trace("sandbox", "%s: %s -> %s", x->record->execution_id, NAMES[x->state], NAMES[s->next]);
	x->state = s->next;
	s->action(x);
}

/* ---- what happens ---- */

void loop_fail(struct execution *x, const struct error *why)
{
	if (!x->failed)
		*x->err = *why;
	x->failed = true;
	loop_step(x, ON_END);
}

/* The view's server is gone or stands still: nothing inside can read its files any more. */
static void check_view(struct execution *x)
{
	struct error why = ERROR_INIT;

	if (x->state >= ENDING || !view_client_is_lost(&x->view, &why))
		return;
	view_client_kill(&x->view);
	loop_fail(x, &why);
}

static void on_view(struct execution *x)
{
	if (view_client_read(&x->view))
		return;
	loop_unwatch(x, x->view.launch.control);
	check_view(x);
}

static void on_view_check(struct execution *x)
{
	uint64_t ticks;

	if (read(x->view_check, &ticks, sizeof ticks) == sizeof ticks)
		check_view(x);
}

static void on_timer(struct execution *x)
{
	uint64_t ticks;

	if (read(x->timer, &ticks, sizeof ticks) == sizeof ticks)
		loop_step(x, ON_DEADLINE);
}

void loop_close(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void loop_ask_to_pause(struct execution *x, bool pause)
{
	const char byte = pause ? REAP_PAUSE : REAP_RESUME;

	x->asked_to_pause = pause;
	if (x->state == RUNNING)
		send(x->inner >= 0 ? x->inner : x->launch.control, &byte, 1,
			MSG_DONTWAIT | MSG_NOSIGNAL);
}

int64_t loop_elapsed_us(const struct execution *x)
{
	return x->program_started ? (x->paused ? x->paused_us : clock_now_us()) - x->started_us : 0;
}

static void on_inner(struct execution *x)
{
	if (reports_read(x, x->inner, true) && !x->ended)
		return;
	loop_unwatch(x, x->inner);
	close(x->inner);
	x->inner = -1;
	loop_step(x, ON_OVER);
}

static void on_process(struct execution *x)
{
	reports_read(x, x->launch.control, false);
	if (x->inner >= 0)
		reports_read(x, x->inner, true);
	if (x->ended_us == 0)
		x->ended_us = clock_now_us(); /* PID 1 went without a word */
	x->gone = true;
}

static void pass_signal(struct execution *x, int number)
{
	bool asks_to_end =
		number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;

	if (number == SIGWINCH)
		terminal_resize(&x->terminal);
	x->interrupts += asks_to_end;
	/* A body has no handlers to wait for; the third signal ends a command that ignores two. */
	if (number == SIGKILL ||
		(asks_to_end && (x->program->kind == PROGRAM_BODY || x->interrupts > 2))) {
		if (x->record->end_cause == END_BY_ITSELF && x->state < ENDING)
			x->record->end_cause = END_BY_SIGNAL;
		x->record->signal = number;
		loop_step(x, ON_END);
	} else if (x->state == RUNNING) {
		syscall(SYS_pidfd_send_signal, x->launch.pidfd, number, NULL, 0);
	} else if (x->state == STARTING) {
		x->held_signals |= UINT64_C(1) << number;
	}
}

/* Bytes from the caller, each a signal to pass on. */
static void on_caller(struct execution *x)
{
	unsigned char numbers[16];
	ssize_t count = read(x->streams->control, numbers, sizeof numbers);

	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
		loop_unwatch(x, x->streams->control);
	for (ssize_t i = 0; i < count; i++)
		if (numbers[i] > 0 && numbers[i] < 64)
			pass_signal(x, numbers[i]);
		else if (numbers[i] == CONTROL_PAUSE || numbers[i] == CONTROL_RESUME)
			loop_ask_to_pause(x, numbers[i] == CONTROL_PAUSE);
		else if (numbers[i] > CONTROL_CAUSE && numbers[i] < CONTROL_CAUSE + END_CAUSES &&
			x->state < ENDING)
			x->record->end_cause = (enum end_cause)(numbers[i] - CONTROL_CAUSE);
}

static void on_notify(struct execution *x)
{
	/* A listener that is closed has left the epoll set by itself. */
	notify_read(&x->notify, clock_now_us());
	loop_watch_view(x);
}

void loop_watch_view(struct execution *x)
{
	if (!x->watches_view && x->processes.count > 0)
		x->watches_view = loop_watch(x, x->view.launch.control, FROM_VIEW) == 0;
}

/*
 * Either the program is read, or its reader is waited for. A closed descriptor has left the epoll
 * set.
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
		loop_unwatch(x, c->source);
		epoll_ctl(x->epoll, EPOLL_CTL_ADD, c->pass_to, &event);
	} else {
		loop_unwatch(x, c->pass_to);
		if (c->source >= 0)
			loop_watch(x, c->source, from);
	}
}

/* One wake-up, then silence until it is asked for again. */
static void wait_once(struct execution *x, int fd, uint32_t events, enum source source)
{
	struct epoll_event event = { .events = events | EPOLLONESHOT, .data.u32 = source };

	if (epoll_ctl(x->epoll, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT)
		epoll_ctl(x->epoll, EPOLL_CTL_ADD, fd, &event);
}

void loop_relay_input(struct execution *x, bool source_is_ready)
{
	bool had_ended = x->input.at_end;

	stdin_relay_move(&x->input, source_is_ready);
	/* A terminal that is gone hangs up; the end of anything else was typed. */
	if (x->input.at_end && !had_ended && x->terminal.master >= 0 && !x->input.types_end)
		pass_signal(x, SIGHUP);
	if (stdin_relay_is_blocked(&x->input) || (x->input.source >= 0 && x->input.always_ready))
		wait_once(x, x->input.sink, EPOLLOUT, TO_INPUT);
	else if (x->input.source >= 0)
		wait_once(x, x->input.source, EPOLLIN, FROM_INPUT);
}

static void on_event(struct execution *x, enum source source)
{
	switch (source) {
	case FROM_CONTROL:
		if (!reports_read(x, x->launch.control, false))
			loop_unwatch(x, x->launch.control);
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
	case FROM_INPUT:
	case TO_INPUT:
		loop_relay_input(x, source == FROM_INPUT);
		break;
	case FROM_VIEW:
		on_view(x);
		break;
	case FROM_VIEW_CHECK:
		on_view_check(x);
		break;
	case FROM_NOTIFY:
		on_notify(x);
		break;
	case FROM_PROCESSES:
		processes_ended(&x->processes, x->log);
		break;
	case TO_EVENTS:
		event_log_flush(x->log);
		break;
	case SOURCES:
		break;
	}
}

int loop_run(struct execution *x)
{
	while (!x->gone) {
		struct epoll_event events[SOURCES];
		int count = epoll_wait(x->epoll, events, SOURCES, -1);

		if (count < 0 && errno != EINTR)
			return error_set(x->err, FAILURE_RESOURCES_EXHAUSTED, errno,
				"waiting for the sandbox");
		for (int i = 0; i < count; i++)
			on_event(x, (enum source)events[i].data.u32);
		if (event_log_blocked(x->log) >= 0)
			wait_once(x, event_log_blocked(x->log), EPOLLOUT, TO_EVENTS);
	}
	return 0;
}
