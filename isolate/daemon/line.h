/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the envelope of a line that the emitter wrote, without parsing it: its members stand in a
 * fixed order. Pure.
 */
#ifndef CORDON_ISOLATE_DAEMON_LINE_H
#define CORDON_ISOLATE_DAEMON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_line {
	uint64_t sequence;
	size_t after_sequence;      /* where the comma behind the number stands */
	const char *type, *subject; /* into the line, not terminated */
	size_t type_length, subject_length;
};

/* Returns whether the line (without its newline) begins as the emitter's do. */
bool event_line_read(const char *line, size_t length, struct event_line *out);

/*
 * Writes a line of the daemon's own, without a newline: count numbers from first on are missing
 * where this line stands; its own number is the last of them. Returns its length; size is at least
 * DROPPED_LINE_MAX.
 */
#define DROPPED_LINE_MAX 400
size_t dropped_line(char *out, size_t size, uint64_t first, uint64_t count);

/* Which events a subscriber wants. Empty texts match all. */
struct event_filter {
	char type[64]; /* glob, as fnmatch(3) */
	char subject[160];
};

bool event_filter_wants(const struct event_filter *filter, const struct event_line *line);

#endif
