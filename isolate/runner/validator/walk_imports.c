/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports, and what is done with imported names.
 *
 * A name can stand for several imports (two branches, one alias), so each of them is followed. A
 * chain of attributes is resolved module by module; a module itself is never a value, because the
 * walk cannot follow it from there.
 */
#include "isolate/runner/validator/walk.h"

static int report_import(struct walker *w, PyObject *node, PyObject *dotted,
	enum import_verdict verdict, const struct rule_row *row)
{
	PyObject *rewrite, *permit;

	switch (verdict) {
	case IMPORT_NEVER:
		permit = row->name[0] ? PyUnicode_FromString(row->name) : policy_root(dotted);
		rewrite = permit ? PyUnicode_FromFormat("do without it; an operator who wants it "
							"needs --allow %U and --permit %U",
					   dotted, permit)
				 : NULL;
		Py_XDECREF(permit);
		return !rewrite ? -1
				: walk_report(w, RULE_IMPORT_NEVER, node, dotted,
					  PyUnicode_FromFormat("import of '%U' is not allowed: %s",
						  dotted, row->why),
					  NULL, rewrite);
	case IMPORT_PRIVATE:
		return walk_report(w, RULE_IMPORT_PRIVATE, node, dotted,
			PyUnicode_FromFormat(
				"import of '%U' is not allowed: it is private", dotted),
			"import the public module", NULL);
	case IMPORT_SUBMODULE:
		rewrite = PyUnicode_FromFormat("allow it by its full name with --allow %U", dotted);
		return !rewrite ? -1
				: walk_report(w, RULE_IMPORT_SUBMODULE, node, dotted,
					  PyUnicode_FromFormat("import of '%U' is not allowed: it "
							       "does not come with its package",
						  dotted),
					  NULL, rewrite);
	case IMPORT_NOT_ALLOWED:
		if (w->import_caught)
			return 0; /* it fails where the body expects it to */
		rewrite = PyUnicode_FromFormat("allow it with --allow %U", dotted);
		return !rewrite
			? -1
			: walk_report(w, RULE_IMPORT_NOT_ALLOWED, node, dotted,
				  PyUnicode_FromFormat("import of '%U' is not allowed", dotted),
				  NULL, rewrite);
	case IMPORT_ALLOWED:
		break;
	}
	return 0;
}

/* Judges the module of an import statement. Sets *allowed. */
static int check_module(struct walker *w, PyObject *node, PyObject *dotted, bool *allowed)
{
	const struct rule_row *row;
	enum import_verdict verdict = policy_import(w->session, dotted, &row);

	*allowed = verdict == IMPORT_ALLOWED;
	return report_import(w, node, dotted, verdict, row);
}

static int check_in_class(struct walker *w, PyObject *node)
{
	if (w->scopes.scopes[w->scope].kind != SCOPE_CLASS)
		return 0;
	return walk_report(w, RULE_IMPORT_IN_CLASS, node, NULL,
		PyUnicode_FromString("an import inside a class"), "move it to the top of the body",
		NULL);
}

static int report_gadget(struct walker *w, PyObject *node, PyObject *module, PyObject *name,
	const struct rule_row *row)
{
	return walk_report(w, RULE_MODULE_GADGET, node, name,
		PyUnicode_FromFormat("'%U.%U' is not allowed: %s", module, name, row->why),
		row->rewrite ? row->rewrite : "use the ordinary names of the module", NULL);
}

