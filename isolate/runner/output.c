/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON encoder for results.
 *
 * It writes straight into the bounded region that the answer travels in, so that a huge value fails
 * early and a full memory does not matter. It looks at the built-in contents of strings, numbers,
 * lists, tuples and dicts (and of subclasses of them) and calls no method that a body could have
 * defined, so nothing of the body runs while its answer is written. What JSON cannot say is refused
 * with the path to it.
 */
#include "isolate/runner/output.h"

#include "isolate/runner/output_path.h"

#include <stdbool.h>
#include <string.h>

enum { INTEGER_DIGITS_MOST = 4300 };

struct encoder {
	char *data;
	size_t size, length, limit;
	PyObject *ordered_dict; /* collections.OrderedDict when it is loaded, or NULL */
	struct output_failure *failure;
};

static int fail(struct encoder *e, const char *type, PyObject *message)
{
	PyErr_Clear();
	if (!message)
		type = "MemoryError";
	e->failure->type = type;
	e->failure->message = message;
	return -1;
}

static int too_large(struct encoder *e)
{
	return fail(e, "OutputTooLarge",
		PyUnicode_FromFormat("the value returned is longer than %zu bytes of JSON; return "
				     "less, or raise --output-limit",
			e->limit));
}

static int put(struct encoder *e, const char *bytes, size_t length)
{
	if (length > e->size - e->length)
		return too_large(e);
	memcpy(e->data + e->length, bytes, length);
	e->length += length;
	return 0;
}

/* Reads one code point of valid UTF-8 and moves past it. */
static uint32_t next_code_point(const unsigned char **at)
{
	const unsigned char *c = *at;
	int more = c[0] < 0x80 ? 0 : c[0] < 0xE0 ? 1 : c[0] < 0xF0 ? 2 : 3;
	uint32_t code = more == 0 ? c[0] : (uint32_t)(c[0] & (0x3F >> more));

	for (int i = 1; i <= more; i++)
		code = code << 6 | (c[i] & 0x3F);
	*at += more + 1;
	return code;
}

static int put_escaped(struct encoder *e, uint32_t code)
{
	char text[16];

	if (code >= 0x10000)
		PyOS_snprintf(text, sizeof text, "\\u%04x\\u%04x",
			(unsigned)(0xD800 + ((code - 0x10000) >> 10)),
			(unsigned)(0xDC00 + (code & 0x3FF)));
	else
		PyOS_snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
	return put(e, text, strlen(text));
}

static const char *short_escape(unsigned char c)
{
	static const char *const escapes[128] = {
		['"'] = "\\\"",
		['\\'] = "\\\\",
		['\n'] = "\\n",
		['\r'] = "\\r",
		['\t'] = "\\t",
		['\b'] = "\\b",
		['\f'] = "\\f",
	};

	return c < 128 ? escapes[c] : NULL;
}

static int put_utf8(struct encoder *e, const char *bytes, size_t length)
{
	const unsigned char *at = (const unsigned char *)bytes, *end = at + length, *plain = at;

	while (at < end) {
		const char *escape = short_escape(*at);

		if (*at >= 0x20 && *at < 0x7F && !escape) {
			at++;
			continue;
		}
		if (put(e, (const char *)plain, (size_t)(at - plain)) < 0)
			return -1;
		if (escape) {
			at++;
			if (put(e, escape, 2) < 0)
				return -1;
		} else if (put_escaped(e, next_code_point(&at)) < 0) {
			return -1;
		}
		plain = at;
	}
	return put(e, (const char *)plain, (size_t)(at - plain));
}

static int put_string(struct encoder *e, PyObject *text, const struct step *step)
{
	PyObject *bytes;
	char *data;
	Py_ssize_t length;
	int status = -1;

	if ((size_t)PyUnicode_GetLength(text) > e->size - e->length)
		return too_large(e);
	bytes = PyUnicode_AsUTF8String(text);
	if (!bytes) {
		if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
			return fail(e, "MemoryError", NULL);
		return fail(e, "ValueError",
			path_message(step, "holds a lone surrogate",
				"use text.encode('utf-8', 'replace').decode()"));
	}
	if (PyBytes_AsStringAndSize(bytes, &data, &length) == 0 && put(e, "\"", 1) == 0 &&
		put_utf8(e, data, (size_t)length) == 0)
		status = put(e, "\"", 1);
	Py_DECREF(bytes);
	return status;
}

/*
 * The digits of an int, whatever its subclass says of itself: a new reference, or NULL with the
 * failure set. Readers of JSON refuse a whole record for one number of more digits than Python
 * itself reads by default.
 */
