/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of the control socket: what the commands speak to the daemon with.
 *
 * Blocking, one line at a time. A line may be as long as the largest record.
 */
#ifndef CORDON_ISOLATE_DAEMON_CLIENT_H
#define CORDON_ISOLATE_DAEMON_CLIENT_H

#include <stddef.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"

struct client {
	int fd;
	char *bytes; /* owned */
	size_t start, end, capacity;
};

#define CLIENT_INIT \
	{ \
		-1, NULL, 0, 0, 0 \
	}

/*
 * Connects to the socket at path, NULL for the default one. Returns 0, or -1 with DAEMON_MISSING.
 */
int client_open(struct client *c, const char *path, struct error *err);
void client_close(struct client *c);

/* Sends text, and descriptors with its first byte. Returns 0, or -1 with DAEMON_LOST. */
int client_send(struct client *c, const char *text, size_t length, const int *fds, size_t fd_count,
	struct error *err);

/*
 * Waits for the next line. Returns 1 with it (without its newline; good until the next call), 0
 * when `other` (a descriptor, -1: none) can be read first, or -1 with DAEMON_LOST.
 */
int client_line(struct client *c, int other, struct json_slice *line, struct error *err);

/* What an error object of the daemon means: a failure of cordon, or DAEMON_LOST. Returns -1. */
int client_failure(struct json_slice object, struct error *err);

/*
 * Passes the signals that wait in a pipe, a byte each, on to the executions of this connection.
 * Requests without an id: they need no answer.
 */
void client_pass_signals(struct client *c, int signals);

#endif
