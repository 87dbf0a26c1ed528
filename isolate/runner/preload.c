/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a confined child imports before its body: the interpreter's site directories, and what --preload names.
 */
#include "isolate/runner/imports.h"

#include "isolate/runner/validator/import_policy.h"

#include <string.h>

/* Puts "cannot import NAME: Type: message" into reason and clears the exception. */
static void describe(PyObject *name, char *reason, size_t size)
{
	PyObject *type, *value, *traceback, *type_name, *text = NULL, *bytes = NULL;
	char *data = NULL;

	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	type_name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
	text = value && type_name ? PyUnicode_FromFormat("cannot import %S: %S: %S", name, type_name, value) : NULL;
	bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
	if (bytes)
		data = PyBytes_AsString(bytes);
	PyErr_Clear();
	PyOS_snprintf(reason, size, "%s", data ? data : "a module cannot be imported");
	for (char *c = reason; *c; c++) {
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	}
	Py_XDECREF(type_name);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	Py_XDECREF(text);
	Py_XDECREF(bytes);
}

static int preload_one(const char *bytes, size_t length, char *reason, size_t size)
{
	PyObject *name, *module;

	while (length && strchr(" \t\r\n", bytes[0])) {
		bytes++;
		length--;
	}
	while (length && strchr(" \t\r\n", bytes[length - 1]))
		length--;
	if (!length)
		return 0;
	name = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
	module = name ? policy_load(name) : NULL;
	if (!module)
		describe(name ? name : Py_None, reason, size);
	Py_XDECREF(name);
	Py_XDECREF(module);
	return module ? 0 : -1;
}

int body_preload(struct span names, char *reason, size_t size)
{
	size_t start = 0;

	if (size)
		reason[0] = '\0';
	for (size_t i = 0; names.bytes && i <= names.length; i++) {
		if (i < names.length && names.bytes[i] != ',')
			continue;
		if (preload_one(names.bytes + start, i - start, reason, size) < 0)
			return -1;
		start = i + 1;
	}
	return 0;
}

int body_site(char *reason, size_t size)
{
	PyObject *name = PyUnicode_FromString("site"), *site = name ? policy_load(name) : NULL;
	PyObject *done = site ? PyObject_CallMethod(site, "main", NULL) : NULL;

	if (!done)
		describe(name ? name : Py_None, reason, size);
	Py_XDECREF(name);
	Py_XDECREF(site);
	Py_XDECREF(done);
	return done ? 0 : -1;
}
