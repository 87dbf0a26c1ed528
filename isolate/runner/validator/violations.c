/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collecting refusals and writing them as the record's error and error_detail.
 *
 * The list is a fixed array, so hostile text can make it neither long nor slow; texts in it are
 * made from identifiers of a parsed tree and from static strings, and are escaped by the JSON
 * writer on the way out.
 */
#include "isolate/runner/validator/violations.h"

#include <string.h>

#include "isolate/base/cleanup.h"

void violations_clear(struct violations *list)
{
	for (size_t i = 0; i < list->count; i++) {
		Py_CLEAR(list->items[i].name);
		Py_CLEAR(list->items[i].message);
		Py_CLEAR(list->items[i].rewrite_text);
	}
	list->count = 0;
	list->dropped = 0;
}

static bool already_there(
	const struct violations *list, enum rule rule, long line, long column, PyObject *name)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct violation *v = &list->items[i];

		if (v->rule != rule || v->line != line || v->column != column)
			continue;
		if (v->name == name || (v->name && name && PyUnicode_Compare(v->name, name) == 0))
			return true;
	}
	return false;
}

int violations_add(struct violations *list, enum rule rule, long line, long column, PyObject *name,
	PyObject *message, const char *rewrite, PyObject *rewrite_text)
{
	struct violation *v;

	if (!message) {
		Py_XDECREF(rewrite_text);
		return -1;
	}
	if (list->count == VIOLATIONS_MOST || already_there(list, rule, line, column, name)) {
		list->dropped += list->count == VIOLATIONS_MOST;
		Py_DECREF(message);
		Py_XDECREF(rewrite_text);
		return 0;
	}
	v = &list->items[list->count++];
	Py_XINCREF(name);
	*v = (struct violation){ rule, line, column, name, message, rewrite, rewrite_text };
	return 0;
}

void violations_sort(struct violations *list)
{
	/* Insertion sort: the list is short, nearly sorted, and equal places keep their order. */
	for (size_t i = 1; i < list->count; i++) {
		struct violation v = list->items[i];
		size_t j = i;

		while (j > 0 &&
			(list->items[j - 1].line > v.line ||
				(list->items[j - 1].line == v.line &&
					list->items[j - 1].column > v.column))) {
			list->items[j] = list->items[j - 1];
			j--;
		}
		list->items[j] = v;
	}
}

/* Copies UTF-8, with each line break (also those outside ASCII) as an escape. */
static void add_one_line(struct buffer *out, const char *bytes, size_t length)
{
	size_t start = 0;

	for (size_t i = 0; i < length; i++) {
		const unsigned char *c = (const unsigned char *)bytes + i;
		size_t width = 0;
		const char *escape = NULL;

		if (*c == '\n' || *c == '\r') {
			escape = *c == '\n' ? "\\n" : "\\r";
			width = 1;
		} else if (*c == 0xC2 && i + 1 < length && c[1] == 0x85) {
			escape = "\\x85";
			width = 2;
		} else if (*c == 0xE2 && i + 2 < length && c[1] == 0x80 &&
			(c[2] == 0xA8 || c[2] == 0xA9)) {
			escape = c[2] == 0xA8 ? "\\u2028" : "\\u2029";
			width = 3;
		}
		if (!escape)
			continue;
		buffer_add(out, bytes + start, i - start);
		buffer_add_text(out, escape);
		i += width - 1;
		start = i + 1;
	}
	buffer_add(out, bytes + start, length - start);
}

void buffer_add_str(struct buffer *out, PyObject *text, bool one_line)
{
	PyObject *bytes =
		text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
	char *data = NULL;
	Py_ssize_t length = 0;

	if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &length) < 0) {
		PyErr_Clear();
		buffer_add_text(out, "?");
	} else if (one_line) {
		add_one_line(out, data, (size_t)length);
	} else {
		buffer_add(out, data, (size_t)length);
	}
	Py_XDECREF(bytes);
}

void json_str(struct json_writer *w, PyObject *text)
{
	PyObject *bytes =
		text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
	char *data = NULL;
	Py_ssize_t length = 0;

	if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &length) < 0) {
		PyErr_Clear();
		json_null(w);
	} else {
		json_bytes(w, data, (size_t)length);
	}
	Py_XDECREF(bytes);
}

static void add_rewrite(const struct violation *v, struct buffer *out)
{
	if (v->rewrite_text)
		buffer_add_str(out, v->rewrite_text, true);
	else if (v->rewrite)
		buffer_add_text(out, v->rewrite);
}

/* "line 1: import of 'os' is not allowed" */
static void add_message(const struct violations *list, struct buffer *out)
{
	const struct violation *v = &list->items[0];
	size_t more = list->count + list->dropped - 1;

	if (v->line)
		buffer_printf(out, "line %ld: ", v->line);
	buffer_add_str(out, v->message, true);
	buffer_printf(out, " (rule %s)", rule_id(v->rule));
	if (v->rewrite || v->rewrite_text) {
		buffer_add_text(out, "; ");
		add_rewrite(v, out);
	}
	if (more)
		buffer_printf(out, " (and %zu more)", more);
}

void violations_summary(const struct violations *list, struct buffer *out)
{
	buffer_add_text(out, "ValidationError: ");
	add_message(list, out);
}

static void place(struct json_writer *w, const char *key, long value)
{
	json_key(w, key);
	if (value > 0)
		json_integer(w, value);
	else
		json_null(w);
}

static void one_violation(struct json_writer *w, const struct violation *v)
{
	json_open_object(w);
	json_key(w, "rule");
	json_string(w, rule_id(v->rule));
	json_key(w, "name");
	if (v->name)
		json_str(w, v->name);
	else
		json_null(w);
	json_key(w, "message");
	json_str(w, v->message);
	json_key(w, "rewrite");
	if (v->rewrite_text)
		json_str(w, v->rewrite_text);
	else
		json_string(w, v->rewrite);
	place(w, "line", v->line);
	place(w, "column", v->column);
	json_close_object(w);
}

void violations_detail(const struct violations *list, struct buffer *out)
{
	_cleanup_buffer_ struct buffer message = BUFFER_INIT;
	struct json_writer w;

	add_message(list, &message);
	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "stage");
	json_string(&w, "validate");
	json_key(&w, "type");
	json_string(&w, "ValidationError");
	json_key(&w, "message");
	json_bytes(&w, message.data ? message.data : "", message.length);
	place(&w, "line", list->items[0].line);
	place(&w, "column", list->items[0].column);
	json_key(&w, "traceback");
	json_open_array(&w);
	json_close_array(&w);
	json_key(&w, "violations");
	json_open_array(&w);
	for (size_t i = 0; i < list->count; i++)
		one_violation(&w, &list->items[i]);
	json_close_array(&w);
	json_key(&w, "violations_dropped");
	json_integer(&w, (int64_t)list->dropped);
	json_close_object(&w);
}
