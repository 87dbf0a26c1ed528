/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter. See emitter.h.
 *
 * [start, end) of the buffer are whole lines that wait for the reader; the line that is being
 * written grows behind them. There is room for one longest line beyond what may wait, so a field
 * never has to ask twice: it is copied, or the line is marked as too long. A little more is kept
 * for the last lines: how a run ended, and how much is missing, can be said to the slowest reader.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/emitter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/text.h"

#define MOST_WAITING (16u << 20)
#define RESERVE (3 * EMITTER_LINE_MAX)
#define PIPE_SIZE (1 << 20) /* the most without CAP_SYS_RESOURCE, pipe(7) */
#define FLUSH_AT 32768u
#define TAIL_ROOM 4u /* "}}\n" */

struct emitter {
	int fd;
	enum emitter_mode mode;
	bool lost_reader, too_long, has_field, is_pipe, last;
	int error; /* of the write that failed */
	/* was waited for in vain; not again until it has taken everything */
	bool stalled;
	char subject[EMITTER_SUBJECT_MAX], id[EMITTER_SUBJECT_MAX];
	uint64_t sequence, lost, unreported;
	uint64_t budget, written; /* bytes; no budget: 0 */
	bool spent, exempt;       /* the budget; the line at hand from it */
	time_t second;            /* whose text is in stamp */
	char stamp[24];
	size_t start, end, length;
	char bytes[MOST_WAITING + RESERVE + EMITTER_LINE_MAX];
};

int64_t emitter_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct emitter *emitter_new(int fd, const char *subject, enum emitter_mode mode)
{
	struct emitter *e = calloc(1, sizeof *e); /* pages that are never touched cost nothing */
	struct stat status;

	if (!e)
		return NULL;
	e->fd = fd;
	e->mode = mode;
	e->is_pipe = fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
	if (e->is_pipe)
		/* where it is refused the pipe stays as it was */
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
	e->second = -1;
	snprintf(e->subject, sizeof e->subject, "%s", subject);
	emitter_identify(e, subject);
	return e;
}

void emitter_identify(struct emitter *e, const char *id)
{
	snprintf(e->id, sizeof e->id, "%s", id);
}

void emitter_budget(struct emitter *e, uint64_t bytes)
{
	e->budget = bytes;
}

bool emitter_is_spent(const struct emitter *e)
{
	return e->spent;
}

/* Bytes of the line at hand, or none of them. */
static void add(struct emitter *e, const void *bytes, size_t length)
{
	if (e->too_long || length > EMITTER_LINE_MAX - TAIL_ROOM - e->length) {
		e->too_long = true;
		return;
	}
	memcpy(e->bytes + e->end + e->length, bytes, length);
	e->length += length;
}

static void add_text(struct emitter *e, const char *text)
{
	add(e, text, strlen(text));
}

static void add_number(struct emitter *e, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	add(e, digits + at, sizeof digits - at);
}

