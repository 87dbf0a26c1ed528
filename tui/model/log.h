/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that the console keeps: the newest ones, as the lines they came as.
 *
 * A ring of fixed size; nothing is parsed but the envelope until a row is drawn or a filter asks.
 * Events lie in order of their time as far as they come within 200 ms and 256 events of one
 * another, since those of several channels do not come in order. Each has a serial, which counts up
 * by one, so "the same event" means something while rows come and go; only among the newest does
 * one that comes late move others. An entry that is shown in full can be protected: then it stays
 * in its place, the ring fills up and newcomers are counted instead of kept, because a picture that
 * is read must not move.
 */
#ifndef CORDON_TUI_MODEL_LOG_H
#define CORDON_TUI_MODEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "tui/draw/cells.h"

#define LOG_SUBJECT_MAX 96
#define LOG_FILTER_MAX 120

struct log_row { /* rows.def */
	const char *type;
	enum style style;
	const char *word, *template;
};

struct log_entry {
	uint64_t sequence;
	int64_t time_ns;
	const struct log_row *row; /* NULL: a type that the console does not know */
	uint32_t offset, length;
	bool marked, is_row;
};

struct log;

struct log *log_new(void);
void log_free(struct log *l);

/*
 * Keeps an event: a JSON object that passed the gate. Returns its serial, or 0 when it was not
 * kept.
 */
uint64_t log_add(struct log *l, struct json_slice event);

/* Events kept so far keep their places: later ones come after them, whatever their time. */
void log_fix(struct log *l);

/* Serials from log_first to before log_next are there. */
uint64_t log_first(const struct log *l);
uint64_t log_next(const struct log *l);

/* An event that is there, or NULL. The slice is good until the next log_add. */
struct log_entry *log_entry(struct log *l, uint64_t serial);
struct json_slice log_event(const struct log *l, const struct log_entry *e);

/*
 * Keeps every event from this serial on; 0 ends that. log_unkept counts events that found no room
 * meanwhile; at the end of it one row stands for them.
 */
void log_protect(struct log *l, uint64_t serial);
uint64_t log_unkept(const struct log *l);

/* Every event that was ever offered, kept or not, shown or not. */
uint64_t log_total(const struct log *l);

/*
 * Which events are rows: words separated by blanks, each of which the row's text must have, or must
 * not have with ! in front; case does not matter. subject: of one execution only, "" for all. Goes
 * through everything that is kept.
 */
void log_filter(struct log *l, const char *words, const char *subject);

/*
 * Rows, numbered from 0; the serial of one; the row of a serial, or of the next one after it that
 * is a row.
 */
size_t log_rows(const struct log *l);
uint64_t log_serial(const struct log *l, size_t row);
size_t log_row_of(const struct log *l, uint64_t serial);

/* Appends what an event says, made visible, on one line: by the template of its type. */
void log_describe(const struct log_row *row, struct json_slice event, struct buffer *out);

/* Whether some text has the words of a filter. */
bool log_matches(const char *words, const char *text);

/* The row of a type, or NULL. */
const struct log_row *log_row_for(struct json_slice type);

#endif
