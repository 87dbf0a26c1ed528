/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection is made of: for the two files that carry it, connection.c (bytes in and out)
 * and request.c (what they mean).
 */
#ifndef CORDON_ISOLATE_DAEMON_CONNECTION_STATE_H
#define CORDON_ISOLATE_DAEMON_CONNECTION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/daemon/line.h"
#include "isolate/daemon/daemon.h"

#define STREAMS 3

struct evbuffer;

struct connection {
	struct connection *next, *previous;
	struct server *server;
	int fd;
	unsigned uid; /* of the client, by the kernel's word */
	struct event *on_read, *on_write, *on_patience;
	struct evbuffer *out;
	char *frame;
	size_t length, capacity;
	bool too_long, half_closed, reads;
	bool has_framed; /* a frame was completed since the client's clock was looked at */
	int streams[STREAMS];
	size_t stream_count;
	unsigned jobs;
	/* follows: only until the execution of the filter's subject is answered */
	bool subscribed, follows;
	uint64_t cursor;
	struct event_filter filter;
};

/* Adds bytes to what waits for the client. */
void connection_send(struct connection *c, const void *bytes, size_t length);

#endif
