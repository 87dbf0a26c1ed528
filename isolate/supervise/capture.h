/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of a program: kept up to a limit, or passed on. */
#ifndef CORDON_ISOLATE_SUPERVISE_CAPTURE_H
#define CORDON_ISOLATE_SUPERVISE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/result.h"

struct capture {
	int source;              /* our end of the pipe, non-blocking; -1 when it has ended */
	int pass_to;             /* or -1 */
	uint64_t limit;          /* most bytes to keep */
	struct captured *kept;
};

/* Makes the pipe. *write_end is for the program; the caller closes it. Returns 0 or -1 with errno. */
int capture_open(struct capture *c, int pass_to, uint64_t limit, struct captured *kept, int *write_end);

/*
 * Takes what is there, at most `most` bytes of it, so that one stream cannot keep the loop. Returns 1 when more may come, 0 at the end or when the
 * reader of pass_to is gone, -1 with errno on an error. In the last two the source is closed: the program's next write meets a broken pipe.
 */
int capture_read(struct capture *c, size_t most);

/* Takes what is in the pipe right now and closes it, whoever else may hold its other end. */
void capture_finish(struct capture *c);

#endif
