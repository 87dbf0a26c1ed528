/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the view server. See server.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/fuse_server.h"

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

#include "fs/view/awake.h"
#include "fs/view/nearby.h"
#include "fs/view/view.h"

#define OP_TMPFILE 51 /* FUSE_TMPFILE, which older headers lack */
#define BURST 64 /* requests between two looks at the clock and at the master */

/* What is being served; of the thread that has the duty. */
struct service {
	struct view *view;
	int device, control;
	int unasked;             /* requests since the last look at the master */
};

/* Who waits for the answer to this request; what is closed or forgotten, nobody waits for. */
static void note_asker(struct view *v, const struct fuse_in_header *head)
{
	switch (head->opcode) {
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		v->asker = (int32_t)head->pid;
	}
}

/* The last message of libfuse's; its standard error is /dev/null. */
static char said[200];

__attribute__((format(printf, 2, 0)))
static void keep_message(enum fuse_log_level level, const char *format, va_list values)
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
 * Reads one request. A file without a name (O_TMPFILE) is asked for as one with a name is, but by an operation that libfuse does not know; it would say so,
 * and the kernel would answer by itself from then on. As a FUSE_CREATE it is refused and told like every other write.
 * Returns its length, or what read(2) does.
 */
static ssize_t receive(struct view *v, int device, struct fuse_buf *buf)
{
	struct fuse_in_header head;
	ssize_t got = read(device, v->request, VIEW_REQUEST);

	*buf = (struct fuse_buf){ .mem = v->request, .size = got > 0 ? (size_t)got : 0 };
	if (got < (ssize_t)sizeof head)
		return got;
	memcpy(&head, v->request, sizeof head);
	note_asker(v, &head);
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
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, 0, "libfuse %s opens no session: %s", fuse_pkgversion(), said);
	do
		got = receive(v, device, &first);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		fuse_session_process_buf(session, &first);
	if (got <= 0 || fuse_session_exited(session)) {
		error_set(err, FAILURE_FUSE_UNAVAILABLE, got < 0 ? errno : 0, "libfuse %s did not come to terms with the kernel: %s", fuse_pkgversion(), said);
		fuse_session_destroy(session);
		return -1;
	}
	v->session = session;
	return 0;
}

/*
 * Answers what has come. Returns how many requests that were, or -1 at the end of the file system. Beside the program, nothing more can come once it has its answer: it has yet to run.
 */
static int answer(struct view *v, enum nearby_thread self, int device)
{
	struct fuse_session *session = v->session;
	struct fuse_buf buf;
	int count = 0;

	v->asker = 0;
	for (; count < BURST && (self == NEARBY_ANYWHERE || v->asker == 0); count++) {
		ssize_t got = receive(v, device, &buf);

		/* ENOENT: the request was interrupted before it was read. */
		if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOENT))
			break;
		if (got <= 0)
			return -1;
		if (v->asker != 0)
			nearby_look_round(&v->nearby, self, view_now_ns());
		fuse_session_process_buf(session, &buf);
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

/* Waits for a request: asleep, or awake, where one thread is alone and that is worth it. Returns false when there is nobody left to serve for. */
static bool await_request(struct service *s)
{
	struct pollfd polled[2] = { { s->device, POLLIN, 0 }, { s->control, POLLIN, 0 } };
	int64_t now_ns = view_now_ns();
	int timeout_ms = event_flush(s->view->events, now_ns);

	if (!s->view->nearby.is_ready && s->unasked < BURST && awake_stays(&s->view->awake, now_ns)) {
		while (view_now_ns() < now_ns + AWAKE_LOOK_NS)
			continue;
		return true;
	}
	if (!wait_for(polled, s->unasked >= BURST ? 0 : timeout_ms))
		return false;
	s->unasked = 0;
	return true;
}

/* Answers until the duty is another thread's, or until the end. */
static void serve(void *context, enum nearby_thread self)
{
	struct service *s = context;
	struct view *v = s->view;

	while (!fuse_session_exited(v->session) && await_request(s)) {
		int count = answer(v, self, s->device);
		int64_t now_ns = view_now_ns();

		if (count < 0)
			break;
		s->unasked += count;
		if (v->asker == 0)
			continue; /* nobody waited */
		awake_answered(&v->awake, now_ns);
		if (nearby_pass(&v->nearby, self, nearby_next(&v->nearby, self, awake_is_worth_it(&v->awake), v->asker, now_ns)))
			return;
	}
	nearby_end(&v->nearby);
}

int server_serve(struct view *v, int device, int control)
{
	struct service s = { .view = v, .device = device, .control = control };
	int flags = fcntl(device, F_GETFL);
	bool ready = flags >= 0 && fcntl(device, F_SETFL, flags | O_NONBLOCK) == 0;

	if (ready)
		nearby_run(&v->nearby, serve, &s);
	fuse_session_destroy(v->session);
	v->session = NULL;
	if (ready)
		event_finish(v->events);
	return ready ? 0 : -1;
}
