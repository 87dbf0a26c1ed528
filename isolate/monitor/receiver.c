/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that takes notified calls. See receiver.h.
 *
 * It shares no memory with its owner: a pipe takes each call, as a whole and at most as many as
 * fit, before and after its memory is read. So the owner has a call whose thread is held up, and a
 * thread that comes back late finds the pipe closed and ends.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/proc_file.h"
#include "isolate/base/thread.h"
#include "isolate/monitor/emitter.h"

_Static_assert(sizeof(struct receiver_call) <= PIPE_BUF, "a call goes into the pipe as a whole");

struct receiver {
	struct receiver_setup setup;
	int from, epoll; /* the thread's pipe, and what waits for whichever it is now */
	unsigned replaced;
	uint64_t lost;
	struct receiver_call held; /* is being read since held_us; 0: none is */
	int64_t held_us;
	bool is_left; /* its thread was replaced: it is to be given unread */
};

/* What a thread works with, its own. */
struct work {
	struct receiver_setup setup;
	int to;
	bool reads;
};

bool receiver_receive(const struct receiver_setup *setup, struct receiver_call *out)
{
	memset(out, 0, sizeof *out);
	if (ioctl(setup->listener, SECCOMP_IOCTL_NOTIF_RECV, &out->request) != 0)
		return false;
	out->time_ns = emitter_now_ns();
	out->kind = filter_watched(setup->profile, setup->own_network, &out->request.data);
	return true;
}

static void read_memory(struct receiver_call *call)
{
	pid_t pid = (pid_t)call->request.pid;

	if (call->kind == WATCHED_ADDRESS)
		call->found = peer_address_read(&call->request, &call->to);
	else
		call->found = proc_file_command(pid, call->command, sizeof call->command) > 0;
	call->was_read = true;
}

/* Returns false when the owner has left. */
static bool give(const struct work *w, struct receiver_call *call)
{
	call->is_begun = w->reads && call->kind != WATCHED_REFUSED;
	if (write(w->to, call, sizeof *call) != sizeof *call)
		return false;
	if (!call->is_begun)
		return true;
	call->is_begun = false;
	read_memory(call);
	return write(w->to, call, sizeof *call) == sizeof *call;
}

static void free_work(struct work *w)
{
	if (w->setup.listener >= 0)
		close(w->setup.listener);
	close(w->to); /* at last: by this the owner sees the end */
	free(w);
}

static void *work(void *context)
{
	struct work *w = context;
	struct pollfd polled[2] = { { w->setup.listener, POLLIN, 0 }, { w->to, 0, 0 } };
	struct receiver_call call;
	bool goes_on = true;

	/*
	 * A page that must be read from the view first is asked for in the name of this thread, and
	 * the view refuses requests of a user that has no number inside. Of this thread only:
	 * setfsuid(2).
	 */
	setfsgid(w->setup.gid);
	setfsuid(w->setup.uid);
	while (goes_on) {
		if (poll(polled, 2, -1) < 0)
			continue; /* no signal comes here */
		if (polled[1].revents || !(polled[0].revents & POLLIN))
			break;
		/* ENOENT: the caller was interrupted or has died, and does not wait. */
		if (receiver_receive(&w->setup, &call))
			goes_on = give(w, &call);
	}
	free_work(w);
	return NULL;
}

/* Starts a thread. Returns the end of its pipe, or -1. */
static int start(struct receiver *r, bool reads)
{
	struct work *w = malloc(sizeof *w);
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t id;
	int ends[2];

	if (!w || pipe2(ends, O_CLOEXEC) != 0) {
		free(w);
		return -1;
	}
	*w = (struct work){ .setup = r->setup, .to = ends[1], .reads = reads };
	w->setup.listener = fcntl(r->setup.listener, F_DUPFD_CLOEXEC, 3);
	if (w->setup.listener >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
		epoll_ctl(r->epoll, EPOLL_CTL_ADD, ends[0], &event) == 0 &&
		thread_start(&id, true, work, w) == 0)
		return ends[0];
	free_work(w);
	close(ends[0]);
	return -1;
}

struct receiver *receiver_new(const struct receiver_setup *setup)
{
	struct receiver *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->setup = *setup;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->from = r->epoll < 0 ? -1 : start(r, true);
	if (r->from >= 0)
		return r;
	receiver_free(r);
	return NULL;
}

int receiver_fd(const struct receiver *r)
{
	return r->epoll;
}

bool receiver_take(struct receiver *r, struct receiver_call *out, bool *is_over)
{
	ssize_t got = sizeof *out;

	*is_over = false;
	if (r->is_left)
		*out = r->held;
	else
		while ((got = read(r->from, out, sizeof *out)) == sizeof *out && out->is_begun) {
			r->held = *out;
			r->held_us = clock_now_us();
		}
	if (got != sizeof *out) {
		*is_over = got == 0 || errno != EAGAIN;
		return false;
	}
	r->is_left = false;
	r->held_us = 0;
	r->lost += out->kind != WATCHED_REFUSED && !out->was_read;
	return true;
}

bool receiver_check(struct receiver *r, int64_t now_us)
{
	struct pollfd answer = { r ? r->from : -1, POLLIN, 0 };
	int from;

	if (!r || r->held_us == 0 || now_us - r->held_us < RECEIVER_PATIENCE_MS * 1000)
		return false;
	if (poll(&answer, 1, 0) > 0)
		return true; /* the owner was held up, not the thread */
	from = start(r, r->replaced + 1 < RECEIVER_REPLACED_MOST);
	if (from < 0)
		return false;
	close(r->from);
	r->from = from;
	r->replaced++;
	r->is_left = true;
	r->held_us = 0;
	return true;
}

uint64_t receiver_lost(struct receiver *r)
{
	uint64_t lost = r ? r->lost : 0;

	if (r)
		r->lost = 0;
	return lost;
}

void receiver_free(struct receiver *r)
{
	struct receiver_call rest;
	struct pollfd end = { r ? r->from : -1, POLLIN, 0 };

	if (!r)
		return;
	while (r->from >= 0 && poll(&end, 1, RECEIVER_PATIENCE_MS) > 0 &&
		read(r->from, &rest, sizeof rest) > 0)
		continue;
	if (r->from >= 0)
		close(r->from);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r);
}
