/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The import policy.
 *
 * Full dotted names are compared, never roots alone: `urllib` brings urllib.parse and not
 * urllib.request. The public names of a module are asked of the module itself in this interpreter,
 * because what modules leak (datetime.sys, enum.bltns, json.codecs) differs from version to
 * version: a name is public when it has no leading underscore, its value is no module, no
 * metaclass, none of the refused builtins under another name, and it is no gadget of
 * rules_modules.def.
 *
 * For packages outside the standard library any public name passes, and modules of the same package
 * with it: numpy.linalg is part of numpy.
 */
#include "isolate/runner/validator/import_policy.h"

/* Constant once policy_prepare has run. */
static struct {
	PyObject *stdlib;    /* sys.stdlib_module_names, or NULL on 3.9 */
	PyObject *dangerous; /* list of the objects behind TABLE_NAMES */
} policy;

static int collect_dangerous(PyObject *builtins)
{
	static const char *const names[] = {
#define NAME(name, why, rewrite) name,
#include "isolate/runner/validator/rules_names.def"
#undef NAME
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		PyObject *value = PyObject_GetAttrString(builtins, names[i]);
		int status = value ? PyList_Append(policy.dangerous, value) : -1;

		Py_XDECREF(value);
		if (status < 0)
			return -1;
	}
	return 0;
}

int policy_prepare(void)
{
	PyObject *builtins;
	int status;

	if (policy.dangerous)
		return 0;
	policy.stdlib = PySys_GetObject("stdlib_module_names");
	Py_XINCREF(policy.stdlib);
	builtins = PyImport_ImportModuleLevel("builtins", NULL, NULL, NULL, 0);
	policy.dangerous = builtins ? PyList_New(0) : NULL;
	status = policy.dangerous ? collect_dangerous(builtins) : -1;
	Py_XDECREF(builtins);
	if (status < 0)
		Py_CLEAR(policy.dangerous);
	return status;
}

/*
 * The part of dotted before its n-th dot (n from 1), all of it when it has fewer; NULL past the
 * end. A new reference.
 */
static PyObject *prefix(PyObject *dotted, int n, bool *whole)
{
	Py_ssize_t length = PyUnicode_GetLength(dotted), at = -1;

	for (int i = 0; i < n; i++) {
		at = PyUnicode_FindChar(dotted, '.', at + 1, length, 1);
		if (at < 0) {
			*whole = true;
			return i == n - 1 ? reference(dotted) : NULL;
		}
	}
	*whole = false;
	return PyUnicode_Substring(dotted, 0, at);
}

PyObject *policy_root(PyObject *dotted)
{
	bool whole;

	return prefix(dotted, 1, &whole);
}

bool policy_is_third_party(PyObject *dotted)
{
	bool known;
	PyObject *root = policy_root(dotted);

	if (!root) {
		PyErr_Clear();
		return false;
	}
	known = policy.stdlib ? PySequence_Contains(policy.stdlib, root) == 1
			      : rules_find(TABLE_STDLIB, root) != NULL || rules_is_private(root);
	PyErr_Clear();
	Py_DECREF(root);
	return !known;
}

/* What the parts of a dotted name say about it. */
struct parts {
	bool private;                 /* some part starts with an underscore and is not permitted */
	bool under_allowed;           /* a shorter prefix of it is allowed */
	const struct rule_row *never; /* a prefix of it is never allowed and not permitted */
};

static bool has_private_part(PyObject *dotted)
{
	Py_ssize_t length = PyUnicode_GetLength(dotted), at = 0;

	while (at >= 0 && at < length) {
		if (PyUnicode_ReadChar(dotted, at) == '_')
			return true;
		at = PyUnicode_FindChar(dotted, '.', at, length, 1);
		at = at < 0 ? -1 : at + 1;
	}
	return false;
}

/*
 * Why a module of the standard library needs a permit: its own row, or that it is not among the
 * harmless ones.
 */
static const struct rule_row *never_row(PyObject *head, bool is_root)
{
	static const struct rule_row OTHER = { "", RULE_IMPORT_NEVER, false,
		"it is not among the modules that are harmless by default", NULL };
	const struct rule_row *row = rules_find(TABLE_NEVER, head);

	if (row || !is_root || rules_find(TABLE_HARMLESS, head) || rules_is_private(head) ||
		policy_is_third_party(head) ||
		PyUnicode_CompareWithASCIIString(head, "__future__") == 0)
		return row;
	return &OTHER;
}

