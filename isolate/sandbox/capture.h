/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output stream of a program: kept up to a limit, or passed on.
 *
 * Passing on never blocks: what the reader has no room for waits in one bounded backlog, and while it is not empty nothing more is taken from the
 * program. That is the program's back-pressure, and the clock goes on meanwhile.
 */
#ifndef CORDON_ISOLATE_SANDBOX_CAPTURE_H
#define CORDON_ISOLATE_SANDBOX_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/wire/record.h"

#define CAPTURE_BLOCK 65536

struct capture {
	int source;              /* our end of the pipe, non-blocking; -1 when it has ended */
	int pass_to;             /* a descriptor of our own for the caller's, or -1 */
	bool is_socket;
	char *backlog;           /* CAPTURE_BLOCK bytes, owned: what was read last; of them [start, end) wait for the reader */
	size_t start, end;
	int pass_errno;          /* why passing on failed, when it was not just that the reader is gone */
	uint64_t limit;          /* most bytes to keep */
	struct captured *kept;
	void (*tap)(void *context, const char *bytes, size_t length); /* sees every byte that is taken; may be NULL */
	void *tap_context;
};

#define CAPTURE_INIT { .source = -1, .pass_to = -1 } /* no stream; finishing one does nothing */

/* Makes the pipe. *write_end is for the program; the caller closes it. Returns 0 or -1 with errno. */
int capture_open(struct capture *c, int pass_to, uint64_t limit, struct captured *kept, int *write_end);

/*
 * Takes what is there, at most `most` bytes of it, so that one stream cannot keep the loop. Returns 1 when more may come, 0 at the end or when the
 * reader of pass_to is gone, -1 with errno on an error. In the last two the source is closed: the program's next write meets a broken pipe.
 */
int capture_read(struct capture *c, size_t most);

/* Whether bytes wait for the reader of pass_to: then that descriptor is to be watched (POLLOUT), and not the source. */
bool capture_is_blocked(const struct capture *c);

/* Gives the reader what it has room for. */
void capture_pass(struct capture *c);

/*
 * Takes what is in the pipe right now and closes it, whoever else may hold its other end. What is to be passed on is passed until deadline_us
 * (CLOCK_MONOTONIC microseconds; 0 = for as long as there is a reader); what the reader has not taken by then is dropped.
 */
void capture_finish(struct capture *c, int64_t deadline_us);

#endif
