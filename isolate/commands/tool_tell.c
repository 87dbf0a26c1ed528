/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling the daemon what was done without it. See tool.h.
 *
 * The library is right whether anybody is told or not, so nothing here is an error: no connection, a daemon that is stopped or full, an answer that does not come in time. One that did not answer is not asked again
 * by the same command. Which libraries these are goes along, and a daemon that has others takes nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "isolate/commands/tool.h"
#include "isolate/daemon/protocol.h"
#include "isolate/daemon/control_socket.h"
#include "isolate/daemon/told.h"

#define PATIENCE_MS 200

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the socket until the deadline. */
static bool is_ready(int fd, short what, int64_t deadline)
{
	struct pollfd ready = { fd, what, 0 };
	int64_t left = deadline - now_ms();

	return left > 0 && poll(&ready, 1, (int)left) > 0;
}

static bool send_all(int fd, const struct buffer *text, int64_t deadline)
{
	for (size_t at = 0; at < text->length;) {
		ssize_t sent = send(fd, text->data + at, text->length - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent > 0)
			at += (size_t)sent;
		else if (sent == 0 || (errno != EINTR && errno != EAGAIN) || !is_ready(fd, POLLOUT, deadline))
			return false;
	}
	return true;
}

/* Reads until a line has ended; what it says makes no difference. */
static bool await_answer(int fd, int64_t deadline)
{
	char text[512];

	while (is_ready(fd, POLLIN, deadline)) {
		ssize_t got = recv(fd, text, sizeof text, MSG_DONTWAIT);

		if (got > 0 && memchr(text, '\n', (size_t)got))
			return true;
		if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
			break;
	}
	return false;
}

static bool write_request(struct buffer *out, const struct buffer *told)
{
	char library[64];

	if (told->failed || told->length < 2 || !told_library(library, sizeof library))
		return false;
	buffer_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tool.tell\",\"params\":{\"library\":\"%s\",\"events\":[", library);
	buffer_add(out, told->data, told->length - 1);
	/* Each line is one object without a line break in it. */
	for (size_t i = 0; !out->failed && i < out->length; i++)
		if (out->data[i] == '\n')
			out->data[i] = ',';
	buffer_add_text(out, "]}}\n");
	return !out->failed && out->length <= PROTOCOL_FRAME_MAX;
}

void tool_tell_daemon(const char *socket_path, const struct buffer *told)
{
	static bool gave_up;
	struct buffer request = BUFFER_INIT;
	char standard[PATH_MAX];
	int64_t deadline = now_ms() + PATIENCE_MS;
	int fd = -1;

	if (!gave_up && (socket_path || socket_default_path(standard, sizeof standard)) && write_request(&request, told)) {
		fd = socket_connect_now(socket_path ? socket_path : standard);
		gave_up = fd < 0 || !send_all(fd, &request, deadline) || !await_answer(fd, deadline);
	}
	if (fd >= 0)
		close(fd);
	buffer_free(&request);
}
