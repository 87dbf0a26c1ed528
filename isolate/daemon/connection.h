/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client of the control socket.
 *
 * Everything about it is bounded: the frame that it is sending (and how long it may take over it),
 * the answers that wait for it, its executions. A client that does not read is not read from; one
 * that subscribed and does not read misses events and learns how many; one that is silent is the
 * first to go when a new one needs its place. Its executions end with it, unless they were
 * detached.
 */
#ifndef CORDON_ISOLATE_DAEMON_CONNECTION_H
#define CORDON_ISOLATE_DAEMON_CONNECTION_H

#include "isolate/base/json_write.h"
#include "isolate/daemon/job.h"
#include "isolate/daemon/daemon.h"

/*
 * Takes an accepted, non-blocking socket of a client whose credentials were checked. Closes it when
 * there is no memory or no place.
 */
void connection_new(struct server *s, int fd);

/* Closes a connection and ends what it owns. */
void connection_close(struct connection *c);

/*
 * Sends the answer of a job that this connection owned; NULL where memory for it ran out. The job
 * is no longer counted.
 */
void connection_answer(struct connection *c, const struct job *j, const struct buffer *line);

/* Gives every subscriber what is new. */
void connection_pump_all(struct server *s);

/* How many have subscribed: those are not closed to make room. */
unsigned connection_subscribers(const struct server *s);

/* Whether some connection still has bytes to take. */
bool connection_any_waiting(const struct server *s);

#endif
