/* SPDX-License-Identifier: Apache-2.0 */
/* Lines. See lines.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_write.h"
#include "isolate/base/text.h"

#define PIECE 1024 /* most bytes of one piece of a line */

static void drop_first(struct lines *l)
{
	struct line *first = &l->at[l->start++];

	l->bytes -= first->length;
	free(first->text);
	l->dropped++;
}

void lines_clear(struct lines *l)
{
	while (l->start < l->end)
		drop_first(l);
	l->start = l->end = 0;
	l->dropped = 0;
	l->failed = l->quoting = false;
}

void lines_free(struct lines *l)
{
	lines_clear(l);
	free(l->at);
	*l = (struct lines)LINES_INIT;
}

size_t lines_count(const struct lines *l)
{
	return l->end - l->start;
}

const struct line *lines_at(const struct lines *l, size_t row)
{
	return row < lines_count(l) ? &l->at[l->start + row] : NULL;
}

static bool make_room(struct lines *l)
{
	size_t capacity = l->capacity ? l->capacity * 2 : 64;
	struct line *at;

	if (l->end < l->capacity)
		return true;
	if (l->start > l->capacity / 2) {
		memmove(l->at, l->at + l->start, (l->end - l->start) * sizeof *l->at);
		l->end -= l->start;
		l->start = 0;
		return true;
	}
	at = realloc(l->at, capacity * sizeof *at);
	if (!at)
		return false;
	l->at = at;
	l->capacity = capacity;
	return true;
}

static void add_piece(struct lines *l, enum style style, const char *text, size_t length,
	uint32_t number, bool continues)
{
	char *copy = malloc(length + 1);

	if (!copy || !make_room(l)) {
		free(copy);
		l->failed = true;
		return;
	}
	memcpy(copy, text, length);
	l->at[l->end++] = (struct line){ copy, (uint32_t)length, number, (uint8_t)style, continues,
		l->quoting };
	l->bytes += length;
	while (l->bound && l->bytes > l->bound && lines_count(l) > 1)
		drop_first(l);
}

/*
 * Where visible text can be cut: before a character that starts a cell, so that no mark loses its
 * base.
 */
static size_t cut(const char *text, size_t length)
{
	size_t at = PIECE;

	if (length <= PIECE)
		return length;
	while (at > PIECE / 2 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static void add_visible(
	struct lines *l, enum style style, const char *text, size_t length, uint32_t number)
{
	size_t at = 0;

	do {
		size_t piece = cut(text + at, length - at);

		add_piece(l, style, text + at, piece, at ? 0 : number, at > 0);
		at += piece;
	} while (at < length);
}

void lines_foreign(
	struct lines *l, enum style style, const char *text, size_t length, uint32_t first_number)
{
	_cleanup_buffer_ struct buffer visible = BUFFER_INIT;
	uint32_t number = first_number;

	text_visible(&visible, text, length, TEXT_LINES);
	l->failed |= visible.failed;
	for (size_t at = 0; at < visible.length;) {
		const char *newline = memchr(visible.data + at, '\n', visible.length - at);
		size_t end = newline ? (size_t)(newline - visible.data) : visible.length;

		add_visible(l, style, visible.data + at, end - at, number);
		number += number > 0;
		at = end + 1;
	}
}

void lines_extend(struct lines *l, const char *text, size_t length)
{
	struct line *last = l->end > l->start ? &l->at[l->end - 1] : NULL;
	struct buffer visible = BUFFER_INIT;
	char *grown;

	if (!last || length == 0)
		return;
	text_visible(&visible, text, length, TEXT_ONE_LINE);
	grown = visible.failed || last->length + visible.length > PIECE
		? NULL
		: realloc(last->text, last->length + visible.length + 1);
	if (grown) {
		memcpy(grown + last->length, visible.data, visible.length);
		last->text = grown;
		last->length += (uint32_t)visible.length;
		l->bytes += visible.length;
	} else if (visible.length > 0) {
		size_t first = l->end;

		add_visible(l, (enum style)last->style, visible.data, visible.length, 0);
		if (first < l->end)
			l->at[first].continues = true;
	}
	buffer_free(&visible);
}

void lines_print(struct lines *l, enum style style, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		l->failed = true;
		return;
	}
	add_visible(l, style, text, (size_t)length, 0);
	free(text);
}

/* ---- format ---- */

char *format_bytes(int64_t bytes, char text[FORMAT_MAX])
{
	static const char UNITS[] = "BKMGTP";
	double value = bytes < 0 ? 0 : (double)bytes;
	int unit = 0;

	while (value >= 1000 && UNITS[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(text, FORMAT_MAX, unit > 0 && value < 99.95 ? "%.1f%c" : "%.0f%c", value,
		UNITS[unit]);
	return text;
}

char *format_duration(int64_t ms, char text[FORMAT_MAX])
{
	ms = ms < 0 ? 0 : ms;
	if (ms < 1000)
		snprintf(text, FORMAT_MAX, "%" PRId64 "ms", ms);
	else if (ms < 60000)
		snprintf(text, FORMAT_MAX, "%" PRId64 ".%02" PRId64 "s", ms / 1000, ms / 10 % 100);
	else if (ms < 3600000)
		snprintf(text, FORMAT_MAX, "%" PRId64 ":%02" PRId64, ms / 60000, ms / 1000 % 60);
	else
		snprintf(text, FORMAT_MAX, "%" PRId64 ":%02" PRId64 ":%02" PRId64, ms / 3600000,
			ms / 60000 % 60, ms / 1000 % 60);
	return text;
}

char *format_count(uint64_t count, char text[FORMAT_MAX])
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

static void local(int64_t time_ns, struct tm *parts)
{
	time_t seconds = (time_t)(time_ns / 1000000000);

	if (!localtime_r(&seconds, parts))
		memset(parts, 0, sizeof *parts);
}

char *format_clock(int64_t time_ns, char text[FORMAT_MAX])
{
	struct tm parts;

	local(time_ns, &parts);
	snprintf(text, FORMAT_MAX, "%02d:%02d:%02d.%03d", parts.tm_hour % 100, parts.tm_min % 100,
		parts.tm_sec % 100, (int)(time_ns / 1000000 % 1000));
	return text;
}

char *format_date(int64_t time_ns, char text[FORMAT_MAX])
{
	struct tm parts;

	local(time_ns, &parts);
	if (strftime(text, FORMAT_MAX, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		text[0] = '\0';
	return text;
}

char *format_since(int64_t nanoseconds, char text[FORMAT_MAX])
{
	char amount[FORMAT_MAX - 2];
	int64_t ms = (nanoseconds < 0 ? -nanoseconds : nanoseconds) / 1000000;

	if (ms < 60000)
		snprintf(amount, sizeof amount, "%" PRId64 ".%03" PRId64 "s", ms / 1000, ms % 1000);
	else
		snprintf(amount, sizeof amount, "%" PRId64 ":%02" PRId64 ".%03" PRId64, ms / 60000,
			ms / 1000 % 60, ms % 1000);
	snprintf(text, FORMAT_MAX, "%c%s", nanoseconds < 0 ? '-' : '+', amount);
	return text;
}
