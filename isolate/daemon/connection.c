/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client. See connection.h.
 *
 * Reading is recvmsg(2) into a buffer that grows up to one frame; descriptors that come along wait
 * for the request that speaks of them. Writing is an evbuffer and an event that is only there while
 * bytes wait. End of file alone does not say whether the client is gone or has only finished asking
 * (`nc -N`): poll(2) tells the two apart by POLLHUP, and one that only finished asking gets its
 * answers.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/connection.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "isolate/base/cleanup.h"
#include "isolate/daemon/connection_state.h"
#include "isolate/daemon/protocol.h"
#include "isolate/daemon/request.h"
#include "isolate/daemon/control_socket.h"

#define ANSWERS_FULL (1u << 20)  /* above this nothing more is read */
#define EVENTS_FULL (256u << 10) /* above this no event is added */
#define READ_BLOCK 65536
#define FRAME_PATIENCE_S 10
#define LOOK_S 2
#define FIRST_READS 8

static void update(struct connection *c);

static void close_streams(struct connection *c)
{
	for (size_t i = 0; i < c->stream_count; i++)
		close(c->streams[i]);
	c->stream_count = 0;
}

static void unlink_connection(struct connection *c)
{
	*(c->previous ? &c->previous->next : &c->server->connections) = c->next;
	if (c->next)
		c->next->previous = c->previous;
	c->previous = NULL;
	c->next = NULL;
}

static void link_first(struct connection *c)
{
	c->next = c->server->connections;
	if (c->next)
		c->next->previous = c;
	c->server->connections = c;
}

void connection_close(struct connection *c)
{
	struct server *s = c->server;
	struct event *events[] = { c->on_read, c->on_write, c->on_patience };

	unlink_connection(c);
	assert(s->connection_count > 0);
	s->connection_count--;
	job_disown(s, c);
	for (size_t i = 0; i < 3; i++)
		if (events[i])
			event_free(events[i]);
	if (c->out)
		evbuffer_free(c->out);
	close_streams(c);
	close(c->fd);
	free(c->frame);
	free(c);
	server_check_stop(s);
}

void connection_send(struct connection *c, const void *bytes, size_t length)
{
	evbuffer_add(c->out, bytes, length);
}

/* ---- events ---- */

static void send_dropped(struct connection *c, uint64_t count)
{
	static const char HEAD[] = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":";
	char line[DROPPED_LINE_MAX];
	size_t length = dropped_line(line, sizeof line, c->cursor, count);

	connection_send(c, HEAD, sizeof HEAD - 1);
	connection_send(c, line, length);
	connection_send(c, "}\n", 2);
}

/* Adds events until that many bytes wait. */
static void pump(struct connection *c, size_t most)
{
	static const char HEAD[] = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":";
	const struct bus *bus = c->server->bus;

	while (c->subscribed && c->cursor < bus_next(bus) && evbuffer_get_length(c->out) < most) {
		struct event_line envelope;
		size_t length;
		const char *line = bus_line(bus, c->cursor, &length);

		if (!line) {
			uint64_t missed = bus_oldest(bus) - c->cursor;

			send_dropped(c, missed);
			c->cursor += missed;
			continue;
		}
		c->cursor++;
		if (!event_line_read(line, length - 1, &envelope) ||
			!event_filter_wants(&c->filter, &envelope))
			continue;
		connection_send(c, HEAD, sizeof HEAD - 1);
		connection_send(c, line, length - 1);
		connection_send(c, "}\n", 2);
	}
}

/* ---- reading and writing ---- */

static void keep_streams(struct connection *c, struct msghdr *message)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
		header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
			if (c->stream_count < STREAMS)
				c->streams[c->stream_count++] = fd;
			else
				close(fd);
		}
	}
}

static bool grow(struct connection *c)
{
	size_t capacity = c->capacity ? c->capacity * 2 : READ_BLOCK;
	char *frame;

	if (c->capacity - c->length >= READ_BLOCK / 2)
		return true;
	if (capacity > 2 * PROTOCOL_FRAME_MAX + READ_BLOCK)
		capacity = 2 * PROTOCOL_FRAME_MAX + READ_BLOCK;
	frame = realloc(c->frame, capacity);
	if (!frame)
		return false;
	c->frame = frame;
	c->capacity = capacity;
	return true;
}

