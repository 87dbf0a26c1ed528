/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes notified calls in a thread of its own, the moment they come, and reads what they are about:
 * seccomp_unotify(2).
 *
 * Until a call is taken, a signal whose handler does not restart calls makes it fail with EINTR;
 * from then on none does (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19). And a page of a
 * program may lie in a file of the view, or of a file system that does not answer: a thread that
 * reads there waits as long as the program chooses. The supervisor holds the limits and watches the
 * view's server, so it reads no memory itself. A thread that is held up is left behind and
 * replaced, and its call goes on unread; after RECEIVER_REPLACED_MOST of them no memory is read any
 * more.
 */
#ifndef CORDON_ISOLATE_MONITOR_RECEIVER_H
#define CORDON_ISOLATE_MONITOR_RECEIVER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/monitor/peer_address.h"
#include "isolate/seccomp/filter.h"

#define RECEIVER_PATIENCE_MS 100 /* with one look into memory */
#define RECEIVER_REPLACED_MOST 16
#define RECEIVER_COMMAND 256

/* A call, when it was taken (CLOCK_REALTIME), and what memory says of it. */
struct receiver_call {
	union {
		struct seccomp_notif request;
		char room[256]; /* the kernel's structure may grow */
	};
	int64_t time_ns;
	enum watched kind;
	bool is_begun; /* between the thread and its owner: its memory is being read */
	bool was_read; /* memory was, where the kind asks for it */
	bool found;    /* `to` of WATCHED_ADDRESS is outside, or `command` is there */
	struct peer_address to;
	char command[RECEIVER_COMMAND]; /* the command line, words separated by spaces */
};

/* The filter, and the ids of its processes on the host. */
struct receiver_setup {
	int listener; /* stays the caller's */
	enum seccomp_profile profile;
	bool own_network;
	uid_t uid;
	gid_t gid;
};

struct receiver;

/* Starts the thread. NULL without memory, descriptors or threads. */
struct receiver *receiver_new(const struct receiver_setup *setup);

/* A descriptor that can be read while receiver_take() may have something to give or to say. */
int receiver_fd(const struct receiver *r);

/*
 * The next call that waits for its answer. Returns false when there is none now; *is_over then says
 * whether there will be no more.
 */
bool receiver_take(struct receiver *r, struct receiver_call *out, bool *is_over);

/*
 * Replaces the thread where a program holds it up. To be called now and then. Returns whether its
 * call can be taken now. NULL is nothing.
 */
bool receiver_check(struct receiver *r, int64_t now_us);

/* How many calls were given unread since this was asked last. 0 for NULL. */
uint64_t receiver_lost(struct receiver *r);

/* Takes a call without a thread. Returns false with errno: ENOENT when its caller waits no more. */
bool receiver_receive(const struct receiver_setup *setup, struct receiver_call *out);

/*
 * Ends the thread, and waits for that a moment; one that is held up ends when what it waits for
 * does. Calls that were not taken are not answered before the listener is closed. NULL is nothing.
 */
void receiver_free(struct receiver *r);

#endif
