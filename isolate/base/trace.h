/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace: what each process of cordon does, a line a step, in the file that CORDON_TRACE names.
 *
 * For people who look for a fault in cordon; events are for those who watch a program. A line has
 * the time, the process with its pid, the room of the code and a message:
 *
 *     12:00:01.250317 supervisor[4711] sandbox: starting -> running
 *
 * Each line is one write(2) to a file opened with O_APPEND, so processes do not mix theirs. Off, a
 * call costs one comparison. A helper that runs in a sandbox gets the descriptor, never the name,
 * and close-on-exec keeps it from programs.
 */
#ifndef CORDON_ISOLATE_BASE_TRACE_H
#define CORDON_ISOLATE_BASE_TRACE_H

#include "isolate/base/error.h"

#define TRACE_VARIABLE "CORDON_TRACE"
#define TRACE_LINE_MAX 1024 /* bytes; what is longer is cut */

/* The descriptor of the trace, -1 while it is off. Set by the two functions below alone. */
extern int trace_fd;

/*
 * Opens the file that CORDON_TRACE names (0600 where it is new), if it is set; process is this
 * process's word in each line (static). Returns 0, or -1 with PATH_MISSING.
 */
int trace_open(const char *process, struct error *err);

/*
 * Moves a descriptor to a number out of the way, close-on-exec, if it is open: for the start of a
 * helper.
 */
void trace_adopt(int fd, const char *process);

/* Writes one line; errno stays. Text from outside may stand in it: it is made visible. */
void trace_write(const char *room, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define trace(...) \
	do { \
		if (trace_fd >= 0) \
			trace_write(__VA_ARGS__); \
	} while (0)

#endif