static struct parts examine(const struct session *session, PyObject *dotted)
{
	struct parts parts = { false, false, NULL };
	bool whole = false, permitted = session_permits(session, dotted);

	parts.private = has_private_part(dotted) && !permitted && !session_allows(session, dotted);
	for (int n = 1; !whole; n++) {
		PyObject *head = prefix(dotted, n, &whole);
		const struct rule_row *row;

		if (!head)
			break;
		row = never_row(head, n == 1);
		if (row && !permitted && !session_permits(session, head))
			parts.never = row;
		if (!whole && session_allows(session, head))
			parts.under_allowed = true;
		Py_DECREF(head);
	}
	PyErr_Clear();
	return parts;
}

enum import_verdict policy_import(
	const struct session *session, PyObject *dotted, const struct rule_row **row)
{
	struct parts parts = examine(session, dotted);

	*row = parts.never;
	if (parts.never)
		return IMPORT_NEVER;
	if (PyUnicode_CompareWithASCIIString(dotted, "__future__") == 0)
		return IMPORT_ALLOWED;
	if (session_allows(session, dotted))
		return has_private_part(dotted) && !session_permits(session, dotted)
			? IMPORT_PRIVATE
			: IMPORT_ALLOWED;
	if (parts.private)
		return IMPORT_PRIVATE;
	if (!parts.under_allowed)
		return IMPORT_NOT_ALLOWED;
	if (policy_is_third_party(dotted) || rules_find(TABLE_ALONG, dotted))
		return IMPORT_ALLOWED;
	return IMPORT_SUBMODULE;
}

bool policy_is_passage(const struct session *session, PyObject *dotted)
{
	PyObject *start = PyUnicode_FromFormat("%U.", dotted), *iterator = NULL, *item;
	bool found = false;

	if (start)
		iterator = PyObject_GetIter(session->allow);
	while (iterator && !found && (item = PyIter_Next(iterator))) {
		found = PyUnicode_Tailmatch(item, start, 0, PyUnicode_GetLength(item), -1) == 1;
		Py_DECREF(item);
	}
	PyErr_Clear();
	Py_XDECREF(iterator);
	Py_XDECREF(start);
	return found;
}

PyObject *policy_load(PyObject *dotted)
{
	PyObject *root = PyImport_ImportModuleLevelObject(dotted, NULL, NULL, NULL, 0), *module;

	if (!root)
		return NULL;
	module = PyImport_GetModule(dotted);
	if (!module && !PyErr_Occurred())
		PyErr_Format(PyExc_ImportError, "no module named '%U'", dotted);
	Py_DECREF(root);
	return module;
}

int policy_is_there(PyObject *dotted)
{
	PyObject *loaded = PyImport_GetModule(dotted), *machinery = NULL,
		 *path = reference(Py_None), *head = NULL, *spec = NULL;
	bool whole = loaded != NULL;

	Py_XDECREF(loaded);
	if (!whole)
		machinery = PyImport_ImportModule("_frozen_importlib");
	/* A package is looked for below the places of the one that it is in. */
	for (int n = 1; machinery && !whole && path && path != dotted; n++) {
		head = prefix(dotted, n, &whole);
		Py_XDECREF(spec);
		spec = head ? PyObject_CallMethod(machinery, "_find_spec", "OO", head, path) : NULL;
		Py_XDECREF(head);
		Py_DECREF(path);
		path = spec && spec != Py_None && !whole
			? PyObject_GetAttrString(spec, "submodule_search_locations")
			: NULL;
		if (spec && !whole && path == Py_None)
			Py_CLEAR(path);
	}
	if (!PyErr_Occurred())
		whole = !machinery || (whole && spec && spec != Py_None);
	Py_XDECREF(path);
	Py_XDECREF(spec);
	Py_XDECREF(machinery);
	return PyErr_Occurred() ? -1 : whole;
}

static bool is_metaclass(PyObject *value)
{
	return PyType_IsSubtype(Py_TYPE(value), &PyType_Type) &&
		PyType_IsSubtype((PyTypeObject *)value, &PyType_Type);
}

