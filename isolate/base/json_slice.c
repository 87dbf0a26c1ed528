/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting values out of JSON. See json_slice.h. Every index is checked against the length, so text that is no JSON ends the search and nothing else. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_slice.h"

#include <string.h>

static size_t skip_space(const char *text, size_t length, size_t at)
{
	while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
		at++;
	return at;
}

/* From an opening quote to behind the closing one; length when there is none. */
static size_t skip_string(const char *text, size_t length, size_t at)
{
	for (at++; at < length && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < length ? at + 1 : length;
}

/* From the first byte of a value to behind its last. */
static size_t skip_value(const char *text, size_t length, size_t at)
{
	size_t depth = 0;

	if (at < length && text[at] == '"')
		return skip_string(text, length, at);
	while (at < length) {
		char c = text[at];

		if (c == '"') {
			at = skip_string(text, length, at);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		if ((c == '}' || c == ']' || c == ',') && depth == 0)
			break;
		at++;
		if ((c == '}' || c == ']') && --depth == 0)
			break;
	}
	return at;
}

bool json_slice_next(const char *object, size_t length, size_t *at, struct json_slice *key, struct json_slice *value)
{
	size_t i = skip_space(object, length, *at), end;

	if (i < length && (object[i] == (*at == 0 ? '{' : ',')))
		i = skip_space(object, length, i + 1);
	if (i >= length || object[i] != '"')
		return false;
	end = skip_string(object, length, i);
	*key = (struct json_slice){ object + i + 1, end > i + 2 ? end - i - 2 : 0 };
	i = skip_space(object, length, end);
	if (i >= length || object[i] != ':')
		return false;
	i = skip_space(object, length, i + 1);
	end = skip_value(object, length, i);
	*at = end;
	while (end > i && (object[end - 1] == ' ' || object[end - 1] == '\t' || object[end - 1] == '\n' || object[end - 1] == '\r'))
		end--;
	*value = (struct json_slice){ object + i, end - i };
	return end > i;
}

bool json_slice_item(const char *array, size_t length, size_t *at, struct json_slice *item)
{
	size_t i = skip_space(array, length, *at), end;

	if (i >= length || array[i] != (*at == 0 ? '[' : ','))
		return false;
	i = skip_space(array, length, i + 1);
	if (i >= length || array[i] == ']')
		return false;
	end = skip_value(array, length, i);
	*at = end;
	while (end > i && (array[end - 1] == ' ' || array[end - 1] == '\t' || array[end - 1] == '\n' || array[end - 1] == '\r'))
		end--;
	*item = (struct json_slice){ array + i, end - i };
	return end > i;
}

struct json_slice json_slice_of(const char *object, size_t length, const char *wanted)
{
	struct json_slice key, value;
	size_t at = 0, wanted_length = strlen(wanted);

	while (json_slice_next(object, length, &at, &key, &value))
		if (key.length == wanted_length && memcmp(key.text, wanted, wanted_length) == 0)
			return value;
	return (struct json_slice){ NULL, 0 };
}

bool json_slice_is(struct json_slice slice, const char *string)
{
	size_t length = strlen(string);

	return slice.text && slice.length == length + 2 && slice.text[0] == '"' && memcmp(slice.text + 1, string, length) == 0;
}

bool json_slice_copy(struct json_slice slice, char *out, size_t size)
{
	if (!slice.text || slice.length < 2 || slice.text[0] != '"' || slice.length - 2 >= size || memchr(slice.text, '\\', slice.length))
		return false;
	memcpy(out, slice.text + 1, slice.length - 2);
	out[slice.length - 2] = '\0';
	return true;
}
