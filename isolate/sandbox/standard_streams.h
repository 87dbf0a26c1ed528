/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard streams of a program: output that is captured or passed on, input that is relayed,
 * and the caller's terminal.
 *
 * Output is kept up to a limit, or passed on. Passing on never blocks: what the reader has no room for waits in one bounded backlog, and while
 * it is not empty nothing more is taken from the program. That is the program's back-pressure, and
 * the clock goes on meanwhile.
 */
#ifndef CORDON_ISOLATE_SANDBOX_STANDARD_STREAMS_H
#define CORDON_ISOLATE_SANDBOX_STANDARD_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "isolate/base/error.h"
#include "isolate/wire/record.h"

#define CAPTURE_BLOCK 65536

struct capture {
	int source;  /* our end of the pipe, non-blocking; -1 when it has ended */
	int pass_to; /* a descriptor of our own for the caller's, or -1 */
	bool is_socket;
	/*
	 * CAPTURE_BLOCK bytes, owned: what was read last; of them [start, end) wait for the reader
	 */
	char *backlog;
	size_t start, end;
	/* why passing on failed, when it was not just that the reader is gone */
	int pass_errno;
	uint64_t limit; /* most bytes to keep */
	struct captured *kept;
	/* sees every byte that is taken; may be NULL */
	void (*tap)(void *context, const char *bytes, size_t length);
	void *tap_context;
};

#define CAPTURE_INIT \
	{ \
		.source = -1, .pass_to = -1 \
	} /* no stream; finishing one does nothing */

/*
 * Makes the pipe. *write_end is for the program; the caller closes it. Returns 0 or -1 with errno.
 */
int capture_open(
	struct capture *c, int pass_to, uint64_t limit, struct captured *kept, int *write_end);

/*
 * Takes what is there, at most `most` bytes of it, so that one stream cannot keep the loop. Returns
 * 1 when more may come, 0 at the end or when the reader of pass_to is gone, -1 with errno on an
 * error. In the last two the source is closed: the program's next write meets a broken pipe.
 */
int capture_read(struct capture *c, size_t most);

/*
 * Whether bytes wait for the reader of pass_to: then that descriptor is to be watched (POLLOUT),
 * and not the source.
 */
bool capture_is_blocked(const struct capture *c);

/* Gives the reader what it has room for. */
void capture_pass(struct capture *c);

/*
 * Takes what is in the pipe right now and closes it, whether or not another process holds its write
 * end. What is to be passed on is passed until deadline_us (CLOCK_MONOTONIC microseconds; 0 = for
 * as long as there is a reader); what the reader has not taken by then is dropped.
 */
void capture_finish(struct capture *c, int64_t deadline_us);

/*
 * The caller's input for a program: relayed through a pipe of our own.
 *
 * The caller's descriptor itself never goes in: it may be open for writing, be a socket of the
 * host's network, a terminal whose settings could be changed, or a directory from which every path
 * of the host could be opened.
 */

#define RELAY_BLOCK 65536

struct stdin_relay {
	int source; /* the caller's, borrowed; -1 when it has ended or there is none */
	int sink;   /* our end of the pipe, non-blocking; -1 when it is closed */
	/* epoll(7) refuses it, as it does a file: a read is all there is to do */
	bool always_ready;
	bool types_end; /* the sink is a terminal: the end of the source is typed there */
	bool at_end;    /* the source has ended */
	char last;      /* byte that was read */
	char *backlog;  /* RELAY_BLOCK bytes, owned; of them [start, end) wait for the program */
	size_t start, end;
};

#define STDIN_RELAY_INIT \
	{ \
		.source = -1, .sink = -1 \
	}

/*
 * Makes the pipe. *read_end is for the program; the caller closes it. Returns 0, or -1 with
 * BAD_INPUT (a directory) or RESOURCES_EXHAUSTED.
 */
int stdin_relay_open(struct stdin_relay *r, int source, int *read_end, struct error *err);

/* Relays to a terminal: `master` is duplicated, non-blocking. Returns 0 or -1 with errno. */
int stdin_relay_open_terminal(struct stdin_relay *r, int source, int master);

/*
 * Whether bytes wait for the program: then the sink is to be watched (POLLOUT), and not the source.
 */
bool stdin_relay_is_blocked(const struct stdin_relay *r);

/*
 * Gives the program what it has room for, and then, if the source is ready, takes the next block,
 * of one that is always ready several. At the end of the source the sink is closed.
 */
void stdin_relay_move(struct stdin_relay *r, bool source_is_ready);

/* Closes our end and frees the backlog. The source is the caller's. */
void stdin_relay_close(struct stdin_relay *r);

/* The caller's terminal, while a program has one of its own (--tty). termios(3), pty(7). */

struct terminal {
	int fd;     /* the caller's terminal, or -1 */
	int master; /* the program's terminal, or -1 */
	bool raw;
	/* pipe to the process that restores the settings when we cannot, or -1 */
	int keeper;
	pid_t keeper_pid;
	struct termios before;
};

/* The window size of a terminal; 0 x 0 when it has none. */
void terminal_window(int fd, unsigned *rows, unsigned *columns);

/*
 * Puts the caller's terminal into raw mode, if this process is in its foreground. Does nothing when
 * fd is no terminal.
 */
void terminal_begin(struct terminal *t, int fd);

/* Gives the caller's terminal its settings back. Safe to call at any time, any number of times. */
void terminal_restore(struct terminal *t);

/* Passes the window size of the caller's terminal on to the program's. */
void terminal_resize(struct terminal *t);

#endif
