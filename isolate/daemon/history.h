/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked for and what came of it: the newest executions that have ended, kept for
 * sandbox.show.
 *
 * Each is one JSON object, put together when the execution ends. Both their number and their bytes
 * are bounded; the oldest go. A record that is too large to be kept is left out, and null stands in
 * its place.
 */
#ifndef CORDON_ISOLATE_DAEMON_HISTORY_H
#define CORDON_ISOLATE_DAEMON_HISTORY_H

#include <stddef.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

struct history;

struct history *history_new(void);
void history_free(struct history *h);

/*
 * Appends the object of one execution: its program, options and arguments out of its request (a
 * JSON object with method and params), and its record; record.text NULL: null.
 */
void history_describe(struct buffer *out, const char *id, const char *state,
	struct json_slice request, struct json_slice record);

/* Keeps an execution that has ended. */
void history_keep(
	struct history *h, const char *id, struct json_slice request, struct json_slice record);

/* The object of an id, or text NULL. Good until the next history_keep. */
struct json_slice history_find(const struct history *h, const char *id);

#endif