static void add_time(struct emitter *e, int64_t time_ns)
{
	char fraction[] = ".000000Z";
	time_t second = (time_t)(time_ns / 1000000000);
	unsigned us = (unsigned)(time_ns % 1000000000 / 1000);
	struct tm utc;

	if (second != e->second) {
		e->second = second;
		gmtime_r(&second, &utc);
		if (strftime(e->stamp, sizeof e->stamp, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
			e->stamp[0] = '\0';
	}
	for (int digit = 6; digit > 0; digit--, us /= 10)
		fraction[digit] = (char)('0' + us % 10);
	add_text(e, e->stamp);
	add(e, fraction, sizeof fraction - 1);
}

/* One code point as JSON may hold it anywhere: controls and what hides in a terminal as \u. */
static void add_escaped(struct emitter *e, uint32_t point)
{
	char text[16];

	if (point == '"' || point == '\\') {
		char pair[2] = { '\\', (char)point };

		add(e, pair, 2);
	} else if (point == '\n') {
		add(e, "\\n", 2);
	} else if (point == '\t') {
		add(e, "\\t", 2);
	} else if (point > 0xffff) {
		snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
			0xdc00 + ((point - 0x10000) & 0x3ff));
		add_text(e, text);
	} else {
		snprintf(text, sizeof text, "\\u%04x", (unsigned)(point & 0xffff));
		add_text(e, text);
	}
}

/* The inside of a JSON string. Returns whether the bytes were UTF-8. */
static bool add_string(struct emitter *e, const unsigned char *bytes, size_t length)
{
	bool valid = true;

	for (size_t at = 0, plain; at < length; at += plain) {
		uint32_t point;

		for (plain = 0; at + plain < length && bytes[at + plain] >= 0x20 &&
			bytes[at + plain] < 0x7f && bytes[at + plain] != '"' &&
			bytes[at + plain] != '\\';)
			plain++;
		if (plain > 0) {
			add(e, bytes + at, plain);
			continue;
		}
		plain = text_decode(bytes + at, length - at, &point, NULL);
		if (plain == 0) {
			valid = false;
			plain = 1;
			add(e, "\xef\xbf\xbd", 3);
		} else if (point == '"' || point == '\\' || point < 0x20 || text_is_hidden(point)) {
			add_escaped(e, point);
		} else {
			add(e, bytes + at, plain);
		}
	}
	return valid;
}

static void add_base64(struct emitter *e, const unsigned char *bytes, size_t length)
{
	static const char DIGITS[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16 |
			(i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0) |
			(i + 2 < length ? bytes[i + 2] : 0);
		char four[4] = { DIGITS[group >> 18], DIGITS[group >> 12 & 63],
			i + 1 < length ? DIGITS[group >> 6 & 63] : '=',
			i + 2 < length ? DIGITS[group & 63] : '=' };

		add(e, four, 4);
	}
}

static void add_key(struct emitter *e, enum event_field field, const char *suffix)
{
	add(e, ",\"", e->has_field ? 2 : 0);
	if (!e->has_field)
		add(e, "\"", 1);
	e->has_field = true;
	add_text(e, event_fields[field].name);
	add_text(e, suffix);
	add(e, "\":", 2);
}

static void begin(struct emitter *e, enum event_type type, int64_t time_ns)
{
	e->length = 0;
	e->too_long = e->has_field = false;
	e->exempt = type == EVENT_TYPE_LIMIT_HIT; /* few, and what a reader of a flood must know */
	add_text(e, "{\"sequence\":");
	add_number(e, e->sequence);
	add_text(e, ",\"specversion\":\"1.0\",\"id\":\"");
	add_text(e, e->id);
	add(e, "-", 1);
	add_number(e, e->sequence++);
	add_text(e, "\",\"source\":\"/cordon\",\"type\":\"");
	add_text(e, event_types[type].name);
	add_text(e, "\",\"subject\":\"");
	add_text(e, e->subject);
	add_text(e, "\",\"time\":\"");
	add_time(e, time_ns ? time_ns : emitter_now_ns());
	add_text(e, "\",\"data\":{");
}

/* Moves what waits to the front once that pays. */
static void settle(struct emitter *e)
{
	if (e->start == e->end)
		e->start = e->end = 0;
	if (e->start > MOST_WAITING / 2 ||
		(e->end >= MOST_WAITING && e->start >= (e->last ? 1 : MOST_WAITING / 16))) {
		memmove(e->bytes, e->bytes + e->start, e->end - e->start);
		e->end -= e->start;
		e->start = 0;
	}
}

static size_t room(const struct emitter *e)
{
	return MOST_WAITING + (e->last ? RESERVE : 0) - e->end;
}

static void wait_for_room(struct emitter *e)
{
	struct pollfd out = { e->fd, POLLOUT, 0 };

	while (!e->lost_reader && !e->stalled && e->end - e->start >= MOST_WAITING / 2) {
		size_t before = e->end - e->start;

		e->stalled = poll(&out, 1, EMITTER_PATIENCE_MS) == 0;
		emit_flush(e);
		if (e->end - e->start == before)
			return;
	}
}

static void store(struct emitter *e)
{
	e->written += e->length + 3;
	memcpy(e->bytes + e->end + e->length, "}}\n", 3);
	if (e->too_long || e->lost_reader || e->end > MOST_WAITING + (e->last ? RESERVE : 0) ||
		e->length + 3 > room(e)) {
		e->lost++;
		e->unreported++;
	} else {
		e->end += e->length + 3;
	}
	e->length = 0;
}

static void end(struct emitter *e)
{
	if (e->last || e->exempt || e->budget == 0 || e->written + e->length + 3 <= e->budget) {
		store(e);
		return;
	}
	e->lost++;
	e->unreported++;
	e->length = 0;
	if (e->spent)
		return;
	e->spent = true;
	begin(e, EVENT_TYPE_LIMIT_HIT, 0);
	emit_text(e, EVENT_FIELD_LIMIT, "event-size");
	emit_number(e, EVENT_FIELD_VALUE, (int64_t)e->budget);
	store(e);
}

/* What was dropped is said before whatever comes next. */
static void emit_dropped(struct emitter *e)
{
	uint64_t count = e->unreported;

	if (count == 0 || e->lost_reader || (e->spent && !e->last) || e->end > MOST_WAITING ||
		room(e) < 2 * EMITTER_LINE_MAX)
		return;
	e->unreported = 0;
	begin(e, EVENT_TYPE_EVENTS_DROPPED, 0);
	emit_number(e, EVENT_FIELD_COUNT, (int64_t)count);
	end(e);
}

void emit_begin(struct emitter *e, enum event_type type, int64_t time_ns)
{
	if (e->mode == EMITTER_WAITS)
		wait_for_room(e);
	settle(e);
	emit_dropped(e);
	begin(e, type, time_ns);
}

void emit_text(struct emitter *e, enum event_field field, const char *text)
{
	emit_bytes(e, field, text, strlen(text));
}

void emit_bytes(struct emitter *e, enum event_field field, const void *bytes, size_t length)
{
	add_key(e, field, "");
	add(e, "\"", 1);
	if (!add_string(e, bytes, length)) {
		add(e, "\"", 1);
		add_key(e, field, "_b64");
		add(e, "\"", 1);
		add_base64(e, bytes, length);
	}
	add(e, "\"", 1);
}

void emit_number(struct emitter *e, enum event_field field, int64_t value)
{
	add_key(e, field, "");
	if (value < 0)
		add(e, "-", 1);
	add_number(e, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void emit_duration(struct emitter *e, enum event_field field, int64_t us)
{
	uint64_t value = us > 0 ? (uint64_t)us : 0;
	char fraction[] = ".000";

	for (unsigned digit = 3, rest = (unsigned)(value % 1000); digit > 0; digit--, rest /= 10)
		fraction[digit] = (char)('0' + rest % 10);
	add_key(e, field, "");
	add_number(e, value / 1000);
	add_text(e, fraction);
}

void emit_truth(struct emitter *e, enum event_field field, bool value)
{
	add_key(e, field, "");
	add_text(e, value ? "true" : "false");
}

void emit_json(struct emitter *e, enum event_field field, const char *text, size_t length)
{
	add_key(e, field, "");
	add(e, text, length);
}

void emit_words(struct emitter *e, enum event_field field, const char *const *words, size_t count)
{
	add_key(e, field, "");
	add(e, "[", 1);
	for (size_t i = 0; i < count; i++) {
		add(e, ",\"", i > 0 ? 2 : 0);
		if (i == 0)
			add(e, "\"", 1);
		add_text(e, words[i]);
		add(e, "\"", 1);
	}
	add(e, "]", 1);
}

void emit_end(struct emitter *e)
{
	end(e);
	if (e->end - e->start >= FLUSH_AT)
		emit_flush(e);
}

/*
 * How many of the waiting bytes to write at once. What fits into PIPE_BUF goes into a pipe whole or
 * not at all, pipe(7).
 */
static size_t portion(const struct emitter *e)
{
	const char *first = e->bytes + e->start;
	size_t waiting = e->end - e->start;
	const char *cut;

	if (!e->is_pipe || waiting <= PIPE_BUF)
		return waiting;
	cut = memrchr(first, '\n', PIPE_BUF);
	if (!cut)
		cut = memchr(first, '\n', waiting);
	return cut ? (size_t)(cut - first) + 1 : waiting;
}

/* How many lines wait. One that was written in part is one. */
static uint64_t waiting_lines(const struct emitter *e)
{
	uint64_t lines = 0;

	for (size_t i = e->start; i < e->end; i++)
		lines += e->bytes[i] == '\n';
	return lines;
}

void emit_flush(struct emitter *e)
{
	while (e->fd >= 0 && e->start < e->end && !e->lost_reader) {
		ssize_t wrote = write(e->fd, e->bytes + e->start, portion(e));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno == EAGAIN)
			return;
		if (wrote <= 0) {
			/*
			 * The disk is full, or the reader is gone: what waits, and all that
			 * follows, is lost.
			 */
			e->error = wrote < 0 ? errno : EIO;
			e->lost += waiting_lines(e);
			e->lost_reader = true;
			break;
		}
		e->start += (size_t)wrote;
	}
	if (e->fd >= 0) {
		e->start = e->end = 0;
		e->stalled = false;
	}
}

void emit_last(struct emitter *e)
{
	emit_flush(e);
	e->last = true;
	settle(e);
}

const char *emitter_lines(const struct emitter *e, size_t *length)
{
	*length = e->end - e->start;
	return e->bytes + e->start;
}

bool emitter_is_waiting(const struct emitter *e)
{
	return e->start < e->end;
}

int emitter_fd(const struct emitter *e)
{
	return e->fd;
}

uint64_t emitter_lost(const struct emitter *e)
{
	return e->lost;
}

uint64_t emitter_close(struct emitter *e, int *error)
{
	struct pollfd out = { e ? e->fd : -1, POLLOUT, 0 };
	int64_t until = clock_now_us() / 1000 + EMITTER_LAST_MS;
	uint64_t lost;

	if (error)
		*error = e ? e->error : 0;
	if (!e)
		return 0;
	emit_flush(e);
	while (e->fd >= 0 && emitter_is_waiting(e) && clock_now_us() / 1000 < until &&
		poll(&out, 1, EMITTER_PATIENCE_MS) > 0)
		emit_flush(e);
	lost = e->lost + (e->fd >= 0 ? waiting_lines(e) : 0);
	if (error)
		*error = e->error;
	if (e->fd >= 0)
		close(e->fd);
	free(e);
	return lost;
}
