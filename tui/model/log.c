/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of events. See log.h.
 *
 * Lines lie in one block of bytes that wraps (a line never does), their places in a second ring.
 * The serials that match the filter are a third one, so that finding a row needs no search.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_read.h"

#define BYTES (24u << 20)
#define ENTRIES (1u << 16)
#define WINDOW_NS INT64_C(200000000) /* within which events are sorted by their time */
#define WINDOW_EVENTS 256            /* and the most that one event moves */

struct log {
	uint64_t first, next, protect, unkept, total;
	uint64_t fixed; /* those before it keep their place */
	uint32_t front;
	uint64_t first_row, next_row; /* positions in rows, modulo */
	char words[LOG_FILTER_MAX], subject[LOG_SUBJECT_MAX];
	struct buffer text; /* of the row that is being matched */
	struct log_entry entries[ENTRIES];
	uint64_t rows[ENTRIES];
	char bytes[BYTES];
};

struct log *log_new(void)
{
	struct log *l = calloc(1, sizeof *l);

	if (l)
		l->first = l->next = 1;
	return l;
}

void log_free(struct log *l)
{
	if (l)
		buffer_free(&l->text);
	free(l);
}

static struct log_entry *place(struct log *l, uint64_t serial)
{
	return &l->entries[serial % ENTRIES];
}

static bool forget_first(struct log *l)
{
	if (l->protect && l->first >= l->protect)
		return false;
	if (l->first_row < l->next_row && l->rows[l->first_row % ENTRIES] == l->first)
		l->first_row++;
	l->first++;
	return true;
}

/* Makes room for a line. Returns false when only protected events could make it. */
static bool make_room(struct log *l, uint32_t length)
{
	if (length > BYTES / 4)
		return false;
	if (l->front + length > BYTES) {
		while (l->first < l->next && place(l, l->first)->offset >= l->front)
			if (!forget_first(l))
				return false;
		l->front = 0;
	}
	while (l->first < l->next) {
		const struct log_entry *e = place(l, l->first);

		if (l->next - l->first < ENTRIES &&
			(e->offset >= l->front + length || e->offset + e->length <= l->front))
			break;
		if (!forget_first(l))
			return false;
	}
	return true;
}

static bool is_subject(const struct log *l, struct json_slice event)
{
	return !l->subject[0] || json_is(json_get(event, "subject"), l->subject);
}

static bool is_row(struct log *l, const struct log_entry *e)
{
	struct json_slice event = log_event(l, e);

	if (!is_subject(l, event))
		return false;
	if (!l->words[0])
		return true;
	l->text.length = 0;
	json_visible(json_get(event, "type"), &l->text);
	buffer_add(&l->text, " ", 1);
	json_visible(json_get(event, "subject"), &l->text);
	buffer_add(&l->text, " ", 1);
	if (e->row) {
		buffer_add_text(&l->text, e->row->word);
		buffer_add(&l->text, " ", 1);
	}
	log_describe(e->row, event, &l->text);
	return l->text.data && log_matches(l->words, l->text.data);
}

static void add_row(struct log *l, uint64_t serial)
{
	l->rows[l->next_row++ % ENTRIES] = serial;
}

/* Where an event of this time belongs: before those that are later, within the window. */
static uint64_t position(struct log *l, int64_t time_ns)
{
	uint64_t at = l->next;

	for (; time_ns > 0 && at > l->first && at > l->fixed && l->next - at < WINDOW_EVENTS;
		at--) {
		const struct log_entry *before = place(l, at - 1);

		/* Bytes are moved, but not across the end of their block. */
		if (before->time_ns <= time_ns || before->time_ns - time_ns > WINDOW_NS ||
			before->offset >= l->front)
			break;
	}
	return at;
}

