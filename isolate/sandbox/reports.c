/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports from inside, and what follows from them. See event_loop.h.
 *
 * A report has a fixed size and is checked before anything is done with it; one that is malformed
 * ends the execution. Descriptors that come along are taken by the handler that wants them, and
 * closed otherwise. A report of a kind that has already come changes nothing: neither the start nor
 * the end can be reported twice.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/message.h"
#include "isolate/base/trace.h"
#include "isolate/wire/init_report.h"
#include "isolate/base/clock.h"
#include "isolate/sandbox/verdict.h"

#define OWED_US INT64_C(2000000)

/*
 * How many the kernel refused for want of a route that had no event with an address. Those that
 * were are in its count too, some of them samples later; what is not found there for OWED_US after
 * the last event was refused for another reason.
 */
static uint32_t without_event(struct execution *x, uint32_t refused)
{
	uint64_t emitted = x->record->hosts.total - x->hosts_emitted,
		 known = x->hosts_owed + emitted;
	int64_t now_us = clock_now_us();

	if (emitted > 0)
		x->hosts_emitted_us = now_us;
	x->hosts_emitted = x->record->hosts.total;
	x->hosts_owed = 0;
	if (known > refused && now_us - x->hosts_emitted_us < OWED_US)
		x->hosts_owed = known - refused;
	return known < refused ? refused - (uint32_t)known : 0;
}

static void on_sample(struct execution *x, const struct report *r)
{
	event_log_sample(x->log, r, without_event(x, r->count), loop_elapsed_us(x));
	notify_flush(&x->notify, clock_now_us(), false);
	processes_flush(&x->processes, x->log, clock_now_us());
}

static void on_seen(struct execution *x, const struct report *r, int *fds, size_t count)
{
	if (!x->log)
		return;
	processes_reported(&x->processes, x->log, r, count > 0 ? fds[0] : -1);
	if (count > 0)
		fds[0] = -1;
	loop_watch_view(x);
}

static void on_paused(struct execution *x, bool paused, int64_t time_ns)
{
	/*
	 * The clock stops only when the caller asked: a program that stops itself spends its time.
	 */
	if (x->state != RUNNING || paused == x->paused || paused != x->asked_to_pause)
		return;
	if (paused) {
		x->paused_us = clock_now_us();
	} else {
		x->started_us += clock_now_us() - x->paused_us;
		x->first_us += (uint64_t)(clock_now_us() - x->paused_us);
	}
	x->paused = paused;
	loop_set_timer(x,
		!paused && x->options->timeout_us > 0 ? x->started_us + x->options->timeout_us : 0);
	event_log_paused(x->log, paused, loop_elapsed_us(x), time_ns);
}

/* The filter is in force, and says here what it refuses. */
static void take_listener(struct execution *x, const struct report *r, int *fds, size_t count)
{
	if (count < 1 || x->notify.setup.listener >= 0)
		return;
	x->notify.record = x->record;
	if (x->log) {
		x->notify.log = x->log;
		x->notify.processes = &x->processes;
		x->notify.setup.uid = x->outside_uid;
		x->notify.setup.gid = x->outside_gid;
		x->processes.began_ns = r->time_ns;
	}
	notify_begin(&x->notify, fds[0], &x->plan.spawn.limits);
	x->record->calls.watched = true;
	x->record->hosts.watched = x->log && x->notify.setup.own_network;
	fds[0] = -1;
	loop_watch(x, notify_fd(&x->notify), FROM_NOTIFY);
}

static void on_started(struct execution *x, const struct report *r)
{
	x->record->confinement.layers |= r->layers;
	if (!x->program_started)
		x->first_us = r->at_us;
	loop_step(x, ON_STARTED);
}

static void on_ended(struct execution *x, const struct report *r)
{
	if (x->ended)
		return;
	x->ended = true;
	x->last_us = r->at_us;
	if (x->ended_us == 0)
		x->ended_us = clock_now_us();
	x->record->confinement.layers |= r->layers;
	verdict_usage(x->record, r);
}

