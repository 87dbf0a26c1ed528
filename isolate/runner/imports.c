/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guarded __import__ and the facades that it hands out.
 *
 * `import json` in a body does not give it the module json, from which json.codecs.builtins.open is
 * three dots away. It gives a module object of our own without contents, whose __getattr__ asks the
 * policy for each name when it is first used. So what the validator refuses is not reachable either
 * when the validator was fooled. Packages outside the standard library are handed out as they are:
 * their C code and their lazy loading are too various to stand behind a facade, and the validator
 * alone judges their names.
 *
 * C code of the interpreter imports through the running function's builtins, too (datetime.strftime
 * needs time), and ignores what comes back but takes the module from sys.modules. Such calls pass a
 * list of names where an import statement passes None or a tuple; they are let through for what is
 * loaded already or is known to be needed, and get None.
 */
#include "isolate/runner/imports.h"

#include "isolate/runner/validator/import_policy.h"

static PyObject *facade_for(struct session *session, PyObject *capsule, PyObject *dotted);

/*
 * Are the fields of a class what @dataclass once made of its annotations? It writes their names
 * into text that it runs.
 */
static bool has_true_fields(PyObject *type)
{
	PyObject *fields = PyObject_GetAttrString(type, "__dataclass_fields__"), *key, *field;
	Py_ssize_t at = 0;
	bool are = true;

	while (fields && PyDict_Check(fields) && are && PyDict_Next(fields, &at, &key, &field)) {
		PyObject *name = PyObject_GetAttrString(field, "name");

		are = name && PyUnicode_CheckExact(name) && PyUnicode_CheckExact(key) &&
			PyUnicode_Compare(name, key) == 0 && PyUnicode_IsIdentifier(name) == 1;
		Py_XDECREF(name);
	}
	PyErr_Clear();
	Py_XDECREF(fields);
	return are;
}

/* dataclasses.dataclass, and the decorator that it returns when it is called with options. */
static PyObject *guarded_dataclass(PyObject *real, PyObject *arguments, PyObject *keywords);

static PyMethodDef DATACLASS = { "dataclass", (PyCFunction)(void (*)(void))guarded_dataclass,
	METH_VARARGS | METH_KEYWORDS, NULL };

static PyObject *guarded_dataclass(PyObject *real, PyObject *arguments, PyObject *keywords)
{
	PyObject *type = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : NULL, *bases,
		 *made, *decorator;

	bases = type ? PyObject_GetAttrString(type, "__mro__") : NULL;
	PyErr_Clear();
	for (Py_ssize_t i = 0; bases && PyTuple_Check(bases) && i < PyTuple_Size(bases); i++) {
		if (!has_true_fields(PyTuple_GetItem(bases, i))) {
			PyErr_SetString(
				PyExc_TypeError, "a field of a dataclass was given another name");
			Py_DECREF(bases);
			return NULL;
		}
	}
	Py_XDECREF(bases);
	made = PyObject_Call(real, arguments, keywords);
	if (!made || type)
		return made;
	decorator = PyCFunction_NewEx(&DATACLASS, made, NULL);
	Py_DECREF(made);
	return decorator;
}

/* What the facade hands out in place of value (taken over). */
static PyObject *guarded(PyObject *module, PyObject *name, PyObject *value)
{
	PyObject *guard;

	if (PyUnicode_CompareWithASCIIString(module, "dataclasses") != 0 ||
		PyUnicode_CompareWithASCIIString(name, "dataclass") != 0)
		return value;
	guard = PyCFunction_NewEx(&DATACLASS, value, NULL);
	Py_DECREF(value);
	return guard;
}

/*
 * Keeps value in the facade, so that the next use finds it without asking. What sys holds can be
 * rebound (sys.stdout), so it is asked each time.
 */
static void keep(struct session *session, PyObject *module, PyObject *name, PyObject *value)
{
	PyObject *facade =
		session->facades ? PyDict_GetItemWithError(session->facades, module) : NULL;

	if (facade && PyUnicode_CompareWithASCIIString(module, "sys") != 0)
		PyDict_SetItem(PyModule_GetDict(facade), name, value);
	PyErr_Clear();
}

