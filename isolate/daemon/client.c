/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the daemon. See client.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/failure_record.h"
#include "isolate/daemon/control_socket.h"

#define FIRST_CAPACITY 65536u
#define LONGEST ((size_t)1 << 30)

int client_open(struct client *c, const char *path, struct error *err)
{
	char standard[PATH_MAX];

	if (!path && !socket_default_path(standard, sizeof standard))
		return error_set(err, FAILURE_DAEMON_MISSING, 0,
			"there is no place to look for the control socket: set XDG_RUNTIME_DIR or "
			"give --socket");
	c->fd = socket_connect(path ? path : standard, err);
	return c->fd < 0 ? -1 : 0;
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->bytes);
	*c = (struct client)CLIENT_INIT;
}

int client_send(struct client *c, const char *text, size_t length, const int *fds, size_t fd_count,
	struct error *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 3)];
	} control = { .bytes = { 0 } };

	while (length > 0) {
		struct iovec part = { (void *)text, length };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t sent;

		if (fd_count > 0 && fd_count <= 3) {
			control.align.cmsg_level = SOL_SOCKET;
			control.align.cmsg_type = SCM_RIGHTS;
			control.align.cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
			memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * fd_count);
			message.msg_control = &control;
			message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		}
		sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return error_set(
				err, FAILURE_DAEMON_LOST, errno, "sending a request to the daemon");
		fd_count = 0;
		text += sent;
		length -= (size_t)sent;
	}
	return 0;
}

static int make_room(struct client *c)
{
	char *bytes;

	if (c->start > 0) {
		memmove(c->bytes, c->bytes + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	if (c->end < c->capacity)
		return 0;
	if (c->capacity >= LONGEST)
		return -1;
	bytes = realloc(c->bytes, c->capacity ? c->capacity * 2 : FIRST_CAPACITY);
	if (!bytes)
		return -1;
	c->bytes = bytes;
	c->capacity = c->capacity ? c->capacity * 2 : FIRST_CAPACITY;
	return 0;
}

int client_line(struct client *c, int other, struct json_slice *line, struct error *err)
{
	size_t looked = c->start;

	for (;;) {
		struct pollfd ready[2] = { { c->fd, POLLIN, 0 }, { other, POLLIN, 0 } };
		char *newline =
			c->end > looked ? memchr(c->bytes + looked, '\n', c->end - looked) : NULL;
		ssize_t got;

		if (newline) {
			*line = json_slice(
				c->bytes + c->start, (size_t)(newline - (c->bytes + c->start)));
			c->start = (size_t)(newline - c->bytes) + 1;
			return 1;
		}
		looked = c->end - c->start; /* where it will stand after the move */
		if (make_room(c) < 0)
			return error_set(err, FAILURE_DAEMON_LOST, EMSGSIZE,
				"reading the answer of the daemon");
		if (poll(ready, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return error_set(err, FAILURE_DAEMON_LOST, errno, "waiting for the daemon");
		}
		if (ready[1].revents)
			return 0;
		got = read(c->fd, c->bytes + c->end, c->capacity - c->end);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return error_set(err, FAILURE_DAEMON_LOST, got < 0 ? errno : 0,
				"waiting for the daemon's answer: it closed the connection");
		c->end += (size_t)got;
	}
}

int client_failure(struct json_slice object, struct error *err)
{
	_cleanup_free_ char *message = json_dup(json_get(object, "message"));

	error_set(
		err, FAILURE_DAEMON_LOST, 0, "%s", message ? message : "an answer without a word");
	failure_record_read(json_get(object, "data"), err);
	return -1;
}

void client_pass_signals(struct client *c, int signals)
{
	unsigned char numbers[16];
	ssize_t count = read(signals, numbers, sizeof numbers);
	struct error ignored = ERROR_INIT;
	char line[120];

	for (ssize_t i = 0; i < count; i++) {
		int length = snprintf(line, sizeof line,
			"{\"jsonrpc\":\"2.0\",\"method\":\"sandbox.signal\",\"params\":{\"signal\":"
			"%d}}\n",
			numbers[i]);

		client_send(c, line, (size_t)length, NULL, 0, &ignored);
	}
}
