/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's input for a program: relayed through a pipe of our own.
 *
 * The caller's descriptor itself never goes in: it may be open for writing, be a socket of the host's network, a terminal whose settings could be changed, or a directory
 * from which every path of the host could be opened.
 */
#ifndef CORDON_ISOLATE_SANDBOX_STDIN_RELAY_H
#define CORDON_ISOLATE_SANDBOX_STDIN_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/error.h"

#define FEED_BLOCK 65536

struct feed {
	int source;         /* the caller's, borrowed; -1 when it has ended or there is none */
	int sink;           /* our end of the pipe, non-blocking; -1 when it is closed */
	bool always_ready;  /* epoll(7) refuses it, as it does a file: a read is all there is to do */
	bool types_end;     /* the sink is a terminal: the end of the source is typed there */
	bool at_end;        /* the source has ended */
	char last;          /* byte that was read */
	char *backlog;      /* FEED_BLOCK bytes, owned; of them [start, end) wait for the program */
	size_t start, end;
};

#define FEED_INIT { .source = -1, .sink = -1 }

/* Makes the pipe. *read_end is for the program; the caller closes it. Returns 0, or -1 with BAD_INPUT (a directory) or RESOURCES_EXHAUSTED. */
int feed_open(struct feed *f, int source, int *read_end, struct error *err);

/* Feeds a terminal: `master` is duplicated, and non-blocking. Returns 0 or -1 with errno. */
int feed_open_terminal(struct feed *f, int source, int master);

/* Whether bytes wait for the program: then the sink is to be watched (POLLOUT), and not the source. */
bool feed_is_blocked(const struct feed *f);

/*
 * Gives the program what it has room for, and then, if the source is ready, takes the next block, of one that is always ready several. At the end of the
 * source the sink is closed.
 */
void feed_move(struct feed *f, bool source_is_ready);

/* Closes our end and frees the backlog. The source is the caller's. */
void feed_close(struct feed *f);

#endif
