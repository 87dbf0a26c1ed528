/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the view server. See server.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/awake.h"
#include "fs/view.h"

#define OP_TMPFILE 51 /* FUSE_TMPFILE, which older headers lack */
#define BURST 64 /* requests between two looks at the clock and at the master */

/*
 * A file without a name (O_TMPFILE) is asked for as one with a name is, but by an operation that libfuse does not know; it would say so, and the kernel would answer by
 * itself from then on. As a FUSE_CREATE it is refused and told like every other write.
 */
static ssize_t io_read(int fd, void *bytes, size_t length, void *data)
{
	ssize_t got = read(fd, bytes, length);
	struct fuse_in_header head;

	(void)data;
	if (got >= (ssize_t)sizeof head) {
		memcpy(&head, bytes, sizeof head);
		if (head.opcode == OP_TMPFILE) {
			head.opcode = FUSE_CREATE;
			memcpy(bytes, &head, sizeof head);
		}
	}
	return got;
}

static ssize_t io_writev(int fd, struct iovec *parts, int count, void *data)
{
	(void)data;
	return writev(fd, parts, count);
}

static struct fuse_session *open_session(struct view *v, int device)
{
	static const struct fuse_custom_io IO = { .writev = io_writev, .read = io_read };
	char *arguments[] = { (char *)"cordon-view", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
	struct fuse_lowlevel_ops ops;
	struct fuse_session *session;

	memset(&ops, 0, sizeof ops);
	view_operations(&ops);
	session = fuse_session_new(&args, &ops, sizeof ops, v);
	if (session && fuse_session_custom_io(session, &IO, device) != 0) {
		fuse_session_destroy(session);
		session = NULL;
	}
	fuse_opt_free_args(&args);
	return session;
}

/* Answers what has come. Returns how many requests that were, or -1 at the end of the file system. */
static int answer(struct fuse_session *session, struct fuse_buf *buf)
{
	int count = 0;

	for (; count < BURST; count++) {
		int got = fuse_session_receive_buf(session, buf);

		if (got == -EAGAIN || got == -EINTR)
			break;
		if (got <= 0)
			return -1;
		fuse_session_process_buf(session, buf);
	}
	return count;
}

/* Whether the supervisor's end of the socket is closed: then nobody is left to serve for. */
static bool is_over(int control)
{
	char byte;
	ssize_t got = recv(control, &byte, 1, MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* Sleeps until there is something to do. Returns false when there is nobody left to serve for. */
static bool wait_for(struct pollfd polled[2], int timeout_ms)
{
	if (poll(polled, 2, timeout_ms) < 0)
		return errno == EINTR;
	return !polled[1].revents || !is_over(polled[1].fd);
}

static void serve(struct view *v, struct fuse_session *session, int device, int control)
{
	struct pollfd polled[2] = { { device, POLLIN, 0 }, { control, POLLIN, 0 } };
	struct fuse_buf buf = { .mem = NULL };
	int unasked = 0; /* requests since the last look at the master */

	while (!fuse_session_exited(session)) {
		int64_t now_ns = view_now_ns();
		int count, timeout_ms = event_flush(v->events, now_ns);

		if (unasked < BURST && awake_stays(&v->awake, now_ns)) {
			while (view_now_ns() < now_ns + AWAKE_LOOK_NS)
				continue;
		} else {
			if (!wait_for(polled, unasked >= BURST ? 0 : timeout_ms))
				break;
			unasked = 0;
		}
		count = answer(session, &buf);
		if (count < 0)
			break;
		if (count > 0)
			awake_answered(&v->awake, view_now_ns());
		unasked += count;
	}
	free(buf.mem);
}

int server_serve(struct view *v, int device, int control)
{
	struct fuse_session *session = open_session(v, device);
	int flags = fcntl(device, F_GETFL);

	if (!session || flags < 0 || fcntl(device, F_SETFL, flags | O_NONBLOCK) != 0) {
		if (session)
			fuse_session_destroy(session);
		else
			close(device);
		return -1;
	}
	v->session = session;
	serve(v, session, device, control);
	v->session = NULL;
	fuse_session_destroy(session);
	event_finish(v->events);
	return 0;
}
