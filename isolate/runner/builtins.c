/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curated builtins.
 *
 * A body's globals hold a dictionary of its own as __builtins__, so what is not in it is not there,
 * whatever the validator let pass. Library code keeps the interpreter's own builtins, because each
 * function looks them up through its own module.
 *
 * A permitted getattr stays under the rules for attribute names: --permit getattr lifts the rule
 * for that name, not for __class__.
 */
#include "isolate/runner/builtins.h"

#include "isolate/runner/imports.h"
#include "isolate/runner/validator/rules.h"

static bool is_text_template(PyObject *object)
{
	if (PyUnicode_Check(object))
		return true;
	if (PyType_IsSubtype(Py_TYPE(object), &PyType_Type) &&
		PyType_IsSubtype((PyTypeObject *)object, &PyUnicode_Type))
		return true;
	return PyType_IsSubtype(Py_TYPE(object), &PySuper_Type);
}

static bool names_format(PyObject *name)
{
	return PyUnicode_CompareWithASCIIString(name, "format") == 0 ||
		PyUnicode_CompareWithASCIIString(name, "format_map") == 0;
}

/* guard(value), of which `.format` is read: everything but strings passes. */
static PyObject *guard_format(PyObject *self, PyObject *value)
{
	(void)self;
	if (is_text_template(value)) {
		PyErr_SetString(PyExc_TypeError,
			"str.format with a template made at run time is not allowed (rule "
			"format-dynamic); use an f-string");
		return NULL;
	}
	return reference(value);
}

static int check_name(PyObject *name)
{
	if (PyUnicode_CheckExact(name))
		return 0;
	PyErr_SetString(
		PyExc_TypeError, "attribute name must be a string, and not a subclass of it");
	return -1;
}

/*
 * May the attribute `name` of object be reached by string? Returns 0, or -1 with the exception set.
 */
static int judge_name(PyObject *capsule, PyObject *object, PyObject *name)
{
	struct session *session = session_of(capsule);

	if (!session || check_name(name) < 0)
		return -1;
	if (session_permits(session, name))
		return 0;
	if (rules_attribute(name) || (names_format(name) && is_text_template(object)) ||
		(PyModule_Check(object) && rules_is_private(name))) {
		PyErr_Format(PyExc_AttributeError,
			"the attribute '%U' is not allowed; --permit %U lifts this", name, name);
		return -1;
	}
	return 0;
}

static PyObject *guarded_getattr(PyObject *capsule, PyObject *arguments)
{
	PyObject *object, *name, *fallback = NULL, *value;

	if (!PyArg_ParseTuple(arguments, "OO|O:getattr", &object, &name, &fallback) ||
		judge_name(capsule, object, name) < 0)
		return NULL;
	value = PyObject_GetAttr(object, name);
	if (!value && fallback && PyErr_ExceptionMatches(PyExc_AttributeError)) {
		PyErr_Clear();
		return reference(fallback);
	}
	return value;
}

/* Any name may be asked for: only the answer comes out, not the value. */
static PyObject *guarded_hasattr(PyObject *capsule, PyObject *arguments)
{
	PyObject *object, *name, *value;

	(void)capsule;
	if (!PyArg_ParseTuple(arguments, "OO:hasattr", &object, &name) || check_name(name) < 0)
		return NULL;
	value = PyObject_GetAttr(object, name);
	if (!value && !PyErr_ExceptionMatches(PyExc_AttributeError))
		return NULL;
	PyErr_Clear();
	Py_XDECREF(value);
	return PyBool_FromLong(value != NULL);
}

static PyObject *guarded_setattr(PyObject *capsule, PyObject *arguments)
{
	PyObject *object, *name, *value;

	if (!PyArg_ParseTuple(arguments, "OOO:setattr", &object, &name, &value) ||
		judge_name(capsule, object, name) < 0 || PyObject_SetAttr(object, name, value) < 0)
		return NULL;
	return reference(Py_None);
}

static PyObject *guarded_delattr(PyObject *capsule, PyObject *arguments)
{
	PyObject *object, *name;

	if (!PyArg_ParseTuple(arguments, "OO:delattr", &object, &name) ||
		judge_name(capsule, object, name) < 0 || PyObject_SetAttr(object, name, NULL) < 0)
		return NULL;
	return reference(Py_None);
}

