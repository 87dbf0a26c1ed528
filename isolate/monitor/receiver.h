/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes notified calls in a thread of its own, the moment they come: seccomp_unotify(2).
 *
 * Until a call is taken, a signal whose handler does not restart calls makes it fail with EINTR; from then on none does (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19). The supervisor may be
 * telling of something just then, often of the very child whose end the signal says. This thread does nothing else, so that time is no longer than it takes to wake it.
 */
#ifndef CORDON_ISOLATE_MONITOR_RECEIVER_H
#define CORDON_ISOLATE_MONITOR_RECEIVER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* A call, and when it was taken (CLOCK_REALTIME). The kernel's structure may grow: it has more room. */
struct receiver_call {
	union { struct seccomp_notif request; char room[256]; };
	int64_t time_ns;
};

struct receiver;

/* Starts the thread, for a listener that stays the caller's. NULL without memory, descriptors or threads. */
struct receiver *receiver_new(int listener);

/* A descriptor that can be read while receiver_take() has something to give or to say. */
int receiver_fd(const struct receiver *r);

/* The next call that waits for its answer. Returns false when there is none now; *is_over then says whether there will be no more. */
bool receiver_take(struct receiver *r, struct receiver_call *out, bool *is_over);

/* Takes one with the ioctl(2) itself. Returns false with errno: ENOENT when its caller waits no more. */
bool receiver_receive(int listener, struct receiver_call *out);

/* Ends the thread. Calls that were taken and not given are not answered before the listener is closed. NULL is nothing. */
void receiver_free(struct receiver *r);

#endif