/* A name of a facade's module: the value, an allowed submodule's facade, or an AttributeError. */
static PyObject *facade_getattr(PyObject *self, PyObject *name)
{
	PyObject *capsule = PyTuple_GetItem(self, 0), *module = PyTuple_GetItem(self, 1),
		 *value = NULL, *full, *loaded;
	struct session *session = capsule && module ? session_of(capsule) : NULL;
	const struct rule_row *row;

	if (!session)
		return NULL;
	if (!PyUnicode_CheckExact(name) || rules_attribute(name))
		goto missing;
	switch (policy_name(session, module, name, &value, &row)) {
	case -1:
		return NULL;
	case MODULE_PUBLIC:
		value = value ? guarded(module, name, value) : NULL;
		if (value)
			keep(session, module, name, value);
		if (value || PyErr_Occurred())
			return value;
		break;
	case MODULE_SUBMODULE:
		full = PyUnicode_FromFormat("%U.%U", module, name);
		/* as with a real package, a submodule is an attribute once it was imported */
		loaded = full ? PyImport_GetModule(full) : NULL;
		if (loaded)
			value = facade_for(session, capsule, full);
		Py_XDECREF(loaded);
		Py_XDECREF(full);
		if (value || PyErr_Occurred())
			return value;
		break;
	default:
		break;
	}
missing:
	PyErr_Format(PyExc_AttributeError, "module '%U' has no name '%S' that a body may use",
		module, name);
	return NULL;
}

/* Python wants it to be writable and to live for ever. */
static PyMethodDef FACADE_GETATTR = { "__getattr__", facade_getattr, METH_O, NULL };

/* The facade of a module that is loaded: a new reference, or NULL. */
static PyObject *facade_for(struct session *session, PyObject *capsule, PyObject *dotted)
{
	PyObject *facade, *self = NULL, *getattr = NULL;

	if (!session->facades) {
		PyErr_SetString(PyExc_ImportError, "the body has ended");
		return NULL;
	}
	facade = PyDict_GetItemWithError(session->facades, dotted);
	if (facade || PyErr_Occurred())
		return facade ? reference(facade) : NULL;
	facade = PyModule_NewObject(dotted);
	self = PyTuple_Pack(2, capsule, dotted);
	getattr = self ? PyCFunction_NewEx(&FACADE_GETATTR, self, NULL) : NULL;
	if (!facade || !getattr ||
		PyDict_SetItemString(PyModule_GetDict(facade), "__getattr__", getattr) < 0 ||
		PyDict_SetItem(session->facades, dotted, facade) < 0)
		Py_CLEAR(facade);
	Py_XDECREF(self);
	Py_XDECREF(getattr);
	return facade;
}

/* What C code asks for: import it when that is harmless, and return None. */
static PyObject *import_for_c(struct session *session, PyObject *name)
{
	const struct rule_row *row;
	PyObject *loaded = PyImport_GetModule(name), *module;

	if (!loaded && PyErr_Occurred())
		return NULL;
	Py_XDECREF(loaded);
	if (!loaded && !rules_find(TABLE_NEEDED, name) &&
		policy_import(session, name, &row) != IMPORT_ALLOWED &&
		!(policy_is_third_party(name) && row == NULL)) {
		PyErr_Format(PyExc_ImportError, "import of '%U' is not allowed", name);
		return NULL;
	}
	module = policy_load(name);
	if (!module)
		return NULL;
	Py_DECREF(module);
	return reference(Py_None);
}

/* `from module import a, b`: each name must be one that may be used. */
static int check_names(PyObject *facade, PyObject *module, PyObject *names)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
		PyObject *name = PyTuple_GetItem(names, i), *value;

		if (!PyUnicode_CheckExact(name) ||
			PyUnicode_CompareWithASCIIString(name, "*") == 0) {
			PyErr_SetString(PyExc_ImportError, "import * is not allowed");
			return -1;
		}
		value = PyObject_GetAttr(facade, name);
		if (!value) {
			if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
				PyErr_Clear();
				PyErr_Format(PyExc_ImportError, "cannot import name '%U' from '%U'",
					name, module);
			}
			return -1;
		}
		Py_DECREF(value);
	}
	return 0;
}

