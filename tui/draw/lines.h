/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text to be read page by page: output, source, records, help.
 *
 * Text becomes visible on its way in, so whatever takes it out again, to a screen or a file, has
 * nothing left to do. Nothing is cut: a line that is longer than fits one piece goes on in the
 * next, which says so. The whole is bounded where that was asked for; then the oldest lines go, and
 * are counted.
 */
#ifndef CORDON_TUI_DRAW_LINES_H
#define CORDON_TUI_DRAW_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/draw/cells.h"

struct line {
	char *text; /* owned; not terminated */
	uint32_t length;
	uint32_t number; /* of a line of source; 0: none */
	uint8_t style;
	bool continues; /* the rest of the line before */
	bool quoted;    /* foreign text, shown behind a mark */
};

struct lines {
	struct line *at; /* owned; those from start on are there */
	size_t start, end, capacity;
	uint64_t dropped;    /* lines dropped for the bound */
	size_t bytes, bound; /* 0: no bound */
	bool failed;         /* memory ran out and something is missing */
	bool quoting;        /* what is appended is quoted */
};

#define LINES_INIT \
	{ \
		NULL, 0, 0, 0, 0, 0, 0, false, false \
	}

void lines_free(struct lines *l);
void lines_clear(struct lines *l);
size_t lines_count(const struct lines *l);
const struct line *lines_at(const struct lines *l, size_t row);

/*
 * Appends foreign text, line by line; the last one may lack its newline. first_number: the number
 * of its first line, 0 for none.
 */
void lines_foreign(
	struct lines *l, enum style style, const char *text, size_t length, uint32_t first_number);

/* Appends foreign text without a newline to the last line. */
void lines_extend(struct lines *l, const char *text, size_t length);

/* Appends a line of our own; what is put into it must be visible already. "" for an empty one. */
void lines_print(struct lines *l, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Numbers as people read them. Each writes into text and returns it. */

#define FORMAT_MAX 32

/* 512B 9.6M 512M 1.5G, at most 5 columns */
char *format_bytes(int64_t bytes, char text[FORMAT_MAX]);
char *format_duration(int64_t ms, char text[FORMAT_MAX]);  /* 68ms 1.25s 2:05 3:10:00 */
char *format_count(uint64_t count, char text[FORMAT_MAX]); /* 1234567 as 1,234,567 */

/* Time of day in the local zone, with milliseconds: 12:00:01.250. */
char *format_clock(int64_t time_ns, char text[FORMAT_MAX]);

/* Date and time in the local zone: 2026-11-30 12:00:01. */
char *format_date(int64_t time_ns, char text[FORMAT_MAX]);

/* Since some other time: +1.250s. */
char *format_since(int64_t nanoseconds, char text[FORMAT_MAX]);

#endif