/*
 * type(x): of the class only its name is to be had. An empty module object has one and leads
 * nowhere.
 */
static PyObject *name_of_type(PyObject *self, PyObject *value)
{
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__"), *holder;

	(void)self;
	holder = name ? PyModule_NewObject(name) : NULL;
	Py_XDECREF(name);
	return holder;
}

/* Python wants these to be writable and to live for ever. */
static PyMethodDef TYPE_NAME = { "type", name_of_type, METH_O, NULL };
static PyMethodDef GUARDS[] = {
	{ "getattr", guarded_getattr, METH_VARARGS, NULL },
	{ "hasattr", guarded_hasattr, METH_VARARGS, NULL },
	{ "setattr", guarded_setattr, METH_VARARGS, NULL },
	{ "delattr", guarded_delattr, METH_VARARGS, NULL },
};
static PyMethodDef FORMAT_GUARD = { BUILTIN_FORMAT_GUARD, guard_format, METH_O, NULL };

/* What the making of the dictionary carries along. */
struct maker {
	struct session *session;
	PyObject *capsule, *real; /* real: the dict of the builtins module */
};

static int add_plain(const char *name, void *data)
{
	struct maker *maker = data;
	PyObject *value = PyDict_GetItemString(maker->real, name);

	/* aiter and anext came with 3.10 */
	return value ? PyDict_SetItemString(maker->session->builtins, name, value) : 0;
}

static bool is_exception(PyObject *value)
{
	return PyType_IsSubtype(Py_TYPE(value), &PyType_Type) &&
		PyType_IsSubtype((PyTypeObject *)value, (PyTypeObject *)PyExc_BaseException);
}

static int add_exceptions(struct maker *maker)
{
	PyObject *name, *value;
	Py_ssize_t at = 0;

	while (PyDict_Next(maker->real, &at, &name, &value)) {
		if (is_exception(value) &&
			PyDict_SetItem(maker->session->builtins, name, value) < 0)
			return -1;
	}
	return 0;
}

static int add_function(struct maker *maker, PyMethodDef *method, PyObject *self)
{
	PyObject *function = PyCFunction_NewEx(method, self, NULL);
	int status = function
		? PyDict_SetItemString(maker->session->builtins, method->ml_name, function)
		: -1;

	Py_XDECREF(function);
	return status;
}

/* The builtins that --permit names: guarded where there is a guard, else the interpreter's own. */
static int add_permitted(struct maker *maker)
{
	PyObject *iterator = PyObject_GetIter(maker->session->permit), *name;
	int status = iterator ? 0 : -1;

	while (status == 0 && (name = PyIter_Next(iterator))) {
		PyObject *value = PyDict_GetItemWithError(maker->real, name);
		PyMethodDef *guard = NULL;

		for (size_t i = 0; i < sizeof GUARDS / sizeof GUARDS[0]; i++) {
			if (PyUnicode_CompareWithASCIIString(name, GUARDS[i].ml_name) == 0)
				guard = &GUARDS[i];
		}
		if (guard)
			status = add_function(maker, guard, maker->capsule);
		else if (value && PyUnicode_CompareWithASCIIString(name, "__import__") != 0 &&
			!PyModule_Check(value))
			status = PyDict_SetItem(maker->session->builtins, name, value);
		Py_DECREF(name);
	}
	Py_XDECREF(iterator);
	return PyErr_Occurred() ? -1 : status;
}

int builtins_make(struct session *session, PyObject *capsule)
{
	PyObject *module = PyImport_ImportModuleLevel("builtins", NULL, NULL, NULL, 0),
		 *importer = NULL;
	struct maker maker = { session, capsule, module ? PyModule_GetDict(module) : NULL };
	int status = -1;

	Py_XDECREF(session->builtins);
	session->builtins = PyDict_New();
	if (!maker.real || !session->builtins || rules_each_builtin(add_plain, &maker) < 0 ||
		add_exceptions(&maker) < 0 || add_function(&maker, &TYPE_NAME, NULL) < 0 ||
		add_permitted(&maker) < 0 || add_function(&maker, &FORMAT_GUARD, NULL) < 0)
		goto out;
	importer = imports_function(capsule);
	if (importer)
		status = PyDict_SetItemString(session->builtins, "__import__", importer);
out:
	Py_XDECREF(importer);
	Py_XDECREF(module);
	return status;
}
