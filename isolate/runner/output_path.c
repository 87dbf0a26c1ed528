/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about values that cannot be returned.
 *
 * Paths are written as a person would write them (output[3].x, output["a b"]), with long keys cut
 * and the middle of long paths left out. Types are given by name only; no __repr__ or __str__ of
 * the body is called.
 */
#include "isolate/runner/output_path.h"

#include <string.h>

enum { KEY_MOST = 40, STEPS_SHOWN = 12, STEPS_MOST = 1024 };

/* What to do about a type, by its name. */
static const struct {
	const char *type, *rewrite;
} REWRITES[] = {
	{ "set", "return sorted(...) or list(...) of it instead" },
	{ "frozenset", "return sorted(...) or list(...) of it instead" },
	{ "bytes", "use .decode() for text or base64.b64encode(...).decode() for data" },
	{ "bytearray", "use .decode() for text or base64.b64encode(...).decode() for data" },
	{ "complex", "return [z.real, z.imag]" },
	{ "range", "return list(...) of it" },
	{ "generator", "return list(...) of it" },
	{ "map", "return list(...) of it" },
	{ "filter", "return list(...) of it" },
	{ "zip", "return list(...) of it" },
	{ "enumerate", "return list(...) of it" },
	{ "reversed", "return list(...) of it" },
	{ "dict_keys", "return list(...) of it" },
	{ "dict_values", "return list(...) of it" },
	{ "dict_items", "return list(...) of it" },
	{ "deque", "return list(...) of it" },
	{ "array", "return list(...) of it" },
	{ "coroutine", "return asyncio.run(...) of it" },
	{ "function", "call it and return the result" },
	{ "builtin_function_or_method", "call it and return the result" },
	{ "method", "call it and return the result" },
	{ "type", "return an instance's values, or its __name__" },
	{ "module", "return values from it" },
	{ "datetime", "use .isoformat()" },
	{ "date", "use .isoformat()" },
	{ "time", "use .isoformat()" },
	{ "timedelta", "use .total_seconds()" },
	{ "Decimal", "use str(...) or float(...)" },
	{ "Fraction", "use str(...) or float(...)" },
	{ "UUID", "use str(...)" },
	{ "PosixPath", "use str(...)" },
	{ "Match", "use .group() or .groups()" },
	{ "ndarray", "use .tolist()" },
	{ "Series", "use .tolist()" },
	{ "DataFrame", "use .to_dict('records')" },
};

static PyObject *type_name(PyObject *value)
{
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");

	if (name && PyUnicode_CheckExact(name))
		return name;
	Py_XDECREF(name);
	PyErr_Clear();
	return PyUnicode_FromString("object");
}

PyObject *path_type_text(const char *start, PyObject *value)
{
	PyObject *name = type_name(value), *text = NULL;

	if (name) {
		Py_UCS4 first = PyUnicode_GetLength(name) > 0 ? PyUnicode_ReadChar(name, 0) : 'x';

		text = PyUnicode_FromFormat("%s %s %U", start,
			first < 128 && strchr("aeiouAEIOU", (int)first) ? "an" : "a", name);
	}
	Py_XDECREF(name);
	return text;
}

static int has_attribute(PyObject *value, const char *name)
{
	PyObject *found = PyObject_GetAttrString((PyObject *)Py_TYPE(value), name);

	PyErr_Clear();
	Py_XDECREF(found);
	return found != NULL;
}

static const char *rewrite_for(PyObject *value)
{
	PyObject *name = type_name(value);
	const char *rewrite = "return a dict, list, text or number made from it";

	if (has_attribute(value, "__dataclass_fields__"))
		rewrite = "return dataclasses.asdict(...) of it";
	else if (has_attribute(value, "__members__"))
		rewrite = "return its .value or .name";
	else if (has_attribute(value, "tolist") && has_attribute(value, "item"))
		rewrite = "use .tolist(), or .item() for one number";
	for (size_t i = 0; name && i < sizeof REWRITES / sizeof REWRITES[0]; i++) {
		if (PyUnicode_CompareWithASCIIString(name, REWRITES[i].type) == 0)
			rewrite = REWRITES[i].rewrite;
	}
	PyErr_Clear();
	Py_XDECREF(name);
	return rewrite;
}

