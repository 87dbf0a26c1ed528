/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values out of JSON. See value.h. The gate has checked the grammar; lengths are checked here all
 * the same, so that a mistake elsewhere ends in a short text.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"

struct json_slice value_of(struct json_slice object, const char *name)
{
	if (!object.text || object.length == 0 || object.text[0] != '{')
		return (struct json_slice){ NULL, 0 };
	return json_slice_of(object.text, object.length, name);
}

static unsigned hex4(const char *text)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		char c = text[i];

		value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value & 0xffff;
}

static void add_utf8(struct buffer *out, uint32_t c)
{
	char bytes[4];
	size_t length;

	if (c < 0x80) {
		bytes[0] = (char)c;
		length = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		length = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		length = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (c & 0x3f));
		length = 4;
	}
	buffer_add(out, bytes, length);
}

/* Appends what one escape stands for. at is behind the backslash; returns where it ends. */
static size_t add_escape(struct buffer *out, const char *text, size_t length, size_t at)
{
	static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
	const char *known = strchr(FROM, text[at]);
	uint32_t c;

	if (text[at] != 'u') {
		buffer_add(out, known && text[at] ? &TO[known - FROM] : &text[at], 1);
		return at + 1;
	}
	if (at + 5 > length)
		return length;
	c = hex4(text + at + 1);
	at += 5;
	if (c >= 0xd800 && c < 0xdc00 && at + 6 <= length && text[at] == '\\' &&
		text[at + 1] == 'u') {
		c = 0x10000 + ((c & 0x3ff) << 10) + (hex4(text + at + 2) & 0x3ff);
		at += 6;
	}
	add_utf8(out, c);
	return at;
}

bool value_string(struct json_slice value, struct buffer *out)
{
	size_t end = value.length ? value.length - 1 : 0, at = 1;

	if (!value.text || value.length < 2 || value.text[0] != '"')
		return false;
	while (at < end) {
		const char *escape = memchr(value.text + at, '\\', end - at);
		size_t plain = escape ? (size_t)(escape - value.text) : end;

		buffer_add(out, value.text + at, plain - at);
		at = plain;
		if (escape && at + 1 < end)
			at = add_escape(out, value.text, end, at + 1);
		else if (escape)
			break;
	}
	return true;
}

static bool add_base64(struct json_slice value, struct buffer *out)
{
	size_t room = value.length, length = 0;
	unsigned char *bytes;
	bool valid;

	if (!value.text || value.length < 2 || value.text[0] != '"' || !(bytes = malloc(room)))
		return false;
	valid = sodium_base642bin(bytes, room, value.text + 1, value.length - 2, NULL, &length,
			NULL, sodium_base64_VARIANT_ORIGINAL) == 0;
	if (valid)
		buffer_add(out, bytes, length);
	free(bytes);
	return valid;
}

bool value_bytes(struct json_slice object, const char *name, struct buffer *out)
{
	char coded[80];

	snprintf(coded, sizeof coded, "%s_b64", name);
	return add_base64(value_of(object, coded), out) ||
		value_string(value_of(object, name), out);
}

int64_t value_number(struct json_slice value, int64_t otherwise)
{
	char text[32];
	char *end;
	long long number;

	if (!value.text || value.length == 0 || value.length >= sizeof text)
		return otherwise;
	memcpy(text, value.text, value.length);
	text[value.length] = '\0';
	number = strtoll(text, &end, 10);
	return end == text ? otherwise : number;
}

bool value_is_true(struct json_slice value)
{
	return value.text && value.length == 4 && memcmp(value.text, "true", 4) == 0;
}

bool value_is_null(struct json_slice value)
{
	return !value.text || (value.length == 4 && memcmp(value.text, "null", 4) == 0);
}

/*
 * Wrapped as the one member after another that json_slice_next walks, arrays being objects without
 * keys.
 */
bool value_item(struct json_slice array, size_t *at, struct json_slice *item)
{
	size_t i = *at, depth = 0;

	if (!array.text || array.length < 2 || array.text[0] != '[')
		return false;
	i = i == 0 ? 1 : i;
	while (i < array.length && strchr(" \t\r\n,", array.text[i]))
		i++;
	if (i + 1 >= array.length)
		return false;
	item->text = array.text + i;
	for (bool quoted = false; i + 1 < array.length; i++) {
		char c = array.text[i];

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
			continue;
		}
		if (c == ',' && depth == 0)
			break;
		quoted = c == '"';
		depth += c == '{' || c == '[';
		depth -= depth > 0 && (c == '}' || c == ']');
	}
	i = i < array.length ? i : array.length - 1;
	item->length = (size_t)(array.text + i - item->text);
	while (item->length > 0 && strchr(" \t\r\n", item->text[item->length - 1]))
		item->length--;
	*at = i;
	return item->length > 0;
}

void value_shown(struct json_slice value, struct buffer *out)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;

	if (value_string(value, &bytes))
		text_visible(out, bytes.data, bytes.length, TEXT_ONE_LINE);
	else if (value.text)
		text_visible(out, value.text, value.length, TEXT_ONE_LINE);
}

void value_safe_json(struct json_slice value, struct buffer *out)
{
	size_t at = 0, plain = 0;

	while (at < value.length) {
		uint32_t c;
		size_t step;

		if (value.text[at] >= 0x20 && value.text[at] < 0x7f) {
			at++;
			continue;
		}
		step = text_decode(
			(const unsigned char *)value.text + at, value.length - at, &c, NULL);
		if (step == 0)
			c = 0xfffd;
		if (step == 0 || text_is_hidden(c)) {
			buffer_add(out, value.text + plain, at - plain);
			if (c >= 0x10000)
				buffer_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
					0xdc00 + ((c - 0x10000) & 0x3ff));
			else
				buffer_printf(out, "\\u%04x", c);
			plain = at + (step ? step : 1);
		}
		at += step ? step : 1;
	}
	buffer_add(out, value.text + plain, at - plain);
}

int64_t value_time(struct json_slice value)
{
	struct tm parts = { .tm_isdst = 0 };
	char text[40] = "";
	int64_t nanoseconds = 0;
	const char *rest;

	if (!json_slice_copy(value, text, sizeof text))
		return 0;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
	if (!rest)
		return 0;
	if (*rest == '.') {
		int64_t unit = 100000000;

		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			nanoseconds += (*rest - '0') * unit;
	}
	return (int64_t)timegm(&parts) * 1000000000 + nanoseconds;
}