static int report_name(struct walker *w, PyObject *node, PyObject *module, PyObject *name,
	int verdict, const struct rule_row *row)
{
	PyObject *rewrite;

	switch (verdict) {
	case MODULE_PRIVATE:
		return walk_report(w, RULE_MODULE_PRIVATE, node, name,
			PyUnicode_FromFormat("'%U.%U' is private", module, name),
			"use the public API of the module", NULL);
	case MODULE_FOREIGN:
		rewrite = PyUnicode_FromFormat("import '%U' by itself, and allow it", name);
		return !rewrite ? -1
				: walk_report(w, RULE_MODULE_ATTRIBUTE, node, name,
					  PyUnicode_FromFormat(
						  "'%U.%U' is a module that '%U' happens to use",
						  module, name, module),
					  NULL, rewrite);
	case MODULE_GADGET:
		return report_gadget(w, node, module, name, row);
	case MODULE_MISSING:
		return w->unsure
			? 0
			: walk_report(w, RULE_MODULE_NAME, node, name,
				  PyUnicode_FromFormat(
					  "the module '%U' has no public name '%U'", module, name),
				  "look the name up in the module's documentation for this Python "
				  "version",
				  NULL);
	default:
		return 0;
	}
}

static PyObject *join_dotted(PyObject *module, PyObject *name)
{
	return PyUnicode_FromFormat("%U.%U", module, name);
}

/* Is this the callee of a call with exactly one plain argument? */
static bool is_called_with_one(const struct walker *w, PyObject *node)
{
	PyObject *arguments, *keywords;
	bool one;

	if (!w->call || w->callee != node)
		return false;
	arguments = tree_get(w->call, FIELD_args);
	keywords = tree_get(w->call, FIELD_keywords);
	one = arguments && keywords && PyList_Check(arguments) && PyList_Size(arguments) == 1 &&
		PyList_Size(keywords) == 0 &&
		tree_kind(PyList_GetItem(arguments, 0)) != NODE_Starred;
	PyErr_Clear();
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	return one;
}

/* functools.wraps is fine as @wraps(function) and nothing else. */
static int check_wraps(struct walker *w, PyObject *node, PyObject *module, PyObject *name)
{
	if (!walk_is(module, "functools") || !walk_is(name, "wraps") ||
		session_permits(w->session, name) || is_called_with_one(w, node))
		return 0;
	return walk_report(w, RULE_WRAPS_ARGUMENTS, node, name,
		PyUnicode_FromString("functools.wraps is allowed only with one argument"),
		"write @functools.wraps(function)", NULL);
}

static int report_module_value(struct walker *w, PyObject *node, PyObject *module)
{
	return walk_report(w, RULE_MODULE_VALUE, node, module,
		PyUnicode_FromFormat("the module '%U' is used as a value", module),
		"use it as module.name, or import what you need from it", NULL);
}

/*
 * Follows one origin along the links (outermost first, so from the end). Generic rules apply to
 * whatever comes after the modules.
 */
static int follow(struct walker *w, const struct origin *origin, PyObject **links, int count)
{
	PyObject *module = origin->name ? NULL : reference(origin->module);
	int status = 0;

	for (int i = count - 1; status == 0 && i >= 0; i--) {
		PyObject *name = tree_get(links[i], FIELD_attr), *value = NULL, *next = NULL;
		const struct rule_row *row = name ? rules_attribute(name) : NULL;
		int verdict = MODULE_PUBLIC;

		if (!name) {
			status = -1;
		} else if (!module ||
			(row && !session_permits(w->session, name) && rules_is_dunder(name))) {
			value = tree_get(links[i], FIELD_value);
			status = value ? walk_check_attribute(w, links[i], name, value) : -1;
			Py_CLEAR(module);
		} else if ((verdict = policy_name(w->session, module, name, NULL, &row)) ==
			MODULE_SUBMODULE) {
			next = join_dotted(module, name);
			status = next ? 0 : -1;
			Py_DECREF(module);
			module = next;
		} else {
			status = verdict < 0 ? -1
					     : report_name(w, links[i], module, name, verdict, row);
			if (status == 0 && verdict == MODULE_PUBLIC)
				status = check_wraps(w, links[i], module, name);
			Py_CLEAR(module);
		}
		Py_XDECREF(name);
		Py_XDECREF(value);
		if (verdict != MODULE_PUBLIC && verdict != MODULE_SUBMODULE)
			break;
	}
	if (status == 0 && module && w->tested != links[0])
		status = report_module_value(w, links[0], module);
	Py_XDECREF(module);
	return status;
}

