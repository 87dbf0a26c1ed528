/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event says on one line, by the templates of rows.def, and whether a line has the words of
 * a filter.
 *
 * Every value goes through the sanitiser as it is put in; a value cannot bring a brace that would
 * be read as a field, because what was put in is not read again.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "isolate/base/text.h"
#include "tui/draw/lines.h"
#include "tui/model/log.h"
#include "isolate/base/json_read.h"

static const struct log_row ROWS[] = {
#define ROW(type, style, word, template) { type, style, word, template },
#include "tui/model/rows.def"
#undef ROW
};

const struct log_row *log_row_for(struct json_slice type)
{
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		if (json_is(type, ROWS[i].type))
			return &ROWS[i];
	return NULL;
}

/*
 * One {name} or {name:form}, of which at is behind the brace. Returns whether the field was there.
 */
static bool add_field(struct json_slice data, const char *at, size_t length, struct buffer *out)
{
	const char *colon = memchr(at, ':', length);
	char name[40], form[8] = "", text[32];
	struct buffer bytes = BUFFER_INIT;
	struct json_slice value;

	snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - at : (ptrdiff_t)length), at);
	if (colon)
		snprintf(form, sizeof form, "%.*s", (int)(at + length - colon - 1), colon + 1);
	value = json_get(data, name);
	if (json_is_null(value))
		return false;
	if (strcmp(form, "x") == 0 && json_int(value, 0) <= 1)
		return false;
	if (strcmp(form, "B") == 0) {
		buffer_add_text(out, format_bytes(json_int(value, 0), text));
	} else if (strcmp(form, "ms") == 0) {
		buffer_add_text(out, format_duration(json_int(value, 0), text));
	} else if (json_kind(value) == JSON_STRING && json_get_bytes(data, name, &bytes)) {
		if (form[0] == '8')
			text_visible(out, bytes.data, bytes.length < 8 ? bytes.length : 8,
				TEXT_ONE_LINE);
		else if (bytes.length > 0 &&
			bytes.data[bytes.length - 1] ==
				'\n') /* of output, the newline at its end says nothing */
			text_visible(out, bytes.data, bytes.length - 1, TEXT_ONE_LINE);
		else
			text_visible(out, bytes.data, bytes.length, TEXT_ONE_LINE);
	} else if (json_kind(value) == JSON_ARRAY) {
		struct json_slice item;

		for (size_t i = 0, count = 0; json_item(value, &i, &item); count++) {
			buffer_add(out, ",", count > 0);
			json_visible(item, out);
		}
	} else {
		json_visible(value, out);
	}
	buffer_free(&bytes);
	return true;
}

void log_describe(const struct log_row *row, struct json_slice event, struct buffer *out)
{
	struct json_slice data = json_get(event, "data");
	size_t group = 0;     /* length of out where the group began */
	bool complete = true; /* whether every field of the group was there */

	if (!row) {
		json_visible(data, out);
		return;
	}
	for (const char *at = row->template; *at; at++) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;

		if (end) {
			complete &= add_field(data, at + 1, (size_t)(end - at - 1), out);
			at = end;
		} else if (*at == '<') {
			group = out->length;
			complete = true;
		} else if (*at == '>') {
			if (!complete && !out->failed)
				out->length = group;
			if (out->data && !out->failed)
				out->data[out->length] = '\0';
		} else {
			buffer_add(out, at, 1);
		}
	}
}

bool log_matches(const char *words, const char *text)
{
	char word[LOG_FILTER_MAX];

	for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		bool none = at[0] == '!' && length > 1;

		snprintf(word, sizeof word, "%.*s", (int)(length - none), at + none);
		if ((strcasestr(text, word) != NULL) == none)
			return false;
		at += length;
	}
	return true;
}
