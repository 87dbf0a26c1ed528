/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON encoder for results.
 *
 * It writes straight into the bounded region that the answer travels in, so that a huge value fails early and a full memory does not
 * matter. It looks at the built-in contents of strings, numbers, lists, tuples and dicts (and of subclasses of them) and calls no method
 * that a body could have defined, so nothing of the body runs while its answer is written. What JSON cannot say is refused with the path to
 * it.
 */
#include "isolate/runner/output.h"

#include "isolate/runner/output_path.h"

#include <stdbool.h>
#include <string.h>

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
		PyUnicode_FromFormat(
			"the value returned is longer than %zu bytes of JSON; return less, or raise --output-limit", e->limit));
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
		PyOS_snprintf(text, sizeof text, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((code - 0x10000) >> 10)),
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
		return fail(e, "ValueError", path_message(step, "holds a lone surrogate", "use text.encode('utf-8', 'replace').decode()"));
	}
	if (PyBytes_AsStringAndSize(bytes, &data, &length) == 0 && put(e, "\"", 1) == 0 && put_utf8(e, data, (size_t)length) == 0)
		status = put(e, "\"", 1);
	Py_DECREF(bytes);
	return status;
}

static int put_int(struct encoder *e, PyObject *value)
{
	PyObject *text = NULL, *bytes = NULL, *bits = PyObject_CallMethod((PyObject *)&PyLong_Type, "bit_length", "O", value);
	double digits = bits ? PyLong_AsDouble(bits) * 0.30103 : 0;
	int status = -1;

	if (digits > (double)(e->size - e->length)) {
		status = too_large(e);
	} else if (bits && (text = PyNumber_ToBase(value, 10)) && (bytes = PyUnicode_AsUTF8String(text))) {
		status = put(e, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
	} else {
		status = fail(e, "MemoryError", NULL);
	}
	Py_XDECREF(bits);
	Py_XDECREF(text);
	Py_XDECREF(bytes);
	return status;
}

static int put_float(struct encoder *e, PyObject *value, const struct step *step)
{
	double number = PyFloat_AsDouble(value);
	char *text;
	int status;

	if (number != number)
		return fail(e, "ValueError", path_message(step, "is NaN", "return None instead, or test with math.isfinite()"));
	if (number - number != 0)
		return fail(
			e, "ValueError", path_message(step, "is infinite", "return None or text instead, or test with math.isfinite()"));
	text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
	if (!text)
		return fail(e, "MemoryError", NULL);
	status = put(e, text, strlen(text));
	PyMem_Free(text);
	return status;
}

static int put_value(struct encoder *e, PyObject *value, const struct step *step);

/* Refuses cycles and too deep nesting before a container is opened. */
static int check_container(struct encoder *e, const struct step *step)
{
	for (const struct step *up = step->up; up; up = up->up) {
		if (up->value == step->value)
			return fail(e, "ValueError", path_message(step, "contains itself", "return a structure without cycles"));
	}
	if (step->depth > OUTPUT_DEPTH_MOST)
		return fail(e, "ValueError", path_message(step, "is nested deeper than 512 levels", "return a flatter structure"));
	return 0;
}

static int put_sequence(struct encoder *e, PyObject *value, const struct step *step)
{
	bool is_list = PyList_Check(value);

	if (check_container(e, step) < 0 || put(e, "[", 1) < 0)
		return -1;
	for (Py_ssize_t i = 0; i < (is_list ? PyList_Size(value) : PyTuple_Size(value)); i++) {
		PyObject *item = is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i);
		struct step next = {step, item, NULL, i, step->depth + 1};
		int status;

		Py_XINCREF(item);
		status = item && (i == 0 || put(e, ",", 1) == 0) ? put_value(e, item, &next) : -1;
		Py_XDECREF(item);
		if (status < 0)
			return -1;
	}
	return put(e, "]", 1);
}

