/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: every event, on disk, in order, without a gap.
 *
 * Opened for appending, written with whole lines in one write(2), never rewritten: a daemon that is
 * killed loses the line that was being written and nothing else. A torn last line is taken off when
 * the log is opened again, so every line of it is whole. Above its size the file becomes FILE.1,
 * that one FILE.2, and so on up to the number to keep. What was decided about tools (EVENT_DECISION
 * in events.def) is written once more, to a file beside it that is never rotated: no run can push
 * it out. Two daemons on one log are kept apart by a lock.
 */
#ifndef CORDON_ISOLATE_DAEMON_AUDIT_H
#define CORDON_ISOLATE_DAEMON_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"

struct audit;

/*
 * The default place: $XDG_STATE_HOME/cordon/events.ndjson, or below $HOME/.local/state. Returns
 * false when neither is set.
 */
bool audit_default_path(char *out, size_t size);

/*
 * Where the decisions of a log are: decisions.ndjson beside events.ndjson, FILE.decisions beside
 * another name.
 */
void audit_decisions_path(const char *log, char *out, size_t size);

/*
 * Opens a log, makes it and its directory (0700) where they are missing. size: bytes after which it
 * is rotated; keep: how many old ones stay. Returns NULL with PATH_MISSING, DAEMON_RUNNING (another
 * daemon holds the lock) or RESOURCES_EXHAUSTED.
 */
struct audit *audit_open(const char *path, uint64_t size, unsigned keep, struct error *err);
void audit_close(struct audit *a);

/*
 * Appends whole lines; next is the number after the last of them. What a full disk has no room for
 * is missing: that is said on standard error when it begins and when it ends, and then in the log
 * itself (events.dropped, with the last of the numbers that are missing). */
void audit_write(struct audit *a, const char *lines, size_t length, uint64_t next);

/*
 * The number for the next event, by what the log held when it was opened and what was written
 * since.
 */
uint64_t audit_next(const struct audit *a);
uint64_t audit_failed_writes(const struct audit *a);

#endif