/*
 * All whole frames. A line that is longer than a frame may be is answered once and skipped to its
 * end.
 */
static void take_frames(struct connection *c)
{
	char *start = c->frame, *end = c->frame + c->length, *newline;

	while (start < end && (newline = memchr(start, '\n', (size_t)(end - start)))) {
		if (!c->too_long)
			request_take(c, start, (size_t)(newline - start));
		c->too_long = false;
		c->has_framed = true;
		start = newline + 1;
	}
	c->length = (size_t)(end - start);
	memmove(c->frame, start, c->length);
	if (c->length > PROTOCOL_FRAME_MAX) {
		const struct protocol_request nobody = { .id = "null" };
		const struct protocol_refusal refusal = { ERROR_PARSE,
			"a request is longer than 4 MiB" };

		if (!c->too_long)
			request_refuse(c, &nobody, &refusal);
		c->too_long = true;
		c->length = 0;
	}
	if (c->length == 0 && c->capacity > READ_BLOCK) {
		free(c->frame);
		c->frame = NULL;
		c->capacity = 0;
	}
}

/* Reads once. Returns 1, 0 when nothing waits to be read, -1 at the end. */
static int read_once(struct connection *c)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
	} control_space;
	struct iovec part;
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control_space,
		.msg_controllen = sizeof control_space };
	ssize_t got;

	if (!grow(c))
		return -1;
	part = (struct iovec){ c->frame + c->length, c->capacity - c->length };
	do
		got = recvmsg(c->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got <= 0)
		return -1;
	keep_streams(c, &message);
	c->length += (size_t)got;
	take_frames(c);
	return 1;
}

static void on_read(evutil_socket_t fd, short what, void *argument)
{
	struct connection *c = argument;
	struct pollfd state = { fd, POLLIN, 0 };
	const struct timeval patience = { FRAME_PATIENCE_S, 0 }, look = { LOOK_S, 0 };
	int status = 1;

	(void)what;
	unlink_connection(c);
	link_first(c);
	for (int reads = 0;
		status > 0 && reads < FIRST_READS && evbuffer_get_length(c->out) < ANSWERS_FULL;
		reads++)
		status = read_once(c);
	if (status < 0) {
		if (poll(&state, 1, 0) < 0 || (state.revents & (POLLHUP | POLLERR)) ||
			(!c->subscribed && c->jobs == 0 && evbuffer_get_length(c->out) == 0)) {
			connection_close(c);
			return;
		}
		c->half_closed = true;
	}
	/*
	 * The clock is that of the frame at hand; of one that only finished asking it is how often
	 * to see whether it is still there.
	 */
	if (c->half_closed)
		event_add(c->on_patience, &look);
	else if (c->length == 0 && !c->too_long)
		event_del(c->on_patience);
	else if (c->has_framed || !event_pending(c->on_patience, EV_TIMEOUT, NULL))
		event_add(c->on_patience, &patience);
	c->has_framed = false;
	server_publish(c->server);
	update(c);
}

static void on_patience(evutil_socket_t fd, short what, void *argument)
{
	const struct timeval look = { LOOK_S, 0 };
	struct connection *c = argument;
	struct pollfd state = { c->fd, 0, 0 };

	(void)fd;
	(void)what;
	/*
	 * A client that only finished asking and waits for events gives no sign when it goes:
	 * nothing is read from it, and perhaps nothing is to be written.
	 */
	if (c->half_closed && poll(&state, 1, 0) >= 0 &&
		!(state.revents & (POLLHUP | POLLERR | POLLNVAL)))
		event_add(c->on_patience, &look);
	else
		connection_close(c); /* gone, or a frame was begun and not ended */
}

