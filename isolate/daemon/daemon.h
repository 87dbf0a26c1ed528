/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: one thread, one loop, every execution in a process of its own.
 *
 * The loop is libevent's. What comes next for this daemon is MCP over HTTP: libevent has an HTTP
 * server and bufferevents on the same base, notices a client that has closed (EV_CLOSED) while its
 * answer is being computed, and is packaged everywhere; libuv has no HTTP, and libmicrohttpd does
 * not notice. The control socket itself is read with recvmsg(2), since bufferevents know nothing of
 * descriptors that come along.
 *
 * An execution runs in a worker process with the same supervisor as `cordon run`. So whatever dies
 * takes nothing else with it: a worker that is killed ends one execution; the daemon's death ends
 * its workers (PR_SET_PDEATHSIG), and the end of a worker ends its sandbox (the lifeline of
 * isolate/init/reap.h).
 */
#ifndef CORDON_ISOLATE_DAEMON_DAEMON_H
#define CORDON_ISOLATE_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

#include "isolate/base/error.h"
#include "isolate/tools/promotion.h"
#include "isolate/daemon/audit.h"
#include "isolate/daemon/bus.h"

struct connection;
struct history;
struct job;

struct server_options {
	const char *socket, *audit; /* paths; NULL: the defaults */
	uint64_t audit_size;
	unsigned audit_keep, jobs, queue, connections;
	/*
	 * of tools that are new to their library, where a request says nothing; and its threshold,
	 * 0: the policy's own
	 */
	enum tool_policy policy;
	int64_t threshold;
	/* no socket, no log: `connection` is the one client, and with it the daemon ends */
	bool is_private;
	int connection; /* a connected socket, taken over */
};

struct server {
	struct event_base *base;
	const struct server_options *options;
	struct audit *audit;
	struct bus *bus;
	struct history *history;
	/* doubly linked, the one that was heard of last first */
	struct connection *connections;
	unsigned connection_count;
	struct job *jobs, *last_job; /* in the order in which they came */
	unsigned running, waiting;   /* executions */
	/* jobs that run nothing; they have a lane of their own */
	unsigned errands, waiting_errands;
	uint64_t executions;
	int64_t started_us;
	int listener;
	struct event *on_accept, *on_stop[2], *stop_timer;
	bool stopping;
};

/*
 * Runs until SIGTERM or SIGINT, a private one until its client leaves. Returns 0, or -1 with
 * DAEMON_RUNNING, PATH_MISSING or RESOURCES_EXHAUSTED.
 */
int server_run(const struct server_options *options, struct error *err);

/* To be called when something ended: a daemon that is stopping stops when nothing is left to do. */
void server_check_stop(struct server *s);

/* Writes what was published to the log and shows it to the subscribers. */
void server_publish(struct server *s);

#endif
