/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the daemon. See link.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"

#define FIRST_CAPACITY (256u << 10)
#define LONGEST_LINE (256u << 20)
#define READ_MOST (256u << 10) /* bytes of one step, between which keys are handled */
#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS 3000

static const struct json_gate_rules GATE = {
	.max_depth = 4096, .allow_nul = true, .must_be_object = true, .one_line = true
};

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* connect(2) on a local socket does not wait; EAGAIN: its backlog is full. */
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

int link_open(struct link *l, const char *path, struct error *err)
{
	l->path = path;
	l->retry_ms = RETRY_FIRST_MS;
	l->fd = connect_to(path);
	if (l->fd < 0)
		return error_set(err, FAILURE_DAEMON_MISSING, errno,
			"connecting to the control socket %s", path);
	l->on_connected(l->owner);
	return 0;
}

void link_adopt(struct link *l, int fd)
{
	l->path = NULL;
	l->fd = fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	l->on_connected(l->owner);
}

static void forget_requests(struct link *l)
{
	const struct json_slice none = { NULL, 0 };

	for (size_t i = 0; i < LINK_OPEN_REQUESTS; i++) {
		struct link_request request = l->open[i];

		l->open[i].id = 0;
		if (request.id && request.answer)
			request.answer(l->owner, request.about, none, none);
	}
}

static void disconnect(struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->start = l->end = l->looked = 0;
	l->more = false;
	buffer_free(&l->out);
	l->sent = 0;
	forget_requests(l);
}

void link_close(struct link *l)
{
	l->path = NULL;
	disconnect(l);
	free(l->in);
	l->in = NULL;
	l->capacity = 0;
}

short link_wants(const struct link *l)
{
	return (short)(POLLIN | (l->out.length > l->sent ? POLLOUT : 0));
}

int link_timeout(const struct link *l, int64_t now_ms)
{
	if (l->fd >= 0)
		return l->more ? 0 : -1;
	return !l->path ? -1 : l->retry_at_ms <= now_ms ? 0 : (int)(l->retry_at_ms - now_ms);
}

static bool has_request(const struct link *l)
{
	for (size_t i = 0; i < LINK_OPEN_REQUESTS; i++)
		if (l->open[i].id == 0)
			return true;
	return false;
}

bool link_is_asking(const struct link *l)
{
	for (size_t i = 0; i < LINK_OPEN_REQUESTS; i++)
		if (l->open[i].id)
			return true;
	return false;
}

bool link_send_line(
	struct link *l, const char *line, size_t length, link_answer *answer, const char *about)
{
	struct link_request *request = l->open;

	if (l->fd < 0 || !has_request(l) || length < 2 || line[0] != '{')
		return false;
	while (request->id)
		request++;
	buffer_printf(&l->out, "{\"id\":%" PRId64 ",", l->next_id + 1);
	buffer_add(&l->out, line + 1, length - 1);
	if (l->out.failed) {
		disconnect(l);
		return false;
	}
	request->id = ++l->next_id;
	request->answer = answer;
	snprintf(request->about, sizeof request->about, "%s", about);
	return true;
}

bool link_request(struct link *l, const char *method, const char *params, link_answer *answer,
	const char *about)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	bool sent;

	buffer_printf(
		&line, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}\n", method, params);
	sent = !line.failed && link_send_line(l, line.data, line.length, answer, about);
	return sent;
}

/* Returns false when the connection is gone. */
static bool write_some(struct link *l)
{
	while (l->sent < l->out.length) {
		ssize_t sent = send(l->fd, l->out.data + l->sent, l->out.length - l->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN;
		l->sent += (size_t)sent;
	}
	buffer_free(&l->out);
	l->sent = 0;
	return true;
}

static void take_line(struct link *l, const char *text, size_t length)
{
	static const char *const NAMES[] = { "method", "params", "id", "result", "error" };
	struct json_slice members[5] = { { NULL, 0 } }, key, value, id, method;
	char reason[240];

	if (!json_gate_check(&GATE, text, length, reason, sizeof reason)) {
		l->malformed++;
		return;
	}
	/* One pass: a line may be long. */
	for (size_t at = 0; json_next(json_slice(text, length), &at, &key, &value);)
		for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
			if (json_key_is(key, NAMES[i]))
				members[i] = value;
	method = members[0];
	if (method.text) {
		struct json_slice params = members[1];

		if (json_is(method, "event") && json_kind(params) == JSON_OBJECT)
			l->on_event(l->owner, params);
		return;
	}
	id = members[2];
	for (size_t i = 0; i < LINK_OPEN_REQUESTS; i++)
		if (l->open[i].id && l->open[i].id == json_int(id, 0)) {
			struct link_request request = l->open[i];

			l->open[i].id = 0;
			if (request.answer)
				request.answer(l->owner, request.about, members[3], members[4]);
			return;
		}
	l->malformed += id.text == NULL;
}

static void take_lines(struct link *l)
{
	const char *newline;

	while (l->fd >= 0 && (newline = memchr(l->in + l->looked, '\n', l->end - l->looked))) {
		size_t start = l->start, length = (size_t)(newline - l->in) - start;

		l->start = l->looked = start + length + 1;
		take_line(l, l->in + start, length);
	}
	if (l->fd >= 0)
		l->looked = l->end;
}

static bool make_room(struct link *l)
{
	size_t capacity = l->capacity ? l->capacity * 2 : FIRST_CAPACITY;
	char *in;

	if (l->start > 0) {
		memmove(l->in, l->in + l->start, l->end - l->start);
		l->end -= l->start;
		l->looked -= l->start;
		l->start = 0;
	}
	if (l->capacity - l->end >= FIRST_CAPACITY / 2)
		return true;
	if (capacity > LONGEST_LINE)
		return false;
	in = realloc(l->in, capacity);
	if (!in)
		return false;
	l->in = in;
	l->capacity = capacity;
	return true;
}

/* Returns whether something came; *gone when the connection ended. */
static bool read_some(struct link *l, bool *gone)
{
	size_t total = 0;

	l->more = false;
	while (total < READ_MOST) {
		ssize_t got;

		if (!make_room(l)) {
			*gone = true;
			break;
		}
		got = recv(l->fd, l->in + l->end, l->capacity - l->end, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*gone = got == 0 || errno != EAGAIN;
			break;
		}
		l->end += (size_t)got;
		total += (size_t)got;
		take_lines(l);
		if (l->fd < 0)
			return true;
	}
	l->more = total >= READ_MOST;
	return total > 0;
}

bool link_step(struct link *l, int64_t now_ms)
{
	bool gone = false, changed = false;

	if (l->fd < 0) {
		if (!l->path || now_ms < l->retry_at_ms)
			return false;
		l->fd = connect_to(l->path);
		if (l->fd < 0) {
			l->retry_at_ms = now_ms + l->retry_ms;
			l->retry_ms =
				l->retry_ms * 2 > RETRY_MOST_MS ? RETRY_MOST_MS : l->retry_ms * 2;
			return true;
		}
		l->on_connected(l->owner);
		changed = true;
	}
	gone = !write_some(l);
	/* Read to the end first: an answer may have come before it. */
	changed |= read_some(l, &gone);
	if (l->end > l->start || changed)
		l->retry_ms = RETRY_FIRST_MS;
	if (gone) {
		disconnect(l);
		l->retry_at_ms = now_ms + l->retry_ms;
		return true;
	}
	return changed;
}
