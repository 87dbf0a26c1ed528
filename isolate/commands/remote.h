/* SPDX-License-Identifier: Apache-2.0 */
/* run, exec and validate through the daemon (--daemon). */
#ifndef CORDON_ISOLATE_COMMANDS_REMOTE_H
#define CORDON_ISOLATE_COMMANDS_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

/*
 * Writes the member "environment" of a request: what the options look up in the caller's. Returns
 * false when some of it is no UTF-8.
 */
bool remote_write_environment(struct json_writer *w, const struct options *o);

/*
 * Lets the daemon run a program, with the caller's streams, directory and variables, passes signals
 * on, and answers as the command would have. Returns its exit status. One bit of command_set; name
 * is the command's, for messages.
 */
int remote_execute(const char *name, enum command_set set, const struct options *options,
	const struct program *program);

/*
 * The request alone, a line of JSON-RPC without its id. streams: three descriptors will come with
 * it; follow: its events are wanted. Returns 0, or -1 with BAD_INPUT or RESOURCES_EXHAUSTED.
 */
int remote_request(struct buffer *out, enum command_set set, const struct options *options,
	const struct program *program, bool streams, bool follow, struct error *err);

/*
 * Prints what the command prints, from the result of the answer, and gives the exit status; or
 * reads the failure from its error. Either has no text. Returns 0, or -1 with the failure.
 */
int remote_answer(struct json_slice result, struct json_slice failure, enum command_set set,
	bool json, int *status, struct error *err);

/*
 * --events FILE through the daemon: the daemon's events of one execution go into the caller's file;
 * the sums of the last one make the summary.
 */

struct follow {
	bool on;            /* something is followed */
	int fd;             /* -1: to no file, for the sums alone */
	int error;          /* errno of the write that failed */
	uint64_t lost;      /* events that are missing from the file */
	struct buffer last; /* data of sandbox.executed */
};

#define FOLLOW_INIT \
	{ \
		false, -1, 0, 0, BUFFER_INIT \
	}

/* Opens the file, to append to; NULL: none. Returns 0, or -1 with PATH_MISSING. */
int follow_open(struct follow *f, const char *file, struct error *err);
void follow_close(struct follow *f);

/* Takes an event. */
void follow_event(struct follow *f, struct json_slice event);

/* Takes a line of the daemon's, if it is an event. Returns whether it was. */
bool follow_take(struct follow *f, struct json_slice line);

/* Says on standard error what was refused, as `cordon run --events` does without a daemon. */
void follow_summary(const struct follow *f);

#endif