/* Loads the submodules that `from package import submodule` names. */
static int load_submodules(struct session *session, PyObject *dotted, PyObject *names)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
		PyObject *name = PyTuple_GetItem(names, i), *full, *module;
		const struct rule_row *row;

		if (!PyUnicode_CheckExact(name))
			continue;
		full = PyUnicode_FromFormat("%U.%U", dotted, name);
		if (!full)
			return -1;
		if ((rules_find(TABLE_ALONG, full) || session_allows(session, full)) &&
			policy_import(session, full, &row) == IMPORT_ALLOWED) {
			module = policy_load(full);
			if (!module && !PyErr_ExceptionMatches(PyExc_ImportError)) {
				Py_DECREF(full);
				return -1;
			}
			PyErr_Clear();
			Py_XDECREF(module);
		}
		Py_DECREF(full);
	}
	return 0;
}

/* Gives each facade on the way from the root to dotted its successor; returns the root's facade. */
static PyObject *link_facades(struct session *session, PyObject *capsule, PyObject *dotted)
{
	Py_ssize_t length = PyUnicode_GetLength(dotted),
		   dot = PyUnicode_FindChar(dotted, '.', 0, length, 1);
	PyObject *root = PyUnicode_Substring(dotted, 0, dot < 0 ? length : dot);
	PyObject *first = root ? facade_for(session, capsule, root) : NULL,
		 *at = first ? reference(first) : NULL;

	while (at && dot >= 0) {
		Py_ssize_t next = PyUnicode_FindChar(dotted, '.', dot + 1, length, 1),
			   end = next < 0 ? length : next;
		PyObject *path = PyUnicode_Substring(dotted, 0, end),
			 *name = PyUnicode_Substring(dotted, dot + 1, end);
		PyObject *facade = path && name ? facade_for(session, capsule, path) : NULL;

		if (!facade || PyObject_SetAttr(at, name, facade) < 0)
			Py_CLEAR(first);
		Py_DECREF(at);
		at = first ? facade : NULL;
		if (!first)
			Py_XDECREF(facade);
		Py_XDECREF(path);
		Py_XDECREF(name);
		dot = next;
	}
	Py_XDECREF(at);
	Py_XDECREF(root);
	return first;
}

static PyObject *import_facade(
	struct session *session, PyObject *capsule, PyObject *name, PyObject *names)
{
	PyObject *module = policy_load(name), *facade;

	if (!module)
		return NULL;
	Py_DECREF(module);
	if (names == Py_None || PyTuple_Size(names) == 0)
		return link_facades(session, capsule, name);
	facade = facade_for(session, capsule, name);
	if (facade &&
		(load_submodules(session, name, names) < 0 || check_names(facade, name, names) < 0))
		Py_CLEAR(facade);
	return facade;
}

static PyObject *guarded_import(PyObject *capsule, PyObject *arguments, PyObject *keywords)
{
	static char *words[] = { "name", "globals", "locals", "fromlist", "level", NULL };
	struct session *session = session_of(capsule);
	PyObject *name, *globals = NULL, *locals = NULL, *names = Py_None;
	const struct rule_row *row;
	int level = 0;

	if (!session ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OOOi:__import__", words, &name,
			&globals, &locals, &names, &level))
		return NULL;
	if (!PyUnicode_CheckExact(name) || level != 0) {
		PyErr_SetString(PyExc_ImportError, "an import names a module by its full name");
		return NULL;
	}
	if (PyList_CheckExact(names) && PyList_Size(names) == 0)
		return import_for_c(session, name);
	if (names != Py_None && !PyTuple_CheckExact(names)) {
		PyErr_SetString(PyExc_ImportError, "the names of an import are a tuple");
		return NULL;
	}
	if (policy_import(session, name, &row) != IMPORT_ALLOWED &&
		!(PyTuple_CheckExact(names) && policy_is_passage(session, name))) {
		PyErr_Format(PyExc_ModuleNotFoundError,
			"import of '%U' is not allowed; allow it with --allow %U", name, name);
		return NULL;
	}
	if (policy_is_third_party(name))
		return PyImport_ImportModuleLevelObject(name, NULL, NULL, names, 0);
	return import_facade(session, capsule, name, names);
}

static PyMethodDef IMPORT = { "__import__", (PyCFunction)(void (*)(void))guarded_import,
	METH_VARARGS | METH_KEYWORDS, NULL };

PyObject *imports_function(PyObject *capsule)
{
	return PyCFunction_NewEx(&IMPORT, capsule, NULL);
}
