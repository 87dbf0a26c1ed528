/* SPDX-License-Identifier: Apache-2.0 */
/* --events FILE through the daemon: the daemon's events of one execution go into the caller's file; the sums of the last one make the summary. */
#ifndef CORDON_ISOLATE_COMMANDS_FOLLOW_H
#define CORDON_ISOLATE_COMMANDS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_slice.h"
#include "isolate/base/json_write.h"

struct follow {
	bool on;             /* something is followed */
	int fd;              /* -1: to no file, for the sums alone */
	int error;           /* errno of the write that failed */
	uint64_t lost;       /* events that are missing from the file */
	struct buffer last;  /* data of sandbox.executed */
};

#define FOLLOW_INIT { false, -1, 0, 0, BUFFER_INIT }

/* Opens the file, to append to; NULL: none. Returns 0, or -1 with PATH_MISSING. */
int follow_open(struct follow *f, const char *file, struct error *err);
void follow_close(struct follow *f);

/* Takes an event. */
void follow_event(struct follow *f, struct json_slice event);

/* Takes a line of the daemon's, if it is an event. Returns whether it was. */
bool follow_take(struct follow *f, const char *line, size_t length);

/* Says on standard error what was refused, as `cordon run --events` does without a daemon. */
void follow_summary(const struct follow *f);

#endif
