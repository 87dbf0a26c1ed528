/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding arguments with the interpreter's own C scanner.
 *
 * The module json would cost ten milliseconds of start-up (it imports re); its scanner is built in
 * and needs only an object with a few attributes. The text has passed cordon's JSON gate already,
 * so what json.loads would check beyond the scanner does not occur.
 */
#include "isolate/runner/arguments.h"

#include <string.h>

static struct span trim(struct span json)
{
	while (json.length && strchr(" \t\r\n", json.bytes[0])) {
		json.bytes++;
		json.length--;
	}
	while (json.length && strchr(" \t\r\n", json.bytes[json.length - 1]))
		json.length--;
	return json;
}

/*
 * What the scanner wants to know: an object like types.SimpleNamespace, the type of
 * sys.implementation.
 */
static PyObject *make_context(void)
{
	PyObject *example = PySys_GetObject("implementation"), *nothing = PyTuple_New(0),
		 *context = NULL;
	PyObject *settings = Py_BuildValue("{s:O,s:O,s:O,s:O,s:O,s:O,s:{}}", "strict", Py_True,
		"object_hook", Py_None, "object_pairs_hook", Py_None, "parse_float",
		(PyObject *)&PyFloat_Type, "parse_int", (PyObject *)&PyLong_Type, "parse_constant",
		Py_None, "memo");

	if (example && nothing && settings)
		context = PyObject_Call((PyObject *)Py_TYPE(example), nothing, settings);
	Py_XDECREF(nothing);
	Py_XDECREF(settings);
	return context;
}

static PyObject *make_scanner(void)
{
	PyObject *module = PyImport_ImportModuleLevel("_json", NULL, NULL, NULL, 0),
		 *context = module ? make_context() : NULL, *scanner = NULL;

	if (context)
		scanner = PyObject_CallMethod(module, "make_scanner", "O", context);
	Py_XDECREF(module);
	Py_XDECREF(context);
	return scanner;
}

static PyObject *scan(PyObject *text)
{
	PyObject *scanner = make_scanner(),
		 *pair = scanner ? PyObject_CallFunction(scanner, "Oi", text, 0) : NULL,
		 *value = NULL;
	Py_ssize_t end;

	if (pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
		value = reference(PyTuple_GetItem(pair, 0));
		end = PyLong_AsSsize_t(PyTuple_GetItem(pair, 1));
		if (end != PyUnicode_GetLength(text) || !PyDict_CheckExact(value)) {
			Py_CLEAR(value);
			PyErr_SetString(PyExc_TypeError, "the arguments are not one JSON object");
		}
	} else if (scanner && PyErr_ExceptionMatches(PyExc_StopIteration)) {
		PyErr_SetString(PyExc_ValueError, "the arguments are not JSON");
	}
	Py_XDECREF(scanner);
	Py_XDECREF(pair);
	return value;
}

PyObject *arguments_parse(struct span json)
{
	PyObject *text, *value;

	json = trim(json);
	if (json.length == 0 || (json.length == 2 && memcmp(json.bytes, "{}", 2) == 0))
		return PyDict_New();
	text = PyUnicode_DecodeUTF8(json.bytes, (Py_ssize_t)json.length, "strict");
	value = text ? scan(text) : NULL;
	Py_XDECREF(text);
	return value;
}