/* The program's terminal has come: from here on it is the stream that is captured. */
static void on_terminal(struct execution *x, int master)
{
	x->terminal.master = master;
	/* The pipe that stood here has no writer: left in the epoll set it is ready for ever. */
	loop_close(&x->out.source, 1);
	x->out.source = fcntl(master, F_DUPFD_CLOEXEC, 3);
	if (x->out.source < 0 || fcntl(x->out.source, F_SETFL, O_NONBLOCK) != 0)
		return;
	loop_watch(x, x->out.source, FROM_OUT);
	terminal_begin(&x->terminal, x->streams->terminal);
	if (x->terminal.fd >= 0 &&
		stdin_relay_open_terminal(&x->input, x->terminal.fd, master) == 0)
		loop_relay_input(x, false);
}

/*
 * What is written to each --scratch; it comes with the root, also where the program itself runs in
 * a namespace below.
 */
static void take_scratch(struct execution *x, int *fds, size_t count)
{
	for (size_t i = x->plan.spawn.limits.flags & LIMIT_TERMINAL ? 2 : 1;
		i < count && x->scratch_count < PLAN_SCRATCH_MAX; i++) {
		x->scratch[x->scratch_count++] = fds[i];
		fds[i] = -1;
	}
}

static void on_report(
	struct execution *x, const struct report *r, int *fds, size_t count, bool inner)
{
	struct error why = { (enum failure)r->failure, r->error, "" };
	bool of_program = inner || x->program->kind != PROGRAM_BODY;

	trace("sandbox", "report from %s: %s, status %d, %zu descriptors",
		inner ? "the runner" : "init", report_word(r->kind), r->status, count);
	switch ((enum report_kind)r->kind) {
	case REPORT_READY:
		x->record->confinement.layers |= r->layers;
		if (!inner)
			take_scratch(x, fds, count);
		if (of_program && count > 0 && x->workspace < 0) {
			x->workspace = fds[0];
			fds[0] = -1;
		}
		if (count > 1 && (x->plan.spawn.limits.flags & LIMIT_TERMINAL) &&
			x->terminal.master < 0) {
			on_terminal(x, fds[1]);
			fds[1] = -1;
		}
		break;
	case REPORT_STARTED:
		if (of_program)
			on_started(x, r);
		break;
	case REPORT_NOT_STARTED:
		x->record->exec_errno = r->error ? r->error : ENOENT;
		x->record->confinement.layers |= r->layers;
		break;
	case REPORT_ENDED:
		if (!of_program) {
			x->outer_status = r->status;
			break;
		}
		on_ended(x, r);
		if (inner && count > 0 && x->reply < 0) {
			x->refused = r->count == 1;
			x->reply = fds[0];
			fds[0] = -1;
		}
		break;
	case REPORT_FAILED:
		snprintf(why.context, sizeof why.context, "%s", r->context);
		loop_fail(x, &why);
		break;
	case REPORT_LISTENER:
		take_listener(x, r, fds, count);
		break;
	case REPORT_PROCESS:
		on_seen(x, r, fds, count);
		break;
	case REPORT_GONE:
		processes_report_gone(&x->processes, x->log, r);
		break;
	case REPORT_SAMPLE:
		on_sample(x, r);
		break;
	case REPORT_STOPPED:
	case REPORT_CONTINUED:
		on_paused(x, r->kind == REPORT_STOPPED, r->time_ns);
		break;
	}
	loop_close(fds, count);
}

bool reports_read(struct execution *x, int socket, bool inner)
{
	for (;;) {
		char bytes[sizeof(struct report) + 1];
		struct report r;
		int fds[2 + PLAN_SCRATCH_MAX];
		size_t count;
		ssize_t got;

		got = message_receive(
			socket, bytes, sizeof bytes, fds, sizeof fds / sizeof *fds, &count);
		if (got < 0 && errno == EAGAIN)
			return true;
		/*
		 * No descriptor was free for the one that came along. While the program runs that
		 * is a pidfd.
		 */
		if (got < 0 && errno == EPROTO && x->state == RUNNING)
			continue;
		if (got <= 0)
			return false;
		if (report_parse(bytes, (size_t)got, &r)) {
			on_report(x, &r, fds, count, inner);
		} else {
			struct error why = ERROR_INIT;

			loop_close(fds, count);
			error_set(&why, FAILURE_INTERNAL, EPROTO,
				"reading a report from inside the sandbox: it is malformed");
			loop_fail(x, &why);
		}
	}
}