static void on_write(evutil_socket_t fd, short what, void *argument)
{
	struct connection *c = argument;

	(void)what;
	if (evbuffer_get_length(c->out) > 0 && evbuffer_write(c->out, fd) < 0 && errno != EAGAIN &&
		errno != EINTR) {
		connection_close(c);
		return;
	}
	pump(c, EVENTS_FULL);
	update(c);
}

/*
 * Watches for what can be done next. May close the connection: nothing of it is to be touched
 * after.
 */
static void update(struct connection *c)
{
	size_t waiting = evbuffer_get_length(c->out);
	bool wants_read = !c->half_closed && waiting < ANSWERS_FULL;

	if (c->half_closed && waiting == 0 && c->jobs == 0 && !c->subscribed) {
		connection_close(c);
		return;
	}
	if (wants_read != c->reads) {
		if (wants_read)
			event_add(c->on_read, NULL);
		else
			event_del(c->on_read);
		c->reads = wants_read;
	}
	if (waiting > 0)
		event_add(c->on_write, NULL);
	else
		event_del(c->on_write);
	server_check_stop(c->server);
}

void connection_answer(struct connection *c, const struct job *j, const struct buffer *line)
{
	struct buffer failure = BUFFER_INIT;

	c->jobs--;
	if (c->follows && strcmp(c->filter.subject, j->id) == 0) {
		/*
		 * Every event of it comes before its answer. They are no more than the bus
		 * remembers.
		 */
		bus_commit(c->server->bus);
		pump(c, SIZE_MAX);
		c->subscribed = c->follows = false;
	}
	if (line) {
		connection_send(c, line->data, line->length);
	} else {
		protocol_error(
			&failure, j->request_id, ERROR_FAILED, "no memory for the answer", NULL, 0);
		if (!failure.failed && failure.length)
			connection_send(c, failure.data, failure.length);
		buffer_free(&failure);
	}
	/* Sent from the loop: a caller may be in the middle of this connection's own requests. */
	event_add(c->on_write, NULL);
}

void connection_pump_all(struct server *s)
{
	for (struct connection *c = s->connections; c; c = c->next) {
		if (!c->subscribed)
			continue;
		pump(c, EVENTS_FULL);
		if (evbuffer_get_length(c->out) > 0)
			event_add(c->on_write, NULL);
	}
}

unsigned connection_subscribers(const struct server *s)
{
	unsigned count = 0;

	for (const struct connection *c = s->connections; c; c = c->next)
		count += c->subscribed;
	return count;
}

bool connection_any_waiting(const struct server *s)
{
	for (const struct connection *c = s->connections; c; c = c->next)
		if (evbuffer_get_length(c->out) > 0 && !c->subscribed)
			return true;
	return false;
}

/* Makes a place by closing the one that has been silent for longest and has nothing to lose. */
static bool make_place(struct server *s)
{
	struct connection *last = NULL;

	if (s->connection_count < s->options->connections)
		return true;
	for (struct connection *c = s->connections; c; c = c->next)
		if (!c->subscribed && c->jobs == 0 && evbuffer_get_length(c->out) == 0)
			last = c;
	if (last)
		connection_close(last);
	return last != NULL;
}

/* Every connection has executions or a subscription, so none is closed for the new one. */
static void say_full(int fd)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;

	protocol_error(&line, "null", ERROR_BUSY,
		"the daemon has as many connections as it takes (--connections)", NULL, 0);
	if (!line.failed && line.length > 0)
		send(fd, line.data, line.length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void connection_new(struct server *s, int fd)
{
	struct connection *c = make_place(s) ? calloc(1, sizeof *c) : NULL;

	if (!c) {
		say_full(fd);
		close(fd);
		return;
	}
	c->server = s;
	c->fd = fd;
	c->uid = socket_peer(fd);
	c->on_read = event_new(s->base, fd, EV_READ | EV_PERSIST, on_read, c);
	c->on_write = event_new(s->base, fd, EV_WRITE, on_write, c);
	c->on_patience = event_new(s->base, -1, 0, on_patience, c);
	c->out = evbuffer_new();
	link_first(c);
	s->connection_count++;
	if (!c->on_read || !c->on_write || !c->on_patience || !c->out)
		connection_close(c);
	else
		update(c);
}