static PyObject *int_text(struct encoder *e, PyObject *value, const struct step *step)
{
	PyObject *bits = PyObject_CallMethod((PyObject *)&PyLong_Type, "bit_length", "O", value),
		 *text = NULL;
	double most = bits ? PyLong_AsDouble(bits) * 0.30103 : 0;

	if (bits && most < INTEGER_DIGITS_MOST + 2)
		text = PyNumber_ToBase(value, 10);
	if (!bits ||
		(!text && most < INTEGER_DIGITS_MOST + 2 &&
			!PyErr_ExceptionMatches(PyExc_ValueError)))
		fail(e, "MemoryError", NULL);
	else if (!text ||
		PyUnicode_GetLength(text) >
			INTEGER_DIGITS_MOST + (PyUnicode_ReadChar(text, 0) == '-'))
		fail(e, "ValueError",
			path_message(step, "is an integer of more than 4300 digits",
				"return it as text in parts, or as hex(n)"));
	if (e->failure->type)
		Py_CLEAR(text);
	Py_XDECREF(bits);
	return text;
}

/* A float as JSON writes it: a new reference, or NULL with the failure set. */
static PyObject *float_text(struct encoder *e, PyObject *value, const struct step *step)
{
	double number = PyFloat_AsDouble(value);
	PyObject *result = NULL;
	char *text;

	if (number != number) {
		fail(e, "ValueError",
			path_message(step, "is NaN",
				"return None instead, or test with math.isfinite()"));
	} else if (number - number != 0) {
		fail(e, "ValueError",
			path_message(step, "is infinite",
				"return None or text instead, or test with math.isfinite()"));
	} else {
		text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
		result = text ? PyUnicode_FromString(text) : NULL;
		PyMem_Free(text);
		if (!result)
			fail(e, "MemoryError", NULL);
	}
	return result;
}

/* Puts a text of ASCII and drops it. */
static int put_plain(struct encoder *e, PyObject *text)
{
	PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
	int status = bytes ? put(e, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes)) : -1;

	Py_XDECREF(text);
	Py_XDECREF(bytes);
	return status;
}

static int put_value(struct encoder *e, PyObject *value, const struct step *step);

/* Refuses cycles and too deep nesting before a container is opened. */
static int check_container(struct encoder *e, const struct step *step)
{
	for (const struct step *up = step->up; up; up = up->up) {
		if (up->value == step->value)
			return fail(e, "ValueError",
				path_message(step, "contains itself",
					"return a structure without cycles"));
	}
	if (step->depth > OUTPUT_DEPTH_MOST)
		return fail(e, "ValueError",
			path_message(step, "is nested deeper than 512 levels",
				"return a flatter structure"));
	return 0;
}

static int put_sequence(struct encoder *e, PyObject *value, const struct step *step)
{
	bool is_list = PyList_Check(value);

	if (check_container(e, step) < 0 || put(e, "[", 1) < 0)
		return -1;
	for (Py_ssize_t i = 0; i < (is_list ? PyList_Size(value) : PyTuple_Size(value)); i++) {
		PyObject *item = is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i);
		struct step next = { step, item, NULL, i, step->depth + 1 };
		int status;

		Py_XINCREF(item);
		status = item && (i == 0 || put(e, ",", 1) == 0) ? put_value(e, item, &next) : -1;
		Py_XDECREF(item);
		if (status < 0)
			return -1;
	}
	return put(e, "]", 1);
}

/*
 * The text of a key, made of numbers and constants as json.dumps() makes it: a new reference, or
 * NULL with the failure set.
 */
static PyObject *key_text(struct encoder *e, PyObject *key, const struct step *place)
{
	PyObject *text;

	if (PyUnicode_Check(key))
		text = path_exact_text(key);
	else if (key == Py_None || key == Py_True || key == Py_False)
		text = PyUnicode_FromString(key == Py_None ? "null"
				: key == Py_True           ? "true"
							   : "false");
	else if (PyLong_Check(key))
		return int_text(e, key, place);
	else if (PyFloat_Check(key))
		return float_text(e, key, place);
	else {
		fail(e, "TypeError",
			path_message_text(place->up, path_type_text("has a key that is", key),
				"use text keys: {str(k): v for k, v in d.items()}"));
		return NULL;
	}
	if (!text)
		fail(e, "MemoryError", NULL);
	return text;
}

/*
 * Keys that are not exactly str can have the text of another one: seen (a set) keeps apart what was
 * written.
 */
static int check_key(
	struct encoder *e, PyObject *key, PyObject *text, PyObject **seen, const struct step *step)
{
	int found;

