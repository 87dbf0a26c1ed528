/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one emitter of events: CloudEvents 1.0, one JSON object a line.
 *
 * Hand-written for the hot path: a line is built in place, in a buffer that was allocated once, and
 * nothing is allocated for an event. A line that does not fit is taken back whole and counted; its
 * sequence number is used up, so that the gap shows, and events.dropped says how many as soon as
 * there is room. Text of any bytes can be written: what is no UTF-8 becomes U+FFFD, and the bytes
 * stand beside it in base64.
 */
#ifndef CORDON_ISOLATE_MONITOR_EMITTER_H
#define CORDON_ISOLATE_MONITOR_EMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/monitor/event_table.h"

#define EMITTER_LINE_MAX 65536u /* longest line, its newline included */
#define EMITTER_SUBJECT_MAX 160

struct emitter;

enum emitter_mode {
	EMITTER_DROPS, /* a reader that is slow loses events */
	/*
	 * waits for the reader, at most EMITTER_PATIENCE_MS in all until it has caught up: for one
	 * that keeps up and must not miss any
	 */
	EMITTER_WAITS
};

#define EMITTER_PATIENCE_MS 1000
#define EMITTER_LAST_MS 30000

/*
 * An emitter that writes to fd (non-blocking; it becomes the emitter's, and is closed by
 * emitter_close). subject is the execution's id, copied. Returns NULL without memory; the
 * descriptor then stays the caller's.
 */
struct emitter *emitter_new(int fd, const char *subject, enum emitter_mode mode);

/*
 * What the ids of events begin with, where that is not the subject: of two emitters with one
 * subject at least one needs it. Shorter than EMITTER_SUBJECT_MAX, copied.
 */
void emitter_identify(struct emitter *e, const char *id);

/*
 * No more than so many bytes before emit_last(): what is beyond them is lost, which limit.hit says
 * once (event-size). emitter_is_spent: whether that happened.
 */
void emitter_budget(struct emitter *e, uint64_t bytes);
bool emitter_is_spent(const struct emitter *e);

/*
 * Writes the rest, waiting for a reader that takes something every EMITTER_PATIENCE_MS, and
 * EMITTER_LAST_MS in all, and frees everything. NULL is allowed. Returns how many events did not
 * reach the reader in all; *error (NULL: not wanted) becomes the errno of the write that failed, or
 * 0.
 */
uint64_t emitter_close(struct emitter *e, int *error);

/*
 * One event: emit_begin, fields, emit_end. time_ns is of CLOCK_REALTIME; 0 is now. A field's kind
 * must be the table's.
 */
void emit_begin(struct emitter *e, enum event_type type, int64_t time_ns);
void emit_text(struct emitter *e, enum event_field field, const char *text);
void emit_bytes(struct emitter *e, enum event_field field, const void *bytes, size_t length);
void emit_number(struct emitter *e, enum event_field field, int64_t value);
/* microseconds, not negative */
void emit_duration(struct emitter *e, enum event_field field, int64_t us);
void emit_truth(struct emitter *e, enum event_field field, bool value);
/* one object, one line, already checked */
void emit_json(struct emitter *e, enum event_field field, const char *text, size_t length);
void emit_words(struct emitter *e, enum event_field field, const char *const *words, size_t count);
void emit_end(struct emitter *e);

/*
 * Writes what has been gathered, as far as the reader takes it. Into a pipe in whole lines: one
 * that is given up does not end within a line of up to PIPE_BUF bytes.
 */
void emit_flush(struct emitter *e);

/* From now on come the last lines, for which room was kept: what is missing, and how it ended. */
void emit_last(struct emitter *e);

/* The lines that wait: of an emitter without a descriptor (-1), for its owner. */
const char *emitter_lines(const struct emitter *e, size_t *length);

/* Whether lines wait for the reader; the descriptor, to watch for room. */
bool emitter_is_waiting(const struct emitter *e);
int emitter_fd(const struct emitter *e);

/* How many events were dropped in all. */
uint64_t emitter_lost(const struct emitter *e);

/* CLOCK_REALTIME in nanoseconds. */
int64_t emitter_now_ns(void);

#endif