/* Makes a gap for an event among the newest: their bytes, serials and rows move up. */
static void insert(struct log *l, uint64_t at, struct log_entry *e, const char *text)
{
	assert(at >= l->first && at <= l->next && l->front + e->length <= BYTES);
	e->offset = at < l->next ? place(l, at)->offset : l->front;
	memmove(l->bytes + e->offset + e->length, l->bytes + e->offset, l->front - e->offset);
	memcpy(l->bytes + e->offset, text, e->length);
	l->front += e->length;
	for (uint64_t i = l->next++; i > at; i--) {
		*place(l, i) = *place(l, i - 1);
		place(l, i)->offset += e->length;
	}
	e->is_row = is_row(l, e);
	*place(l, at) = *e;
	while (l->first_row < l->next_row && l->rows[(l->next_row - 1) % ENTRIES] >= at)
		l->next_row--;
	for (; at < l->next; at++)
		if (place(l, at)->is_row)
			add_row(l, at);
}

uint64_t log_add(struct log *l, struct json_slice event)
{
	struct log_entry e = {
		.sequence = (uint64_t)json_int(json_get(event, "sequence"), 0),
		.time_ns = json_time(json_get(event, "time")),
		.row = log_row_for(json_get(event, "type")),
		.length = (uint32_t)(event.length > BYTES ? BYTES : event.length),
	};
	uint64_t at;

	l->total++;
	if (!make_room(l, e.length)) {
		l->unkept++;
		return 0;
	}
	at = position(l, e.time_ns);
	insert(l, at, &e, event.text);
	return at;
}

void log_fix(struct log *l)
{
	l->fixed = l->next;
}

uint64_t log_first(const struct log *l)
{
	return l->first;
}

uint64_t log_next(const struct log *l)
{
	return l->next;
}

struct log_entry *log_entry(struct log *l, uint64_t serial)
{
	return serial >= l->first && serial < l->next ? place(l, serial) : NULL;
}

struct json_slice log_event(const struct log *l, const struct log_entry *e)
{
	assert(e->offset + e->length <= BYTES);
	return json_slice(l->bytes + e->offset, e->length);
}

/* Adds one row for the events that found no room. */
static void add_gap(struct log *l)
{
	char text[200];
	int length = snprintf(text, sizeof text,
		"{\"sequence\":0,\"type\":\"events.dropped\",\"subject\":\"\",\"data\":{\"count\":"
		"%" PRIu64 ",\"since\":%" PRIu64 "}}",
		l->unkept, l->first < l->next ? place(l, l->next - 1)->sequence : 0);

	l->unkept = 0;
	l->total--;
	log_add(l, json_slice(text, (size_t)length));
}

void log_protect(struct log *l, uint64_t serial)
{
	if (serial > 0 && l->protect == 0)
		log_fix(l);
	l->protect = serial;
	if (serial == 0 && l->unkept > 0)
		add_gap(l);
}

uint64_t log_unkept(const struct log *l)
{
	return l->unkept;
}

uint64_t log_total(const struct log *l)
{
	return l->total;
}

void log_filter(struct log *l, const char *words, const char *subject)
{
	size_t length = strnlen(words, sizeof l->words - 1);

	memcpy(l->words, words, length);
	l->words[length] = '\0';
	length = strnlen(subject, sizeof l->subject - 1);
	memcpy(l->subject, subject, length);
	l->subject[length] = '\0';
	l->first_row = l->next_row = 0;
	for (uint64_t serial = l->first; serial < l->next; serial++)
		if ((place(l, serial)->is_row = is_row(l, place(l, serial))))
			add_row(l, serial);
}

size_t log_rows(const struct log *l)
{
	return (size_t)(l->next_row - l->first_row);
}

uint64_t log_serial(const struct log *l, size_t row)
{
	return row < log_rows(l) ? l->rows[(l->first_row + row) % ENTRIES] : l->next;
}

size_t log_row_of(const struct log *l, uint64_t serial)
{
	size_t low = 0, high = log_rows(l);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (log_serial(l, middle) < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
