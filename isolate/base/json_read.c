/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON. See json_read.h.
 *
 * The gate has checked the grammar, so the reader only has to know where each value ends; every
 * index is checked against the length all the same, so that text which is no JSON ends in a short
 * answer and nothing else.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_read.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"

/* ---- strings ---- */

static unsigned hex4(const char *text)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		char c = text[i];

		value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value & 0xffff;
}

static size_t put_utf8(char *out, uint32_t point)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/*
 * Unescapes from text[from] to text[to] into out, which is never longer and may be the same place.
 * Returns how many bytes.
 */
static size_t unescape(const char *text, size_t from, size_t to, char *out)
{
	static const char NAMED[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
	size_t used = 0;

	while (from < to) {
		const char *named;
		uint32_t point;

		if (text[from] != '\\' || from + 1 >= to) {
			out[used++] = text[from++];
			continue;
		}
		named = strchr(NAMED, text[from + 1]);
		if (text[from + 1] != 'u' && named && *named) {
			out[used++] = MEANT[named - NAMED];
			from += 2;
			continue;
		}
		if (from + 6 > to)
			break;
		point = hex4(text + from + 2);
		from += 6;
		if (point >= 0xd800 && point < 0xdc00 && from + 6 <= to && text[from] == '\\') {
			point = 0x10000 + ((point - 0xd800) << 10) +
				((hex4(text + from + 2) - 0xdc00) & 0x3ff);
			from += 6;
		}
		used += put_utf8(out + used, point);
	}
	return used;
}

/* ---- values as slices of the text ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(const char *text, size_t length, size_t at)
{
	while (at < length && is_space(text[at]))
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

/* Cuts out the value at `at`; *at is behind it afterwards. */
static bool cut_value(struct json_slice in, size_t start, size_t *at, struct json_slice *value)
{
	size_t end = *at = skip_value(in.text, in.length, start);

	while (end > start && is_space(in.text[end - 1]))
		end--;
	*value = json_slice(in.text + start, end - start);
	return end > start;
}

/* Steps over the opening bracket, or the comma before the next member or item. */
static bool step_in(struct json_slice in, char bracket, size_t *at)
{
	size_t i = skip_space(in.text, in.length, *at);

	if (i >= in.length || in.text[i] != (*at == 0 ? bracket : ','))
		return false;
	*at = skip_space(in.text, in.length, i + 1);
	return *at < in.length && in.text[*at] != ']';
}

bool json_next(
	struct json_slice object, size_t *at, struct json_slice *key, struct json_slice *value)
{
	size_t i = *at, end;

	if (!step_in(object, '{', &i) || object.text[i] != '"')
		return false;
	end = skip_string(object.text, object.length, i);
	*key = json_slice(object.text + i + 1, end > i + 2 ? end - i - 2 : 0);
	i = skip_space(object.text, object.length, end);
	if (i >= object.length || object.text[i] != ':')
		return false;
	return cut_value(object, skip_space(object.text, object.length, i + 1), at, value);
}

bool json_item(struct json_slice array, size_t *at, struct json_slice *item)
{
	size_t i = *at;

	return step_in(array, '[', &i) && cut_value(array, i, at, item);
}

bool json_key_is(struct json_slice key, const char *name)
{
	return key.length == strlen(name) && memcmp(key.text, name, key.length) == 0;
}

struct json_slice json_get(struct json_slice object, const char *name)
{
	struct json_slice key, value;

	for (size_t at = 0; json_next(object, &at, &key, &value);)
		if (json_key_is(key, name))
			return value;
	return JSON_NONE;
}

enum json_kind json_kind(struct json_slice value)
{
	switch (value.length > 0 ? value.text[0] : 'n') {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return value.length > 1 ? JSON_STRING : JSON_NULL;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

bool json_is(struct json_slice value, const char *string)
{
	size_t length = strlen(string);

	return json_kind(value) == JSON_STRING && value.length == length + 2 &&
		memcmp(value.text + 1, string, length) == 0;
}

bool json_is_true(struct json_slice value)
{
	return json_kind(value) == JSON_TRUE;
}

bool json_is_null(struct json_slice value)
{
	return json_kind(value) == JSON_NULL;
}

bool json_copy(struct json_slice value, char *out, size_t size)
{
	if (json_kind(value) != JSON_STRING || value.length - 2 >= size ||
		memchr(value.text, '\\', value.length))
		return false;
	memcpy(out, value.text + 1, value.length - 2);
	out[value.length - 2] = '\0';
	return true;
}

bool json_decode(struct json_slice value, struct buffer *out)
{
	size_t start = out->length;

	if (json_kind(value) != JSON_STRING)
		return false;
	buffer_add(out, value.text + 1, value.length - 2);
	if (out->failed || !memchr(value.text, '\\', value.length))
		return true;
	out->length = start + unescape(out->data, start, out->length, out->data + start);
	out->data[out->length] = '\0';
	return true;
}

char *json_dup(struct json_slice value)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (!json_decode(value, &text) || text.failed)
		return NULL;
	if (!text.data)
		return strdup("");
	return memchr(text.data, '\0', text.length) ? NULL : steal_pointer(text.data);
}

char *json_dup_key(struct json_slice key)
{
	return json_dup(json_slice(key.text - 1, key.length + 2));
}

static bool decode_base64(struct json_slice value, struct buffer *out)
{
	_cleanup_free_ unsigned char *bytes =
		json_kind(value) == JSON_STRING ? malloc(value.length) : NULL;
	size_t length = 0;

	if (!bytes ||
		sodium_base642bin(bytes, value.length, value.text + 1, value.length - 2, NULL,
			&length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	buffer_add(out, bytes, length);
	return true;
}

bool json_get_bytes(struct json_slice object, const char *name, struct buffer *out)
{
	char coded[80];

	snprintf(coded, sizeof coded, "%s_b64", name);
	return decode_base64(json_get(object, coded), out) ||
		json_decode(json_get(object, name), out);
}

int64_t json_int(struct json_slice value, int64_t otherwise)
{
	char text[32], *end;
	int64_t number;

	if (value.length == 0 || value.length >= sizeof text)
		return otherwise;
	memcpy(text, value.text, value.length);
	text[value.length] = '\0';
	number = strtoll(text, &end, 10);
	return end == text ? otherwise : number;
}

double json_double(struct json_slice value, double otherwise)
{
	_cleanup_free_ char *text = strndup(value.text ? value.text : "", value.length);
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end = text;
	double number = text && c ? strtod_l(text, &end, c) : otherwise;

	if (c)
		freelocale(c);
	return end == text ? otherwise : number;
}

struct json_number json_read_number(struct json_slice value)
{
	struct json_number number = { .real = json_double(value, NAN) };
	char text[24] = "";

	assert(json_kind(value) == JSON_NUMBER);
	if (value.length < sizeof text)
		memcpy(text, value.text, value.length);
	if (strspn(text, "-0123456789") == value.length) {
		errno = 0;
		number.whole = strtoll(text, NULL, 10);
		number.is_whole = errno == 0;
	} else if (fabs(number.real) <= 0x1p53 && (double)(int64_t)number.real == number.real) {
		number.whole = (int64_t)number.real;
		number.is_whole = true;
	}
	return number;
}

int64_t json_time(struct json_slice value)
{
	struct tm parts = { .tm_isdst = 0 };
	int64_t nanoseconds = 0, unit = 100000000;
	char text[40];
	const char *rest;

	if (!json_copy(value, text, sizeof text) ||
		!(rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts)))
		return 0;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			nanoseconds += (*rest - '0') * unit;
	return (int64_t)timegm(&parts) * 1000000000 + nanoseconds;
}

void json_visible(struct json_slice value, struct buffer *out)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;

	if (json_decode(value, &bytes))
		text_visible(out, bytes.data, bytes.length, TEXT_ONE_LINE);
	else if (value.text)
		text_visible(out, value.text, value.length, TEXT_ONE_LINE);
}

/* ---- the whole document as nodes ---- */

#define NO_NODE UINT32_MAX

/*
 * Reading is one pass. Containers that are open are linked through their own nodes (end holds the
 * parent until it is known), so depth costs nothing.
 */
struct reading {
	struct json_tree *tree;
	const char *text;
	size_t length, at, used; /* used: of strings */
	uint32_t capacity;
	uint32_t open; /* innermost open container, or NO_NODE */
};

static struct json_node *new_node(struct reading *r, enum json_kind kind)
{
	struct json_tree *t = r->tree;
	struct json_node *grown;

	if (t->count == r->capacity) {
		uint32_t capacity = r->capacity ? r->capacity * 2 : 64;

		if (capacity > JSON_TREE_NODES_MAX) {
			errno = E2BIG;
			return NULL;
		}
		grown = realloc(t->nodes, capacity * sizeof *grown);
		if (!grown)
			return NULL;
		t->nodes = grown;
		r->capacity = capacity;
	}
	grown = &t->nodes[t->count++];
	*grown = (struct json_node){
		.kind = (uint8_t)kind, .end = t->count, .raw = { r->text + r->at, 0 }
	};
	return grown;
}

static int read_string(struct reading *r)
{
	struct json_node *node = new_node(r, JSON_STRING);
	size_t start = r->at + 1, after = skip_string(r->text, r->length, r->at),
	       end = after > start ? after - 1 : start;

	if (!node)
		return -1;
	node->bytes = r->text + start;
	node->length = (uint32_t)(end - start);
	if (memchr(node->bytes, '\\', node->length)) {
		if (!r->tree->strings && !(r->tree->strings = malloc(r->length)))
			return -1;
		node->bytes = r->tree->strings + r->used;
		node->length = (uint32_t)unescape(r->text, start, end, r->tree->strings + r->used);
		r->used += node->length;
	}
	r->at = after;
	node->raw.length = (size_t)(r->text + r->at - node->raw.text);
	return 0;
}

static int read_plain(struct reading *r)
{
	struct json_node *node = new_node(r, json_kind(json_slice(r->text + r->at, 1)));
	size_t end = r->at;

	if (!node)
		return -1;
	while (end < r->length && !strchr(" \t\r\n,]}:", r->text[end]))
		end++;
	if (end == r->at)
		end++;
	node->raw.length = end - r->at;
	r->at = end;
	return 0;
}

static int open_container(struct reading *r)
{
	struct json_node *node = new_node(r, r->text[r->at] == '{' ? JSON_OBJECT : JSON_ARRAY);

	if (!node)
		return -1;
	node->end = r->open;
	r->open = r->tree->count - 1;
	r->at++;
	return 0;
}

static void close_container(struct reading *r)
{
	struct json_node *node = &r->tree->nodes[r->open];
	uint32_t parent = node->end;

	assert(r->open < r->tree->count);

	r->at++;
	node->end = r->tree->count;
	node->raw.length = (size_t)(r->text + r->at - node->raw.text);
	r->open = parent;
}

int json_tree_read(struct json_tree *t, const char *text, size_t length)
{
	struct reading r = { .tree = t, .text = text, .length = length, .open = NO_NODE };
	int status = length < UINT32_MAX ? 0 : -1;

	*t = (struct json_tree){ .nodes = NULL };
	while (status == 0 && r.at < length) {
		char c = text[r.at];
		uint32_t parent = r.open;

		if (strchr(" \t\r\n,:", c)) {
			r.at++;
			continue;
		}
		if (c == ']' || c == '}') {
			if (r.open == NO_NODE)
				break;
			close_container(&r);
			continue;
		}
		status = c == '"'              ? read_string(&r)
			: c == '{' || c == '[' ? open_container(&r)
					       : read_plain(&r);
		if (status == 0 && parent != NO_NODE)
			t->nodes[parent].count++;
	}
	while (r.open != NO_NODE)
		close_container(&r);
	for (uint32_t i = 0; i < t->count; i++)
		if (t->nodes[i].kind == JSON_OBJECT)
			t->nodes[i].count /= 2;
	if (status == 0 && t->count > 0)
		return 0;
	json_tree_free(t);
	return -1;
}

void json_tree_free(struct json_tree *t)
{
	free(t->nodes);
	free(t->strings);
	*t = (struct json_tree){ .nodes = NULL };
}

bool json_tree_is(const struct json_tree *t, uint32_t string, const char *text)
{
	const struct json_node *node = &t->nodes[string];

	return node->kind == JSON_STRING && node->length == strlen(text) &&
		memcmp(node->bytes, text, node->length) == 0;
}

uint32_t json_tree_member(const struct json_tree *t, uint32_t object, const char *key)
{
	if (t->nodes[object].kind == JSON_OBJECT)
		for (uint32_t at = object + 1; at < t->nodes[object].end; at = t->nodes[at + 1].end)
			if (json_tree_is(t, at, key))
				return at + 1;
	return 0;
}

int json_tree_compare(const struct json_node *a, const struct json_node *b)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = shorter > 0 ? memcmp(a->bytes, b->bytes, shorter) : 0;

	return order ? order : a->length < b->length ? -1 : a->length > b->length;
}
