/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's loop. See daemon.h.
 *
 * Order matters in one place: what an execution said is written to the log before a subscriber sees
 * it. Stopping goes by degrees: no new clients, what waits is answered, what runs is ended and its
 * records delivered, then the loop ends; after ten seconds it ends anyway.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "isolate/daemon/connection.h"
#include "isolate/daemon/history.h"
#include "isolate/daemon/job.h"
#include "isolate/daemon/control_socket.h"
#include "isolate/sandbox/cgroup.h"
#include "isolate/base/clock.h"

#define STOP_S 10
#define ACCEPTS_AT_ONCE 16

void server_publish(struct server *s)
{
	bus_commit(s->bus);
	connection_pump_all(s);
}

void server_check_stop(struct server *s)
{
	s->stopping |= s->options->is_private && s->connection_count == 0;
	if (s->stopping && !s->jobs && !connection_any_waiting(s))
		event_base_loopbreak(s->base);
}

static void on_accept(evutil_socket_t listener, short what, void *argument)
{
	struct server *s = argument;

	(void)what;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		if (socket_client_is_ours(fd))
			connection_new(s, fd);
		else
			close(fd);
	}
}

static void on_stop_timer(evutil_socket_t fd, short what, void *argument)
{
	struct server *s = argument;

	(void)fd;
	(void)what;
	event_base_loopbreak(s->base);
}

static void on_stop(evutil_socket_t number, short what, void *argument)
{
	const struct timeval longest = { STOP_S, 0 };
	struct server *s = argument;

	(void)number;
	(void)what;
	if (s->stopping)
		return;
	s->stopping = true;
	if (s->on_accept)
		event_del(s->on_accept);
	event_add(s->stop_timer, &longest);
	/* Those that wait first, so that none begins in the place of one that ends. */
	for (int waiting = 1; waiting >= 0; waiting--)
		for (struct job *j = s->jobs, *next; j; j = next) {
			next = j->next;
			if ((j->state == JOB_WAITS) == waiting)
				job_end(j, END_BY_DAEMON_STOP);
		}
	server_check_stop(s);
}

/* What others meet it at; a private one has neither. */
static int open_public(struct server *s, bool *passed, struct error *err)
{
	s->listener = socket_listen(s->options->socket, passed, err);
	if (s->listener < 0)
		return -1;
	s->audit =
		audit_open(s->options->audit, s->options->audit_size, s->options->audit_keep, err);
	return s->audit ? 0 : -1;
}

static int open_all(struct server *s, bool *passed, struct error *err)
{
	if (!s->options->is_private && open_public(s, passed, err) < 0)
		return -1;
	s->bus = bus_new(s->audit);
	s->history = history_new();
	s->base = event_base_new();
	if (s->base) {
		s->on_accept = s->listener < 0
			? NULL
			: event_new(s->base, s->listener, EV_READ | EV_PERSIST, on_accept, s);
		s->on_stop[0] = evsignal_new(s->base, SIGTERM, on_stop, s);
		s->on_stop[1] = evsignal_new(s->base, SIGINT, on_stop, s);
		s->stop_timer = event_new(s->base, -1, 0, on_stop_timer, s);
	}
	if (!s->bus || !s->history || !s->base || !s->on_stop[0] || !s->on_stop[1] ||
		!s->stop_timer ||
		(s->listener >= 0 && (!s->on_accept || event_add(s->on_accept, NULL) != 0)) ||
		event_add(s->on_stop[0], NULL) != 0 || event_add(s->on_stop[1], NULL) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "setting up the daemon");
	return 0;
}

static void close_all(struct server *s, bool passed)
{
	struct event *events[] = { s->on_accept, s->on_stop[0], s->on_stop[1], s->stop_timer };

	while (s->connections)
		connection_close(s->connections);
	if (s->bus)
		bus_commit(s->bus);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (events[i])
			event_free(events[i]);
	if (s->base)
		event_base_free(s->base);
	bus_free(s->bus);
	history_free(s->history);
	if (s->audit)
		audit_close(s->audit);
	if (s->listener >= 0) {
		close(s->listener);
		if (!passed)
			unlink(s->options->socket);
	}
}

int server_run(const struct server_options *options, struct error *err)
{
	struct server s = { .options = options, .listener = -1, .started_us = clock_now_us() };
	bool passed = false;
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = open_all(&s, &passed, err);
	if (status == 0 && options->is_private) {
		connection_new(&s, options->connection);
		if (s.connection_count > 0)
			event_base_dispatch(s.base);
	} else if (status == 0) {
		cgroup_make_room();
		fprintf(stderr, "cordon serve: listening at %s\n",
			passed ? "the socket that was passed" : options->socket);
		event_base_dispatch(s.base);
	}
	close_all(&s, passed);
	return status;
}
