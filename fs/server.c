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

/* Answers what has come. Returns false at the end of the file system. */
static bool answer(struct fuse_session *session, struct fuse_buf *buf)
{
	for (int i = 0; i < BURST; i++) {
		int got = fuse_session_receive_buf(session, buf);

		if (got == -EAGAIN || got == -EINTR)
			return true;
		if (got <= 0)
			return false;
		fuse_session_process_buf(session, buf);
	}
	return true;
}

/* Whether the supervisor's end of the socket is closed: then nobody is left to serve for. */
static bool is_over(int control)
{
	char byte;
	ssize_t got = recv(control, &byte, 1, MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

int server_serve(struct view *v, int device, int control)
{
	struct fuse_session *session = open_session(v, device);
	struct pollfd polled[2] = { { device, POLLIN, 0 }, { control, POLLIN, 0 } };
	struct fuse_buf buf = { .mem = NULL };
	int flags = fcntl(device, F_GETFL);

	if (!session || flags < 0 || fcntl(device, F_SETFL, flags | O_NONBLOCK) != 0) {
		if (session)
			fuse_session_destroy(session);
		else
			close(device);
		return -1;
	}
	v->session = session;
	while (!fuse_session_exited(session)) {
		if (poll(polled, 2, event_flush(v->events, view_now_ns())) < 0 && errno != EINTR)
			break;
		if (polled[1].revents && is_over(control))
			break;
		if (polled[0].revents && !answer(session, &buf))
			break;
	}
	v->session = NULL;
	free(buf.mem);
	fuse_session_destroy(session);
	event_finish(v->events);
	return 0;
}
