/* SPDX-License-Identifier: Apache-2.0 */
/* What PID 1 tells while a program runs, and what it tells in time. See news.h. What a report says is bounded by its structure; it is looked at before it is taken, so that nothing else is taken by mistake. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/news.h"

#include <sys/socket.h>

#include "isolate/base/clock.h"
#include "isolate/monitor/outside.h"

#define OWED_US INT64_C(2000000)

/*
 * How many the kernel refused for want of a route that were not told with their address. Those that were are in its count too, some of them samples later; what is not found there for
 * OWED_US after the last was told was refused for another reason.
 */
static uint32_t untold(struct execution *x, uint32_t refused)
{
	uint64_t told = x->result->hosts.total - x->hosts_told, known = x->hosts_owed + told;
	int64_t now_us = clock_now_us();

	if (told > 0)
		x->hosts_told_us = now_us;
	x->hosts_told = x->result->hosts.total;
	x->hosts_owed = known > refused && now_us - x->hosts_told_us < OWED_US ? known - refused : 0;
	return known < refused ? refused - (uint32_t)known : 0;
}

void news_sample(struct execution *x, const struct report *r)
{
	event_log_sample(x->log, r, untold(x, r->count), loop_elapsed_us(x));
	notify_flush(&x->notify, clock_now_us(), false);
	processes_flush(&x->processes, x->log, clock_now_us());
}

void news_process(struct execution *x, const struct report *r)
{
	if (!x->log || processes_know(&x->processes, (pid_t)r->pid))
		return;
	view_server_read(&x->view); /* what its maker was refused before it made it */
	if (processes_know(&x->processes, (pid_t)r->pid))
		return;
	processes_reported(&x->processes, x->log, r, x->isolated ? outside_pid(&x->outside, x->launch.pid, (pid_t)r->pid) : (pid_t)r->pid);
	loop_watch_processes(x);
}

unsigned news_read(struct execution *x, struct report gone[], unsigned most)
{
	int socket = x->inner >= 0 ? x->inner : x->launch.control;
	unsigned count = 0;

	for (;;) {
		char bytes[sizeof(struct report) + 1];
		struct report r;
		ssize_t got = recv(socket, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);

		if (got <= 0 || !report_parse(bytes, (size_t)got, &r) || (r.kind != REPORT_PROCESS && r.kind != REPORT_SAMPLE && (r.kind != REPORT_GONE || count == most)))
			return count;
		/* What was looked at is taken; these have no descriptors with them. */
		if (recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) != got)
			return count;
		if (r.kind == REPORT_PROCESS)
			news_process(x, &r);
		else if (r.kind == REPORT_SAMPLE)
			news_sample(x, &r);
		else
			gone[count++] = r;
	}
}
