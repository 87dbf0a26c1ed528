/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that only takes. See receiver.h.
 *
 * It has a descriptor of its own, so that the number cannot become another file's while it waits, and blocks every signal. As many calls can wait as there are threads inside, so the list has
 * a bound: when it is full the thread takes no more until there is room, and the others wait in the kernel as they would without it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "isolate/base/thread.h"
#include "isolate/monitor/emitter.h"

#define TAKEN_MOST 128

struct receiver {
	pthread_mutex_t lock;
	pthread_cond_t has_room;
	pthread_t thread;
	int listener, ready, stop;
	struct receiver_call taken[TAKEN_MOST];
	unsigned first, count;
	bool is_over, ends;
};

bool receiver_receive(int listener, struct receiver_call *out)
{
	memset(out, 0, sizeof *out);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &out->request) != 0)
		return false;
	out->time_ns = emitter_now_ns();
	return true;
}

static void signal_fd(int fd)
{
	const uint64_t one = 1;
	ssize_t wrote;

	do
		wrote = write(fd, &one, sizeof one);
	while (wrote < 0 && errno == EINTR);
}

/* Puts one into the list, when there is room. Returns false when the thread is to end. */
static bool keep(struct receiver *r, const struct receiver_call *in)
{
	bool goes_on;

	pthread_mutex_lock(&r->lock);
	while (r->count == TAKEN_MOST && !r->ends)
		pthread_cond_wait(&r->has_room, &r->lock);
	goes_on = !r->ends;
	if (goes_on)
		r->taken[(r->first + r->count++) % TAKEN_MOST] = *in;
	pthread_mutex_unlock(&r->lock);
	signal_fd(r->ready);
	return goes_on;
}

static void *work(void *context)
{
	struct receiver *r = context;
	struct pollfd polled[2] = { { r->listener, POLLIN, 0 }, { r->stop, POLLIN, 0 } };
	bool goes_on = true;

	while (goes_on) {
		struct receiver_call in;

		if (poll(polled, 2, -1) < 0)
			continue; /* no signal comes here */
		if (polled[1].revents || !(polled[0].revents & POLLIN))
			break;
		if (receiver_receive(r->listener, &in))
			goes_on = keep(r, &in);
	}
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	pthread_mutex_unlock(&r->lock);
	signal_fd(r->ready);
	return NULL;
}

static void release(struct receiver *r)
{
	const int fds[] = { r->listener, r->ready, r->stop };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	pthread_cond_destroy(&r->has_room);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct receiver *receiver_new(int listener)
{
	struct receiver *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->has_room, NULL);
	r->listener = fcntl(listener, F_DUPFD_CLOEXEC, 3);
	r->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->stop = eventfd(0, EFD_CLOEXEC);
	if (r->listener >= 0 && r->ready >= 0 && r->stop >= 0 && thread_start(&r->thread, false, work, r) == 0)
		return r;
	release(r);
	return NULL;
}

int receiver_fd(const struct receiver *r)
{
	return r->ready;
}

bool receiver_take(struct receiver *r, struct receiver_call *out, bool *is_over)
{
	uint64_t count;
	bool has_one;

	pthread_mutex_lock(&r->lock);
	has_one = r->count > 0;
	*is_over = !has_one && r->is_over;
	if (has_one) {
		*out = r->taken[r->first];
		r->first = (r->first + 1) % TAKEN_MOST;
		r->count--;
		pthread_cond_signal(&r->has_room);
	} else if (!r->is_over && read(r->ready, &count, sizeof count) < 0 && errno != EAGAIN) {
		*is_over = true;
	}
	pthread_mutex_unlock(&r->lock);
	return has_one;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->ends = true;
	pthread_cond_signal(&r->has_room);
	pthread_mutex_unlock(&r->lock);
	signal_fd(r->stop);
	pthread_join(r->thread, NULL);
	release(r);
}
