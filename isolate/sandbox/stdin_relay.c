/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeding a program. See stdin_relay.h.
 *
 * The source keeps its flags, so it is read once for each time that it is said to be ready, which cannot block. What epoll(7) refuses (files, /dev/null,
 * /dev/zero) never makes a reader wait, so it is read whenever the program has room. The sink is ours and non-blocking. A program that does not read costs
 * one block of memory and nothing else.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/stdin_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCKS_AT_ONCE 16 /* /dev/zero never ends, and the loop has more to do */

/* The kernel has no list of what epoll(7) takes; it is tried. */
static bool is_refused_by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool refused = epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EPERM;

	if (epoll >= 0)
		close(epoll);
	return refused;
}

int feed_open_terminal(struct feed *f, int source, int master)
{
	*f = (struct feed)FEED_INIT;
	f->backlog = malloc(FEED_BLOCK);
	f->sink = f->backlog ? fcntl(master, F_DUPFD_CLOEXEC, 3) : -1;
	if (f->sink < 0 || fcntl(f->sink, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
		return -1;
	f->source = source;
	f->always_ready = is_refused_by_epoll(source);
	f->types_end = !isatty(source);
	f->last = '\n';
	return 0;
}

int feed_open(struct feed *f, int source, int *read_end, struct error *err)
{
	struct stat st;
	int ends[2];

	*f = (struct feed)FEED_INIT;
	if (fstat(source, &st) != 0)
		return error_set(err, FAILURE_BAD_INPUT, errno, "looking at standard input");
	if (S_ISDIR(st.st_mode))
		return error_set(err, FAILURE_BAD_INPUT, EISDIR, "standard input is a directory, and cannot be read by a program; show it with --ro");
	f->backlog = malloc(FEED_BLOCK);
	if (!f->backlog || pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the program's standard input");
	f->source = source;
	f->sink = ends[1];
	f->always_ready = is_refused_by_epoll(source);
	*read_end = ends[0];
	if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the program's standard input");
	return 0;
}

bool feed_is_blocked(const struct feed *f)
{
	return f->start < f->end;
}

static void close_sink(struct feed *f)
{
	if (f->sink >= 0)
		close(f->sink);
	f->sink = f->source = -1;
	f->start = f->end = 0;
}

/* Writes the backlog out as far as it goes; a program that has closed its input wants no more. */
static void give(struct feed *f)
{
	while (f->start < f->end) {
		ssize_t wrote = write(f->sink, f->backlog + f->start, f->end - f->start);

		if (wrote > 0) {
			f->start += (size_t)wrote;
		} else if (wrote < 0 && errno == EAGAIN) {
			return;
		} else if (wrote == 0 || errno != EINTR) {
			close_sink(f);
			return;
		}
	}
	f->start = f->end = 0;
	if (f->at_end)
		close_sink(f);
}

/* In the middle of a line the first of these ends the line, and only the next one the file: termios(3), VEOF. */
static void end_source(struct feed *f)
{
	static const char END_OF_FILE[] = { 4, 4 };

	f->at_end = true;
	f->source = -1;
	if (f->types_end) {
		f->end = f->last == '\n' ? 1 : 2;
		memcpy(f->backlog, END_OF_FILE, f->end);
	}
	give(f);
}

void feed_move(struct feed *f, bool source_is_ready)
{
	bool ready = source_is_ready || f->always_ready;
	int blocks = 0;

	for (give(f); ready && f->source >= 0 && !feed_is_blocked(f) && blocks < BLOCKS_AT_ONCE; give(f), blocks++) {
		ssize_t got;

		do
			got = read(f->source, f->backlog, FEED_BLOCK);
		while (got < 0 && errno == EINTR);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			end_source(f);
			return;
		}
		f->last = f->backlog[got - 1];
		f->end = (size_t)got;
		ready = f->always_ready;
	}
}

void feed_close(struct feed *f)
{
	if (f->sink >= 0)
		close(f->sink);
	free(f->backlog);
	*f = (struct feed)FEED_INIT;
}
