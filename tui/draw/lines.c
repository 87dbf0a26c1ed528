/* SPDX-License-Identifier: Apache-2.0 */
/* Lines. See lines.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void add_piece(struct lines *l, enum style style, const char *text, size_t length, uint32_t number, bool continues)
{
	char *copy = malloc(length + 1);

	if (!copy || !make_room(l)) {
		free(copy);
		l->failed = true;
		return;
	}
	memcpy(copy, text, length);
	l->at[l->end++] = (struct line){ copy, (uint32_t)length, number, (uint8_t)style, continues, l->quoting };
	l->bytes += length;
	while (l->bound && l->bytes > l->bound && lines_count(l) > 1)
		drop_first(l);
}

/* Where visible text can be cut: before a character that starts a cell, so that no mark loses its base. */
static size_t cut(const char *text, size_t length)
{
	size_t at = PIECE;

	if (length <= PIECE)
		return length;
	while (at > PIECE / 2 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static void add_visible(struct lines *l, enum style style, const char *text, size_t length, uint32_t number)
{
	size_t at = 0;

	do {
		size_t piece = cut(text + at, length - at);

		add_piece(l, style, text + at, piece, at ? 0 : number, at > 0);
		at += piece;
	} while (at < length);
}

void lines_foreign(struct lines *l, enum style style, const char *text, size_t length, uint32_t first_number)
{
	struct buffer visible = BUFFER_INIT;
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
	buffer_free(&visible);
}

void lines_extend(struct lines *l, const char *text, size_t length)
{
	struct line *last = l->end > l->start ? &l->at[l->end - 1] : NULL;
	struct buffer visible = BUFFER_INIT;
	char *grown;

	if (!last || length == 0)
		return;
	text_visible(&visible, text, length, TEXT_ONE_LINE);
	grown = visible.failed || last->length + visible.length > PIECE ? NULL : realloc(last->text, last->length + visible.length + 1);
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