PyObject *path_exact_text(PyObject *text)
{
	/* str(subclass) would call its __str__; a slice of everything does not */
	return PyUnicode_CheckExact(text) ? reference(text)
					  : PyUnicode_Substring(text, 0, PyUnicode_GetLength(text));
}

PyObject *path_exact_keys(PyObject *dict)
{
	PyObject *set = PySet_New(NULL), *key, *value;
	Py_ssize_t at = 0;

	while (set && PyDict_Next(dict, &at, &key, &value)) {
		if (PyUnicode_CheckExact(key) && PySet_Add(set, key) < 0)
			Py_CLEAR(set);
	}
	return set;
}

static int is_plain_key(PyObject *text)
{
	Py_ssize_t length = PyUnicode_GetLength(text);

	for (Py_ssize_t i = 0; i < length; i++) {
		Py_UCS4 c = PyUnicode_ReadChar(text, i);
		int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && !(i > 0 && c >= '0' && c <= '9'))
			return 0;
	}
	return length > 0;
}

static PyObject *step_text(const struct step *step)
{
	PyObject *plain, *shown = NULL, *text = NULL;

	if (!step->up)
		return PyUnicode_FromString("output");
	if (!step->key)
		return PyUnicode_FromFormat("[%zd]", step->index);
	if (!PyUnicode_Check(step->key)) /* a number: the problem has it */
		return PyUnicode_FromString("'s key");
	plain = path_exact_text(step->key);
	shown = plain && PyUnicode_GetLength(plain) > KEY_MOST
		? PyUnicode_Substring(plain, 0, KEY_MOST)
		: plain ? reference(plain)
			: NULL;
	if (shown && shown == plain && is_plain_key(shown))
		text = PyUnicode_FromFormat(".%U", shown);
	else if (shown)
		text = PyUnicode_FromFormat(
			PyUnicode_GetLength(plain) > KEY_MOST ? "[%A...]" : "[%A]", shown);
	Py_XDECREF(plain);
	Py_XDECREF(shown);
	return text;
}

static PyObject *path_text(const struct step *step)
{
	const struct step *steps[STEPS_MOST];
	int count = 0;
	PyObject *text = PyUnicode_FromString("");

	for (; step && count < STEPS_MOST; step = step->up)
		steps[count++] = step;
	for (int i = count - 1; text && i >= 0; i--) {
		PyObject *part, *longer = NULL;

		if (count > 2 * STEPS_SHOWN && i == count - 1 - STEPS_SHOWN) {
			part = PyUnicode_FromString("...");
			i = STEPS_SHOWN;
		} else {
			part = step_text(steps[i]);
		}
		if (part)
			longer = PyUnicode_Concat(text, part);
		Py_XDECREF(part);
		Py_DECREF(text);
		text = longer;
	}
	return text;
}

PyObject *path_message_text(const struct step *step, PyObject *problem, const char *rewrite)
{
	PyObject *path = problem ? path_text(step) : NULL, *message = NULL;

	if (path)
		message = PyUnicode_FromFormat(
			"not JSON-serializable: %U %U; %s", path, problem, rewrite);
	Py_XDECREF(path);
	Py_XDECREF(problem);
	return message;
}

PyObject *path_message(const struct step *step, const char *problem, const char *rewrite)
{
	return path_message_text(step, PyUnicode_FromString(problem), rewrite);
}

PyObject *path_type_message(const struct step *step)
{
	return path_message_text(step, path_type_text("is", step->value), rewrite_for(step->value));
}