/* Keys that are subclasses of str can be unequal and still have the same text: seen (a set) keeps apart what was written. */
static int check_key(struct encoder *e, PyObject *key, PyObject **seen, const struct step *step)
{
	PyObject *plain, *problem;
	int found = 1;

	if (!PyUnicode_Check(key)) {
		problem = path_type_text("has a key that is", key);
		return fail(e, "TypeError", path_message_text(step, problem, "use text keys: {str(k): v for k, v in d.items()}"));
	}
	if (!*seen && PyUnicode_CheckExact(key))
		return 0;
	if (!*seen && !(*seen = path_exact_keys(step->value)))
		return fail(e, "MemoryError", NULL);
	if (PyUnicode_CheckExact(key))
		return 0;
	plain = path_exact_text(key);
	if (plain)
		found = PySet_Contains(*seen, plain);
	if (!plain || found < 0 || (found == 0 && PySet_Add(*seen, plain) < 0)) {
		Py_XDECREF(plain);
		return fail(e, "MemoryError", NULL);
	}
	Py_DECREF(plain);
	return found ? fail(e, "ValueError", path_message(step, "has two keys with the same text", "use plain str keys")) : 0;
}

static int put_pair(struct encoder *e, PyObject *key, PyObject *value, bool first, PyObject **seen, const struct step *step)
{
	struct step next = {step, value, key, 0, step->depth + 1};

	if (check_key(e, key, seen, step) < 0 || (!first && put(e, ",", 1) < 0) || put_string(e, key, &next) < 0 || put(e, ":", 1) < 0)
		return -1;
	return put_value(e, value, &next);
}

/* The pairs of an OrderedDict, whose order is not that of the dict beneath it. */
static int put_ordered(struct encoder *e, PyObject *value, PyObject **seen, const struct step *step)
{
	PyObject *items = PyObject_CallMethod(e->ordered_dict, "items", "O", value), *iterator = items ? PyObject_GetIter(items) : NULL,
		 *pair;
	int status = iterator ? 0 : fail(e, "MemoryError", NULL);
	bool first = true;

	while (status == 0 && (pair = PyIter_Next(iterator))) {
		status = put_pair(e, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), first, seen, step);
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

	if (status == 0 && e->ordered_dict && PyType_IsSubtype(Py_TYPE(value), (PyTypeObject *)e->ordered_dict)) {
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
		return put_int(e, value);
	if (PyFloat_Check(value))
		return put_float(e, value, step);
	if (PyDict_Check(value))
		return put_dict(e, value, step);
	if (PyList_Check(value) || PyTuple_Check(value))
		return put_sequence(e, value, step);
	return fail(e, "TypeError", path_type_message(step));
}

/* collections.OrderedDict, if anybody has loaded it. A new reference, or NULL without an exception. */
static PyObject *loaded_ordered_dict(void)
{
	PyObject *name = PyUnicode_FromString("collections"), *module = name ? PyImport_GetModule(name) : NULL;
	PyObject *type = module ? PyObject_GetAttrString(module, "OrderedDict") : NULL;

	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(module);
	if (type && !PyType_IsSubtype(Py_TYPE(type), &PyType_Type))
		Py_CLEAR(type);
	return type;
}

/* Lifts the interpreter's own limit on digits (3.11 on); ours is the size of the output. */
static void lift_digit_limit(void)
{
	PyObject *set = PySys_GetObject("set_int_max_str_digits"), *done = set ? PyObject_CallFunction(set, "i", 0) : NULL;

	PyErr_Clear();
	Py_XDECREF(done);
}

int output_write(PyObject *value, char *data, size_t size, size_t limit, size_t *length, struct output_failure *failure)
{
	struct encoder e = {data, size, 0, limit, NULL, failure};
	struct step root = {NULL, value, NULL, 0, 1};
	int status;

	*failure = (struct output_failure){NULL, NULL};
	lift_digit_limit();
	e.ordered_dict = loaded_ordered_dict();
	status = put_value(&e, value, &root);
	Py_XDECREF(e.ordered_dict);
	*length = e.length;
	if (status < 0 && !failure->type)
		fail(&e, "MemoryError", NULL);
	return status;
}
