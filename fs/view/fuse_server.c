/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the view server. See view.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define OP_TMPFILE 51 /* FUSE_TMPFILE, which older headers lack */
#define BURST 64      /* requests between two looks at the clock and at the master */

/* The last message of libfuse's; its standard error is /dev/null. */
static char said[200];

__attribute__((format(printf, 2, 0))) static void keep_message(
	enum fuse_log_level level, const char *format, va_list values)
{
	(void)level;
	vsnprintf(said, sizeof said, format, values);
	said[strcspn(said, "\n")] = '\0';
}

static struct fuse_session *new_session(struct view *v, int device)
{
	char *arguments[] = { (char *)"cordon-view", NULL }, path[32];
	struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
	struct fuse_lowlevel_ops ops;
	struct fuse_session *session;

	memset(&ops, 0, sizeof ops);
	view_operations(&ops);
	fuse_set_log_func(keep_message);
	session = fuse_session_new(&args, &ops, sizeof ops, v);
	snprintf(path, sizeof path, "/dev/fd/%d", device);
	/* fuse_session_custom_io() is left out of libfuse 3.18's default build. */
	if (session && fuse_session_mount(session, path) != 0) {
		fuse_session_destroy(session);
		session = NULL;
	}
	fuse_opt_free_args(&args);
	return session;
}

/*
 * Reads one request. A file without a name (O_TMPFILE) is asked for as one with a name is, but by
 * an operation that libfuse does not know; it would say so, and the kernel would answer by itself
 * from then on. As a FUSE_CREATE it is refused, with an event, like every other write. Returns its
 * length, or what read(2) does.
 */
static ssize_t receive(struct view *v, int device, struct fuse_buf *buf)
{
	struct fuse_in_header head;
	ssize_t got = read(device, v->request, VIEW_REQUEST);

	*buf = (struct fuse_buf){ .mem = v->request, .size = got > 0 ? (size_t)got : 0 };
	if (got < (ssize_t)sizeof head)
		return got;
	memcpy(&head, v->request, sizeof head);
	if (head.opcode == OP_TMPFILE) {
		head.opcode = FUSE_CREATE;
		memcpy(v->request, &head, sizeof head);
	}
	return got;
}

int server_open(struct view *v, int device, struct error *err)
{
	struct fuse_session *session = new_session(v, device);
	struct fuse_buf first;
	ssize_t got;

	if (!session)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, 0,
			"libfuse %s opens no session: %s", fuse_pkgversion(), said);
	do
		got = receive(v, device, &first);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		fuse_session_process_buf(session, &first);
	if (got <= 0 || fuse_session_exited(session)) {
		error_set(err, FAILURE_FUSE_UNAVAILABLE, got < 0 ? errno : 0,
			"libfuse %s did not come to terms with the kernel: %s", fuse_pkgversion(),
			said);
		fuse_session_destroy(session);
		return -1;
	}
	v->session = session;
	return 0;
}

/* Answers what has come, BURST requests at most. Returns false at the end of the file system. */
static bool answer(struct view *v, int device)
{
	for (int count = 0; count < BURST; count++) {
		struct fuse_buf buf;
		ssize_t got = receive(v, device, &buf);

		/* ENOENT: the request was interrupted before it was read. */
		if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOENT))
			return true;
		if (got <= 0)
			return false;
		fuse_session_process_buf(v->session, &buf);
	}
	return true;
}

/* Whether the supervisor's end of the socket is closed: then no sandbox is left to serve. */
static bool is_over(int control)
{
	char byte;
	ssize_t got = recv(control, &byte, 1, MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* Sleeps until there is something to do. Returns false when no sandbox is left to serve. */
static bool wait_for(struct pollfd polled[2], int timeout_ms)
{
	if (poll(polled, 2, timeout_ms) < 0)
		return errno == EINTR;
	return !polled[1].revents || !is_over(polled[1].fd);
}

int server_serve(struct view *v, int device, int control)
{
	struct pollfd polled[2] = { { device, POLLIN, 0 }, { control, POLLIN, 0 } };
	int flags = fcntl(device, F_GETFL);
	bool is_ready = flags >= 0 && fcntl(device, F_SETFL, flags | O_NONBLOCK) == 0;

	while (is_ready && !fuse_session_exited(v->session) &&
		wait_for(polled, event_flush(v->events, view_now_ns())) && answer(v, device))
		continue;
	fuse_session_destroy(v->session);
	v->session = NULL;
	if (is_ready)
		event_finish(v->events);
	return is_ready ? 0 : -1;
}