static bool is_dangerous(PyObject *value)
{
	Py_ssize_t n = PyList_Size(policy.dangerous);

	for (Py_ssize_t i = 0; i < n; i++) {
		if (PyList_GetItem(policy.dangerous, i) == value)
			return true;
	}
	return is_metaclass(value);
}

/* Does the module called `name` belong to the same top-level package as `package`? */
static bool same_package(PyObject *package, PyObject *module)
{
	PyObject *name = PyModule_GetNameObject(module), *root = NULL, *start = NULL;
	bool whole, same = false;

	if (name && (root = prefix(package, 1, &whole)) &&
		(start = PyUnicode_FromFormat("%U.", root)))
		same = PyUnicode_Tailmatch(name, start, 0, PyUnicode_GetLength(name), -1) == 1 &&
			!has_private_part(name);
	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(root);
	Py_XDECREF(start);
	return same;
}

/* Judges by what the value is. Takes over value. */
static int judge_value(const struct session *session, PyObject *module, PyObject *name,
	bool third_party, PyObject *taken, PyObject **value, const struct rule_row **row)
{
	static const struct rule_row same_thing = { "", RULE_MODULE_GADGET, false,
		"it is a refused builtin or a metaclass under another name", NULL };
	int verdict = MODULE_PUBLIC;

	if (PyModule_Check(taken)) {
		verdict = third_party && same_package(module, taken) ? MODULE_SUBMODULE
								     : MODULE_FOREIGN;
	} else if (is_dangerous(taken) && !session_permits(session, name)) {
		*row = &same_thing;
		verdict = MODULE_GADGET;
	}
	if (verdict == MODULE_PUBLIC && value)
		*value = taken;
	else
		Py_DECREF(taken);
	return verdict;
}

/* Loads the module and judges the value of name in it. */
static int judge_loaded(const struct session *session, PyObject *module, PyObject *name,
	PyObject **value, const struct rule_row **row)
{
	bool third_party = policy_is_third_party(module);
	PyObject *loaded = policy_load(module),
		 *taken = loaded ? PyObject_GetAttr(loaded, name) : NULL;
	bool could_load = loaded != NULL;

	Py_XDECREF(loaded);
	if (taken)
		return judge_value(session, module, name, third_party, taken, value, row);
	if (PyErr_ExceptionMatches(PyExc_MemoryError))
		return -1;
	PyErr_Clear();
	/* What cannot be loaded fails at run time, where the exception can be caught. */
	return could_load && !third_party ? MODULE_MISSING : MODULE_PUBLIC;
}

static int judge_submodule(const struct session *session, PyObject *full)
{
	const struct rule_row *ignored;

	if (policy_import(session, full, &ignored) == IMPORT_ALLOWED)
		return rules_find(TABLE_ALONG, full) || session_allows(session, full);
	return policy_is_passage(session, full);
}

int policy_name(const struct session *session, PyObject *module, PyObject *name, PyObject **value,
	const struct rule_row **row)
{
	static const struct rule_row not_listed = { "", RULE_MODULE_GADGET, false,
		"only a few names of this module are open", NULL };
	PyObject *full = PyUnicode_FromFormat("%U.%U", module, name);
	const struct rule_row *ignored;
	int verdict = -1;

	if (value)
		*value = NULL;
	*row = NULL;
	if (!full)
		return -1;
	if (judge_submodule(session, full)) {
		verdict = MODULE_SUBMODULE;
	} else if (policy_import(session, module, &ignored) != IMPORT_ALLOWED) {
		verdict = MODULE_FOREIGN;
	} else if (rules_is_private(name) && !session_permits(session, name) &&
		!rules_find(TABLE_OPEN, full) && !rules_find(TABLE_DUNDER_READ, name)) {
		verdict = MODULE_PRIVATE;
	} else if (!session_permits(session, name) && (*row = rules_find(TABLE_GADGETS, full))) {
		verdict = MODULE_GADGET;
	} else if (!session_permits(session, name) && rules_find(TABLE_ONLY_MODULES, module) &&
		!rules_find(TABLE_ONLY, full)) {
		*row = &not_listed;
		verdict = MODULE_GADGET;
	} else {
		verdict = judge_loaded(session, module, name, value, row);
	}
	Py_DECREF(full);
	return verdict;
}