	if (PyUnicode_CheckExact(key))
		return 0;
	if (!*seen && !(*seen = path_exact_keys(step->value)))
		return fail(e, "MemoryError", NULL);
	found = PySet_Contains(*seen, text);
	if (found < 0 || (found == 0 && PySet_Add(*seen, text) < 0))
		return fail(e, "MemoryError", NULL);
	return found ? fail(e, "ValueError",
			       path_message(step, "has two keys with the same text",
				       "use plain str keys"))
		     : 0;
}

static int put_pair(struct encoder *e, PyObject *key, PyObject *value, bool first, PyObject **seen,
	const struct step *step)
{
	struct step next = { step, value, key, 0, step->depth + 1 };
	PyObject *text = key_text(e, key, &next);
	int status = -1;

	next.key = text;
	if (text && check_key(e, key, text, seen, step) == 0 && (first || put(e, ",", 1) == 0) &&
		put_string(e, text, &next) == 0 && put(e, ":", 1) == 0)
		status = put_value(e, value, &next);
	Py_XDECREF(text);
	return status;
}

/* The pairs of an OrderedDict, whose order is not that of the dict beneath it. */
static int put_ordered(struct encoder *e, PyObject *value, PyObject **seen, const struct step *step)
{
	PyObject *items = PyObject_CallMethod(e->ordered_dict, "items", "O", value),
		 *iterator = items ? PyObject_GetIter(items) : NULL, *pair;
	int status = iterator ? 0 : fail(e, "MemoryError", NULL);
	bool first = true;

	while (status == 0 && (pair = PyIter_Next(iterator))) {
		status = put_pair(
			e, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), first, seen, step);
		first = false;
		Py_DECREF(pair);
	}
	if (status == 0 && PyErr_Occurred())
		status = fail(e, "MemoryError", NULL);
	Py_XDECREF(items);
	Py_XDECREF(iterator);
	return status;
}

static int put_dict(struct encoder *e, PyObject *value, const struct step *step)
{
	PyObject *key, *item, *seen = NULL;
	Py_ssize_t at = 0;
	bool first = true;
	int status = check_container(e, step) < 0 || put(e, "{", 1) < 0 ? -1 : 0;

	if (status == 0 && e->ordered_dict &&
		PyType_IsSubtype(Py_TYPE(value), (PyTypeObject *)e->ordered_dict)) {
		status = put_ordered(e, value, &seen, step);
	} else {
		while (status == 0 && PyDict_Next(value, &at, &key, &item)) {
			Py_INCREF(key);
			Py_INCREF(item);
			status = put_pair(e, key, item, first, &seen, step);
			first = false;
			Py_DECREF(key);
			Py_DECREF(item);
		}
	}
	Py_XDECREF(seen);
	return status < 0 ? -1 : put(e, "}", 1);
}

static int put_value(struct encoder *e, PyObject *value, const struct step *step)
{
	if (value == Py_None)
		return put(e, "null", 4);
	if (value == Py_True)
		return put(e, "true", 4);
	if (value == Py_False)
		return put(e, "false", 5);
	if (PyUnicode_Check(value))
		return put_string(e, value, step);
	if (PyLong_Check(value))
		return put_plain(e, int_text(e, value, step));
	if (PyFloat_Check(value))
		return put_plain(e, float_text(e, value, step));
	if (PyDict_Check(value))
		return put_dict(e, value, step);
	if (PyList_Check(value) || PyTuple_Check(value))
		return put_sequence(e, value, step);
	return fail(e, "TypeError", path_type_message(step));
}

/* collections.OrderedDict, if it was imported. A new reference, or NULL without an exception. */
static PyObject *loaded_ordered_dict(void)
{
	PyObject *name = PyUnicode_FromString("collections"),
		 *module = name ? PyImport_GetModule(name) : NULL;
	PyObject *type = module ? PyObject_GetAttrString(module, "OrderedDict") : NULL;

	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(module);
	if (type && !PyType_IsSubtype(Py_TYPE(type), &PyType_Type))
		Py_CLEAR(type);
	return type;
}

int output_write(PyObject *value, char *data, size_t size, size_t limit, size_t *length,
	struct output_failure *failure)
{
	struct encoder e = { data, size, 0, limit, NULL, failure };
	struct step root = { NULL, value, NULL, 0, 1 };
	int status;

	*failure = (struct output_failure){ NULL, NULL };
	e.ordered_dict = loaded_ordered_dict();
	status = put_value(&e, value, &root);
	Py_XDECREF(e.ordered_dict);
	*length = e.length;
	if (status < 0 && !failure->type)
		fail(&e, "MemoryError", NULL);
	return status;
}
