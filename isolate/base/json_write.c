/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded buffer and the JSON writer.
 *
 * The buffer keeps one invariant: data[length] is NUL whenever there is data, and length never
 * exceeds the cap. A step that would break it is dropped whole, sets `failed`, and makes every
 * later step do nothing, so that half a document can never be taken for a whole one by a caller
 * that looks at `failed`.
 *
 * Strings are written so that the line is safe in a terminal as well as right for a parser:
 * characters that act on a terminal or hide in it (text_is_hidden) are written as \uXXXX, which
 * every parser reads back as the same character. Numbers never depend on the locale.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/text.h"

enum {
	FIRST_CAPACITY = 256,
	DEPTH_MAX = 31, /* levels 0 to 31, one bit of has_item each */
};
static const size_t DEFAULT_CAP = (size_t)1 << 30;

/*
 * Makes room for `more` bytes and the NUL. Returns false, and marks the buffer failed, when that
 * cannot be.
 */
static bool reserve(struct buffer *b, size_t more)
{
	size_t cap = b->cap ? b->cap : DEFAULT_CAP;
	size_t capacity = b->capacity ? b->capacity : FIRST_CAPACITY;
	char *data;

	if (b->failed)
		return false;
	if (b->length > cap || more > cap - b->length)
		goto fail;
	if (b->data && b->length + more < b->capacity)
		return true;
	while (capacity <= b->length + more)
		capacity *= 2; /* cannot overflow: length + more <= 1 GiB or the caller's own cap */
	if (capacity > cap + 1)
		capacity = cap + 1;
	data = realloc(b->data, capacity);
	if (!data)
		goto fail;
	b->data = data;
	b->capacity = capacity;
	return true;
fail:
	b->failed = true;
	return false;
}

void buffer_free(struct buffer *b)
{
	size_t cap = b->cap;

	free(b->data);
	*b = (struct buffer)BUFFER_INIT;
	b->cap = cap;
}

void buffer_add(struct buffer *b, const void *bytes, size_t length)
{
	if (length == 0 || !reserve(b, length))
		return;
	assert(b->length + length < b->capacity);
	memcpy(b->data + b->length, bytes, length);
	b->length += length;
	b->data[b->length] = '\0';
}

void buffer_add_text(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args;
	int wanted;

	va_start(args, format);
	wanted = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (wanted < 0) {
		b->failed = true;
		return;
	}
	if (wanted == 0 || !reserve(b, (size_t)wanted))
		return;
	va_start(args, format);
	vsnprintf(b->data + b->length, (size_t)wanted + 1, format, args);
	va_end(args);
	b->length += (size_t)wanted;
}

void json_begin(struct json_writer *w, struct buffer *out)
{
	*w = (struct json_writer){ .out = out };
}

/* Puts the comma before an item, and notes that this level now has one. */
static void begin_item(struct json_writer *w)
{
	uint32_t bit = UINT32_C(1) << w->depth;

	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->has_item & bit)
		buffer_add(w->out, ",", 1);
	w->has_item |= bit;
}

static void open_level(struct json_writer *w, const char *bracket)
{
	begin_item(w);
	if (w->depth == DEPTH_MAX) {
		w->out->failed = true;
		return;
	}
	buffer_add(w->out, bracket, 1);
	w->depth++;
	w->has_item &= ~(UINT32_C(1) << w->depth);
}

static void close_level(struct json_writer *w, const char *bracket)
{
	/*
	 * A key without its value, or a bracket too many, is a slip of the caller: no half document
	 * may leave.
	 */
	if (w->depth == 0 || w->after_key) {
		w->out->failed = true;
		return;
	}
	w->depth--;
	buffer_add(w->out, bracket, 1);
}

void json_open_object(struct json_writer *w)
{
	open_level(w, "{");
}

void json_close_object(struct json_writer *w)
{
	close_level(w, "}");
}

void json_open_array(struct json_writer *w)
{
	open_level(w, "[");
}

void json_close_array(struct json_writer *w)
{
	close_level(w, "]");
}

/*
 * Writes one UTF-16 unit as \uXXXX. By hand: a megabyte of NUL bytes in an output is a million of
 * these.
 */
static void add_unit(struct buffer *out, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', digits[unit >> 12 & 15], digits[unit >> 8 & 15],
		digits[unit >> 4 & 15], digits[unit & 15] };

	buffer_add(out, text, sizeof text);
}

