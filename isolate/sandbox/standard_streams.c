/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a program. See standard_streams.h.
 *
 * Memory is bounded by the limit: what is over it is read, so that the program does not block on
 * it, counted and forgotten. Bytes are not looked at here; they become text when the record is
 * written.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/clock.h"
#include "isolate/sandbox/launch.h"

/*
 * The caller's descriptors keep their flags, so a pipe or a terminal is opened anew, non-blocking,
 * by its /proc name; a socket has MSG_DONTWAIT, and a file never makes a writer wait. A file must
 * not be opened anew: it would lose its offset and O_APPEND.
 */
static int open_sink(struct capture *c, int fd)
{
	char path[40];
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	c->is_socket = S_ISSOCK(st.st_mode);
	c->pass_to = -1;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		c->pass_to = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (c->pass_to < 0)
		c->pass_to = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return c->pass_to < 0 ? -1 : 0;
}

int capture_open(
	struct capture *c, int pass_to, uint64_t limit, struct captured *kept, int *write_end)
{
	int ends[2];

	*c = (struct capture){ .source = -1, .pass_to = -1, .limit = limit, .kept = kept };
	c->backlog = malloc(CAPTURE_BLOCK);
	if (!c->backlog || (pass_to >= 0 && open_sink(c, pass_to) < 0) ||
		pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	c->source = ends[0];
	*write_end = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

bool capture_is_blocked(const struct capture *c)
{
	return c->start < c->end;
}

static void close_source(struct capture *c)
{
	if (c->source >= 0)
		close(c->source);
	c->source = -1;
}

void capture_pass(struct capture *c)
{
	while (c->start < c->end) {
		size_t length = c->end - c->start;
		ssize_t wrote = c->is_socket ? send(c->pass_to, c->backlog + c->start, length,
						       MSG_DONTWAIT | MSG_NOSIGNAL)
					     : write(c->pass_to, c->backlog + c->start, length);

		if (wrote > 0) {
			c->start += (size_t)wrote;
		} else if (wrote < 0 && errno == EAGAIN) {
			return;
		} else if (wrote == 0 || errno != EINTR) {
			/*
			 * The reader is gone: so is the stream, and the program's next write meets
			 * a broken pipe.
			 */
			c->pass_errno =
				wrote < 0 && errno != EPIPE && errno != ECONNRESET ? errno : 0;
			c->start = c->end = 0;
			close_source(c);
			return;
		}
	}
	c->start = c->end = 0;
}

static void keep(struct capture *c, const char *bytes, size_t length)
{
	uint64_t room = c->limit > c->kept->bytes.length ? c->limit - c->kept->bytes.length : 0;
	size_t kept = length < room ? length : (size_t)room;

	buffer_add(&c->kept->bytes, bytes, kept);
	c->kept->dropped += length - kept;
}

int capture_read(struct capture *c, size_t most)
{
	while (most > 0 && c->source >= 0) {
		ssize_t got;

		capture_pass(c);
		if (capture_is_blocked(c) || c->source < 0)
			break;
		got = read(c->source, c->backlog, most < CAPTURE_BLOCK ? most : CAPTURE_BLOCK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return 1;
		if (got <= 0) {
			close_source(c);
			return got < 0 ? -1 : 0;
		}
		if (c->tap)
			c->tap(c->tap_context, c->backlog, (size_t)got);
		if (c->pass_to >= 0)
			c->end = (size_t)got;
		else
			keep(c, c->backlog, (size_t)got);
		most -= (size_t)got < most ? (size_t)got : most;
	}
	capture_pass(c);
	return c->source >= 0;
}

static bool has_more(int fd)
{
	struct pollfd ready = { fd, POLLIN, 0 };

	return poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN);
}

void capture_finish(struct capture *c, int64_t deadline_us)
{
	/* A pipe holds at most 1 MiB by default, so a writer that is still there cannot keep us. */
	size_t left = 2 << 20;

	while (c->source >= 0 || capture_is_blocked(c)) {
		struct pollfd ready = { c->pass_to, POLLOUT, 0 };
		int wait_ms = -1;

		if (c->source >= 0 && !capture_is_blocked(c)) {
			capture_read(c, CAPTURE_BLOCK);
			left -= left < CAPTURE_BLOCK ? left : CAPTURE_BLOCK;
			if (!capture_is_blocked(c) &&
				(left == 0 || c->source < 0 || !has_more(c->source)))
				break;
			continue;
		}
		if (deadline_us > 0)
			wait_ms = clock_now_us() >= deadline_us
				? 0
				: (int)((deadline_us - clock_now_us()) / 1000) + 1;
		if (poll(&ready, 1, wait_ms) == 0)
			break; /* the deadline */
		capture_pass(c);
	}
	close_source(c);
	if (c->pass_to >= 0)
		close(c->pass_to);
	c->pass_to = -1;
	free(c->backlog);
	c->backlog = NULL;
	c->start = c->end = 0;
}

/* ---- stdin relay ---- */

/*
 * The source keeps its flags, so it is read once for each time that it is said to be ready, which
 * cannot block. What epoll(7) refuses (files, /dev/null, /dev/zero) never makes a reader wait, so
 * it is read whenever the program has room. The sink is ours and non-blocking. A program that does
 * not read costs one block of memory and nothing else.
 */

#define BLOCKS_AT_ONCE 16 /* /dev/zero never ends, and the loop has more to do */

/* The kernel has no list of what epoll(7) takes; it is tried. */
static bool is_refused_by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	_cleanup_close_ int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool refused =
		epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EPERM;

	return refused;
}

int stdin_relay_open_terminal(struct stdin_relay *r, int source, int master)
{
	*r = (struct stdin_relay)STDIN_RELAY_INIT;
	r->backlog = malloc(RELAY_BLOCK);
	r->sink = r->backlog ? fcntl(master, F_DUPFD_CLOEXEC, 3) : -1;
	if (r->sink < 0 || fcntl(r->sink, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
		return -1;
	r->source = source;
	r->always_ready = is_refused_by_epoll(source);
	r->types_end = !isatty(source);
	r->last = '\n';
	return 0;
}

int stdin_relay_open(struct stdin_relay *r, int source, int *read_end, struct error *err)
{
	struct stat st;
	int ends[2];

	*r = (struct stdin_relay)STDIN_RELAY_INIT;
	if (fstat(source, &st) != 0)
		return error_set(err, FAILURE_BAD_INPUT, errno, "looking at standard input");
	if (S_ISDIR(st.st_mode))
		return error_set(err, FAILURE_BAD_INPUT, EISDIR,
			"standard input is a directory, and cannot be read by a program; show it "
			"with --ro");
	r->backlog = malloc(RELAY_BLOCK);
	if (!r->backlog || pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the program's standard input");
	r->source = source;
	r->sink = ends[1];
	r->always_ready = is_refused_by_epoll(source);
	*read_end = ends[0];
	if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the program's standard input");
	return 0;
}

bool stdin_relay_is_blocked(const struct stdin_relay *r)
{
	return r->start < r->end;
}

static void close_sink(struct stdin_relay *r)
{
	if (r->sink >= 0)
		close(r->sink);
	r->sink = r->source = -1;
	r->start = r->end = 0;
}

/* Writes the backlog out as far as it goes; a program that has closed its input wants no more. */
static void give(struct stdin_relay *r)
{
	while (r->start < r->end) {
		ssize_t wrote = write(r->sink, r->backlog + r->start, r->end - r->start);

		if (wrote > 0) {
			r->start += (size_t)wrote;
		} else if (wrote < 0 && errno == EAGAIN) {
			return;
		} else if (wrote == 0 || errno != EINTR) {
			close_sink(r);
			return;
		}
	}
	r->start = r->end = 0;
	if (r->at_end)
		close_sink(r);
}

/*
 * In the middle of a line the first of these ends the line, and only the next one the file:
 * termios(3), VEOF.
 */
static void end_source(struct stdin_relay *r)
{
	static const char END_OF_FILE[] = { 4, 4 };

	r->at_end = true;
	r->source = -1;
	if (r->types_end) {
		r->end = r->last == '\n' ? 1 : 2;
		memcpy(r->backlog, END_OF_FILE, r->end);
	}
	give(r);
}

void stdin_relay_move(struct stdin_relay *r, bool source_is_ready)
{
	bool ready = source_is_ready || r->always_ready;
	int blocks = 0;

	for (give(r);
		ready && r->source >= 0 && !stdin_relay_is_blocked(r) && blocks < BLOCKS_AT_ONCE;
		give(r), blocks++) {
		ssize_t got;

		do
			got = read(r->source, r->backlog, RELAY_BLOCK);
		while (got < 0 && errno == EINTR);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			end_source(r);
			return;
		}
		r->last = r->backlog[got - 1];
		r->end = (size_t)got;
		ready = r->always_ready;
	}
}

void stdin_relay_close(struct stdin_relay *r)
{
	if (r->sink >= 0)
		close(r->sink);
	free(r->backlog);
	*r = (struct stdin_relay)STDIN_RELAY_INIT;
}

/* ---- terminal ---- */

/*
 * The program has a pseudo-terminal inside its own /dev/pts, so it can neither type into the
 * caller's terminal nor change its settings. The caller's settings are changed only from the
 * foreground (SIGTTOU is blocked around it), and given back on every way out: when this process is
 * killed, by a keeper (cordon-init in another role) that waits for the end of a pipe.
 */

void terminal_window(int fd, unsigned *rows, unsigned *columns)
{
	struct winsize window;

	*rows = *columns = 0;
	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &window) == 0) {
		*rows = window.ws_row;
		*columns = window.ws_col;
	}
}

static int set_attributes(int fd, const struct termios *settings)
{
	sigset_t stop, before;
	int status;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	status = tcsetattr(fd, TCSADRAIN, settings);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

/* Without a keeper only a SIGKILL leaves the terminal as it is. */
static void start_keeper(struct terminal *t)
{
	t->keeper = launch_keeper("terminal", t->fd, &t->keeper_pid);
	/*
	 * The settings fit a pipe's atomic write. They go along because the keeper may look only
	 * after they have changed.
	 */
	if (t->keeper >= 0 && write(t->keeper, &t->before, sizeof t->before) != sizeof t->before)
		close_fd(&t->keeper);
}

/*
 * A byte means that all is well: then the keeper leaves the terminal alone, which another program
 * may own by now.
 */
static void dismiss_keeper(struct terminal *t)
{
	ssize_t wrote;

	if (t->keeper < 0)
		return;
	do
		wrote = write(t->keeper, "", 1);
	while (wrote < 0 && errno == EINTR);
	close(t->keeper);
	t->keeper = -1;
	while (waitpid(t->keeper_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void terminal_begin(struct terminal *t, int fd)
{
	struct termios raw;

	t->fd = fd;
	if (fd < 0 || tcgetattr(fd, &t->before) != 0 || tcgetpgrp(fd) != getpgrp())
		return;
	start_keeper(t);
	raw = t->before;
	cfmakeraw(&raw);
	t->raw = set_attributes(fd, &raw) == 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->raw)
		set_attributes(t->fd, &t->before);
	t->raw = false;
	dismiss_keeper(t);
}

void terminal_resize(struct terminal *t)
{
	struct winsize window;

	/* Without a terminal on either side there is nothing to resize, and that is no error. */
	if (t->fd >= 0 && t->master >= 0 && ioctl(t->fd, TIOCGWINSZ, &window) == 0)
		ioctl(t->master, TIOCSWINSZ, &window);
}
