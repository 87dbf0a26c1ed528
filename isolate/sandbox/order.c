/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several channels, told in one order. See order.h.
 *
 * Nothing here waits for the program, and nothing is read that another channel might have to say something about first: how much there is in the pipes is asked before the others are looked at.
 * A refusal has its place with it (fs/view/view_event.h), a call waits until it was told of.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/order.h"

#include <sys/epoll.h>

#include "isolate/sandbox/news.h"

#define READ_AT_ONCE (256 * 1024)
#define GONE_AT_ONCE 8 /* reports */

/*
 * Either the program is read, or its reader is waited for. In both cases a descriptor that is closed has left the epoll set by itself.
 */
void order_stream(struct execution *x, struct capture *c, size_t most, enum source from, enum source to)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.u32 = to };
	bool was_blocked = capture_is_blocked(c);

	capture_pass(c);
	if (!capture_is_blocked(c) && c->source >= 0)
		capture_read(c, most < READ_AT_ONCE ? most : READ_AT_ONCE);
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

static void read_streams(struct execution *x, size_t out, size_t errors)
{
	order_stream(x, &x->out, out, FROM_OUT, TO_OUT);
	order_stream(x, &x->errors, errors, FROM_ERR, TO_ERR);
}

static size_t missing(const struct capture *c, uint64_t written)
{
	return written > c->taken ? (size_t)(written - c->taken) : 0;
}

void order_read_until(void *execution, const struct event_head *refusal)
{
	struct execution *x = execution;

	processes_look_until(&x->processes, x->log, refusal->newest);
	if (x->notify.listener >= 0)
		processes_notice(&x->processes, x->log, refusal->pid, refusal->time_ns);
	read_streams(x, missing(&x->out, refusal->written[0]), missing(&x->errors, refusal->written[1]));
}

/*
 * How much there is to read is asked first and no more is read. Whatever happened before the last of it was written has been told to this process by then, and is told on before it: what
 * the view refused, at its place; processes that were made, since one is there before its maker goes on; whom something was refused before it was made has a number beyond those that had been given
 * when the view was asked. Those that had ended before it was asked are told last: all that they wrote is in it.
 */
void order_read_all(void *execution)
{
	struct execution *x = execution;
	struct report gone[GONE_AT_ONCE];
	uint64_t out, errors;
	unsigned count;
	pid_t newest;

	processes_collect(&x->processes);
	count = news_read(x, gone, GONE_AT_ONCE);
	out = x->out.taken + capture_waiting(&x->out);
	errors = x->errors.taken + capture_waiting(&x->errors);
	newest = processes_newest();
	view_server_read(&x->view);
	processes_look(&x->processes, x->log, newest);
	/* Whoever was ended with the program has no number to be found by any more; PID 1 spoke of it before it did that. */
	news_read(x, NULL, 0);
	read_streams(x, missing(&x->out, out), missing(&x->errors, errors));
	processes_tell_ended(&x->processes, x->log);
	for (unsigned i = 0; i < count; i++)
		processes_report_gone(&x->processes, x->log, &gone[i]);
}

void order_output(struct execution *x)
{
	if (x->log)
		order_read_all(x);
	else
		read_streams(x, READ_AT_ONCE, READ_AT_ONCE);
}

void order_ends(struct execution *x)
{
	if (x->end_is_first && processes_collect(&x->processes) == 1) {
		view_server_read(&x->view);
		processes_tell_ended(&x->processes, x->log);
	} else {
		order_read_all(x);
	}
}

/*
 * A pipe does not say what in it was written before the end of a process, and what after. But when nothing is ready, what becomes ready then is listed by epoll(7) in that order: if processes stand
 * at the beginning, and one has ended, it did so before any of what is there to be read was written.
 */
int order_wait(struct execution *x, struct epoll_event events[SOURCES])
{
	int count = epoll_wait(x->epoll, events, SOURCES, 0);

	witness_turn(x->processes.witness);
	x->end_is_first = false;
	if (count != 0)
		return count;
	count = epoll_wait(x->epoll, events, SOURCES, -1);
	x->end_is_first = count > 0 && events[0].data.u32 == FROM_PROCESSES;
	return count;
}