/* Writes one character as an escape, above the first plane as a pair of them. */
static void add_escape(struct buffer *out, uint32_t code_point)
{
	static const char short_form[0x20] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'
	};
	char letter = code_point < 0x20                   ? short_form[code_point]
		: code_point == '"' || code_point == '\\' ? (char)code_point
							  : '\0';

	if (letter) {
		char pair[2] = { '\\', letter };

		buffer_add(out, pair, sizeof pair);
	} else if (code_point < 0x10000) {
		add_unit(out, code_point);
	} else {
		add_unit(out, 0xd800 + ((code_point - 0x10000) >> 10));
		add_unit(out, 0xdc00 + ((code_point - 0x10000) & 0x3ff));
	}
}

/*
 * Adds text with escapes for what hides or acts in a terminal, and for what a string may not hold
 * as it is, unless the text is JSON already.
 */
static void add_escaped(struct buffer *out, const void *text, size_t length, bool is_json)
{
	const unsigned char *bytes = text;
	size_t at = 0, plain = 0; /* bytes[plain..at) wait to be copied as they are */

	while (at < length && !out->failed) {
		unsigned char byte = bytes[at];
		uint32_t code_point = byte;
		size_t size = 1;

		if (byte >= 0x20 && byte < 0x7f && (is_json || (byte != '"' && byte != '\\'))) {
			at++;
			continue;
		}
		if (byte >= 0x80) {
			size = text_decode(bytes + at, length - at, &code_point, NULL);
			if (size != 0 && !text_is_hidden(code_point)) {
				at += size;
				continue;
			}
		}
		buffer_add(out, bytes + plain, at - plain);
		if (size == 0) {
			buffer_add(out, "\xef\xbf\xbd", 3); /* U+FFFD */
			size = 1;
		} else {
			add_escape(out, code_point);
		}
		at += size;
		plain = at;
	}
	buffer_add(out, bytes + plain, at - plain);
}

static void add_string(struct buffer *out, const void *text, size_t length)
{
	buffer_add(out, "\"", 1);
	add_escaped(out, text, length, false);
	buffer_add(out, "\"", 1);
}

void json_add_visible(struct buffer *out, const char *json, size_t length)
{
	add_escaped(out, json, length, true);
}

void json_key(struct json_writer *w, const char *key)
{
	if (w->after_key)
		w->out->failed = true;
	begin_item(w);
	add_string(w->out, key, strlen(key));
	buffer_add(w->out, ":", 1);
	w->after_key = true;
}

void json_bytes(struct json_writer *w, const void *bytes, size_t length)
{
	begin_item(w);
	add_string(w->out, length ? bytes : "", length); /* an empty buffer's data may be NULL */
}

void json_string(struct json_writer *w, const char *text)
{
	if (text)
		json_bytes(w, text, strlen(text));
	else
		json_null(w);
}

void json_integer(struct json_writer *w, int64_t value)
{
	begin_item(w);
	buffer_printf(w->out, "%" PRId64, value);
}

void json_real(struct json_writer *w, double value, int decimals)
{
	char text[400], number[400];
	size_t length = 0;

	if (!isfinite(value)) { /* JSON has no word for it */
		json_null(w);
		return;
	}
	if (decimals < 0 || decimals > 17)
		decimals = 17;
	begin_item(w);
	snprintf(text, sizeof text, "%.*f", decimals, value);
	/* The radix character is the locale's, and may be several bytes long. */
	for (const char *p = text; *p; p++) {
		if ((*p >= '0' && *p <= '9') || *p == '-')
			number[length++] = *p;
		else if (length > 0 && number[length - 1] != '.')
			number[length++] = '.';
	}
	buffer_add(w->out, number, length);
}

void json_bool(struct json_writer *w, bool value)
{
	begin_item(w);
	buffer_add_text(w->out, value ? "true" : "false");
}

void json_null(struct json_writer *w)
{
	begin_item(w);
	buffer_add_text(w->out, "null");
}

void json_raw(struct json_writer *w, const void *bytes, size_t length)
{
	if (length == 0)
		w->out->failed = true; /* no text is no value */
	begin_item(w);
	buffer_add(w->out, bytes, length);
}