int walk_import_chain(struct walker *w, const struct symbol *symbol, PyObject **links, int count)
{
	/*
	 * `import datetime` and `from datetime import datetime`: what one of them lacks, the other
	 * may have.
	 */
	w->unsure = symbol->origins->next != NULL || (symbol->flags & SYMBOL_OTHER);
	for (const struct origin *o = symbol->origins; o; o = o->next) {
		if (follow(w, o, links, count) < 0)
			return -1;
	}
	return 0;
}

int walk_import_value(struct walker *w, const struct symbol *symbol, PyObject *node)
{
	for (const struct origin *o = symbol->origins; o; o = o->next) {
		int status = 0;

		if (o->name)
			status = check_wraps(w, node, o->module, o->name);
		else if (w->tested != node)
			status = report_module_value(w, node, o->module);
		if (status < 0)
			return -1;
	}
	return 0;
}

/*
 * An import that is a statement of the body itself, in no branch, loop or function, rebinds its
 * name for all of the text that follows, when nothing but imports binds that name.
 */
static int meet_import(struct walker *w, PyObject *name, PyObject *module, PyObject *taken)
{
	struct symbol *symbol;

	if (w->scope != SCOPE_BODY || walk_contains(w->scopes.declared, name))
		return 0;
	symbol = scopes_symbol(&w->scopes, SCOPE_BODY, name);
	if (!symbol)
		return -1;
	scopes_meet_origin(symbol, module, taken, w->depth == 1 && !(symbol->flags & SYMBOL_OTHER));
	return 0;
}

/*
 * Binds what an import makes: name, standing for a module or for something in it. A refused import
 * (module NULL) is bound like any other name, so that it is reported once and not at every use.
 */
static int bind_import(
	struct walker *w, PyObject *node, PyObject *name, PyObject *module, PyObject *taken)
{
	struct symbol *symbol;

	if (walk_bind(w, node, name, module ? 0 : SYMBOL_OTHER) < 0)
		return -1;
	if (w->pass != PASS_BIND || !module)
		return module ? meet_import(w, name, module, taken) : 0;
	symbol = scopes_symbol(&w->scopes, w->scope, name);
	if (symbol && (symbol->flags & SYMBOL_GLOBAL))
		symbol = scopes_symbol(&w->scopes, SCOPE_GLOBAL, name);
	return symbol ? scopes_add_origin(symbol, module, taken) : -1;
}

/* The part before the first dot: a new reference. */
static PyObject *root_of(PyObject *dotted)
{
	Py_ssize_t length = PyUnicode_GetLength(dotted),
		   dot = PyUnicode_FindChar(dotted, '.', 0, length, 1);

	return PyUnicode_Substring(dotted, 0, dot < 0 ? length : dot);
}

static int import_one(struct walker *w, PyObject *node, PyObject *alias)
{
	PyObject *dotted = tree_get(alias, FIELD_name), *as = tree_get(alias, FIELD_asname),
		 *root = NULL;
	bool allowed;
	int status = -1;

	(void)node;
	if (!dotted || !as || check_module(w, alias, dotted, &allowed) < 0)
		goto out;
	if (as != Py_None) {
		status = bind_import(w, alias, as, allowed ? dotted : NULL, NULL);
	} else {
		root = root_of(dotted);
		status = root ? bind_import(w, alias, root, allowed ? root : NULL, NULL) : -1;
	}
out:
	Py_XDECREF(dotted);
	Py_XDECREF(as);
	Py_XDECREF(root);
	return status;
}

int walk_import(struct walker *w, PyObject *node)
{
	w->statement = node;
	w->unsure = false;
	if (check_in_class(w, node) < 0)
		return -1;
	return walk_each(w, node, FIELD_names, import_one);
}

