/* SPDX-License-Identifier: Apache-2.0 */
/* --events FILE through the daemon: what the daemon tells of one execution goes into the caller's file, and the last event's sums to a person. */
#ifndef CORDON_ISOLATE_COMMANDS_FOLLOW_H
#define CORDON_ISOLATE_COMMANDS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/error.h"
#include "isolate/json_write.h"

struct follow {
	int fd;              /* -1: nothing is followed */
	int error;           /* errno of the write that failed */
	uint64_t lost;       /* events that are missing from the file */
	struct buffer last;  /* data of sandbox.executed */
};

#define FOLLOW_INIT { -1, 0, 0, BUFFER_INIT }

/* Opens the file, to append to. Returns 0, or -1 with PATH_MISSING. */
int follow_open(struct follow *f, const char *file, struct error *err);
void follow_close(struct follow *f);

/* Takes a line of the daemon's, if it is an event. Returns whether it was. */
bool follow_take(struct follow *f, const char *line, size_t length);

/* Says on standard error what was refused, as `cordon run --events` does without a daemon. */
void follow_summary(const struct follow *f);

#endif
