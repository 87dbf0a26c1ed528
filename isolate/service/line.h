/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the envelope of a line that the emitter wrote, without parsing it: its members stand in a fixed order. Pure. */
#ifndef CORDON_ISOLATE_SERVICE_LINE_H
#define CORDON_ISOLATE_SERVICE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_line {
	uint64_t sequence;
	size_t after_sequence;                      /* where the comma behind the number stands */
	const char *type, *subject;                 /* into the line, not terminated */
	size_t type_length, subject_length;
};

/* Returns whether the line (without its newline) begins as the emitter's do. */
bool event_line_read(const char *line, size_t length, struct event_line *out);

/* Which events somebody wants to see. Empty texts want all. */
struct event_filter {
	char type[64];                              /* glob, as fnmatch(3) */
	char subject[160];
};

bool event_filter_wants(const struct event_filter *filter, const struct event_line *line);

#endif