/*
 * One name of `from module import name as alias`; not allowed means that the module is refused
 * already.
 */
static int import_name(struct walker *w, PyObject *alias, PyObject *module, bool allowed)
{
	PyObject *name = tree_get(alias, FIELD_name), *as = tree_get(alias, FIELD_asname),
		 *full = NULL;
	const struct rule_row *row = NULL;
	int status = -1, verdict = MODULE_PUBLIC;

	if (!name || !as)
		goto out;
	if (walk_is(name, "*")) {
		w->imports_star = true;
		status = walk_report(w, RULE_IMPORT_STAR, alias, NULL,
			PyUnicode_FromString("import *"), "name what you import", NULL);
		goto out;
	}
	if (allowed)
		verdict = policy_name(w->session, module, name, NULL, &row);
	if (verdict < 0 || report_name(w, alias, module, name, verdict, row) < 0)
		goto out;
	if (verdict == MODULE_SUBMODULE) {
		full = join_dotted(module, name);
		status = full ? bind_import(w, alias, as == Py_None ? name : as, full, NULL) : -1;
	} else {
		status = bind_import(
			w, alias, as == Py_None ? name : as, allowed ? module : NULL, name);
	}
out:
	Py_XDECREF(name);
	Py_XDECREF(as);
	Py_XDECREF(full);
	return status;
}

/*
 * `from __future__ import annotations` changes what annotations mean; the directive itself is the
 * compiler's to judge.
 */
static int note_future(struct walker *w, PyObject *node)
{
	PyObject *names = tree_get(node, FIELD_names);

	for (Py_ssize_t i = 0; names && PyList_Check(names) && i < PyList_Size(names); i++) {
		PyObject *name = tree_get(PyList_GetItem(names, i), FIELD_name);

		if (name && walk_is(name, "annotations"))
			w->future_annotations = true;
		Py_XDECREF(name);
	}
	Py_XDECREF(names);
	return PyErr_Occurred() ? -1 : 0;
}

static int import_names(struct walker *w, PyObject *node, PyObject *module)
{
	PyObject *names = tree_get(node, FIELD_names);
	const struct rule_row *row;
	bool passage, allowed;
	enum import_verdict verdict = policy_import(w->session, module, &row);
	int status = names ? 0 : -1;

	/*
	 * `from xml.etree import ElementTree` when only the submodule is allowed: the names decide.
	 */
	passage = verdict != IMPORT_ALLOWED && verdict != IMPORT_NEVER &&
		policy_is_passage(w->session, module);
	allowed = verdict == IMPORT_ALLOWED || passage;
	if (status == 0 && !allowed)
		status = report_import(w, node, module, verdict, row);
	for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(names); i++)
		status = import_name(w, PyList_GetItem(names, i), module, allowed);
	Py_XDECREF(names);
	return status;
}

static int bind_refused(struct walker *w, PyObject *node, PyObject *alias)
{
	(void)node;
	return import_name(w, alias, NULL, false);
}

static int import_relative(struct walker *w, PyObject *node)
{
	if (walk_report(w, RULE_IMPORT_RELATIVE, node, NULL,
		    PyUnicode_FromString("a relative import"),
		    "import the module by its full name, and allow it", NULL) < 0)
		return -1;
	return walk_each(w, node, FIELD_names, bind_refused);
}

int walk_import_from(struct walker *w, PyObject *node)
{
	PyObject *module = tree_get(node, FIELD_module);
	int status;

	w->statement = node;
	w->unsure = false;
	status = module ? check_in_class(w, node) : -1;

	if (status < 0)
		goto out;
	if (tree_long(node, FIELD_level) > 0 || module == Py_None)
		status = import_relative(w, node);
	else if (walk_is(module, "__future__"))
		status = note_future(w, node);
	else
		status = import_names(w, node, module);
out:
	Py_XDECREF(module);
	return status;
}
