/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of what opens a scope or binds names: functions, classes, comprehensions, assignments,
 * patterns.
 *
 * They mirror the interpreter's own rules: defaults, decorators and the first iterable of a
 * comprehension belong to the scope outside; a walrus binds in the nearest function; class names
 * are not seen from methods. Every identifier that binds is checked, including those that are plain
 * strings in the tree (aliases, captures, handlers, parameters).
 */
#include "isolate/runner/validator/walk.h"

int walk_bind(struct walker *w, PyObject *node, PyObject *name, unsigned flags)
{
	bool in_class = w->scopes.scopes[w->scope].kind == SCOPE_CLASS;

	if (w->pass == PASS_BIND) {
		if (in_class && PySet_Add(w->own, name) < 0)
			return -1;
		return scopes_bind(&w->scopes, w->scope, name, flags) ? 0 : -1;
	}
	if (!rules_is_dunder(name) || session_permits(w->session, name) || w->vetted == node)
		return 0;
	if (in_class && rules_find(TABLE_CLASS_METHODS, name))
		return 0;
	if (w->scope == SCOPE_BODY && rules_find(TABLE_MODULE_TEXT, name))
		return 0;
	if (in_class && (flags & SYMBOL_DEFINITION))
		return walk_report(w, RULE_METHOD_DUNDER, node, name,
			PyUnicode_FromFormat("a method called '%U' may not be defined", name),
			"use an ordinary method name, or one of the usual special methods", NULL);
	return walk_report(w, RULE_BINDING_DUNDER, node, name,
		PyUnicode_FromFormat("the name '%U' may not be bound", name),
		"use a name without the double underscores", NULL);
}

static int bind_field(struct walker *w, PyObject *node, enum tree_field field, unsigned flags)
{
	PyObject *name = tree_get(node, field);
	int status = !name ? -1 : PyUnicode_Check(name) ? walk_bind(w, node, name, flags) : 0;

	Py_XDECREF(name);
	return status;
}

/* An annotation; never evaluated under `from __future__ import annotations`. */
static int walk_annotation(struct walker *w, PyObject *node, enum tree_field field)
{
	int status;

	w->unevaluated += w->future_annotations;
	status = walk_field(w, node, field);
	w->unevaluated -= w->future_annotations;
	return status;
}

static int annotate_parameter(struct walker *w, PyObject *arguments, PyObject *parameter)
{
	(void)arguments;
	return walk_annotation(w, parameter, FIELD_annotation);
}

static int for_single(struct walker *w, PyObject *arguments, enum tree_field field,
	int (*visit)(struct walker *, PyObject *, PyObject *))
{
	PyObject *parameter = tree_get(arguments, field);
	int status = !parameter ? -1 : parameter == Py_None ? 0 : visit(w, arguments, parameter);

	Py_XDECREF(parameter);
	return status;
}

static int each_parameter(struct walker *w, PyObject *arguments,
	int (*visit)(struct walker *, PyObject *, PyObject *))
{
	if (walk_each(w, arguments, FIELD_posonlyargs, visit) < 0 ||
		walk_each(w, arguments, FIELD_args, visit) < 0 ||
		for_single(w, arguments, FIELD_vararg, visit) < 0 ||
		walk_each(w, arguments, FIELD_kwonlyargs, visit) < 0)
		return -1;
	return for_single(w, arguments, FIELD_kwarg, visit);
}

static int bind_parameter(struct walker *w, PyObject *arguments, PyObject *parameter)
{
	(void)arguments;
	return bind_field(w, parameter, FIELD_arg, SYMBOL_PARAMETER | SYMBOL_OTHER);
}

/* Marks the first parameter of a method: attributes of it are the body's own. */
static int mark_receiver(struct walker *w, PyObject *arguments)
{
	static const enum tree_field lists[] = { FIELD_posonlyargs, FIELD_args };

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		PyObject *list = tree_get(arguments, lists[i]), *name;
		struct symbol *symbol;

		if (!list || !PyList_Check(list) || PyList_Size(list) == 0) {
			Py_XDECREF(list);
			continue;
		}
		name = tree_get(PyList_GetItem(list, 0), FIELD_arg);
		symbol = name ? scopes_symbol(&w->scopes, w->scope, name) : NULL;
		Py_XDECREF(name);
		Py_DECREF(list);
		if (!symbol)
			return -1;
		symbol->flags |= SYMBOL_RECEIVER;
		return 0;
	}
	return 0;
}

/* Parameters and body of a function or lambda, in a scope of their own. */
static int walk_inside(
	struct walker *w, PyObject *node, PyObject *arguments, enum scope_kind kind, bool is_method)
{
	int left = walk_enter(w, kind), status;

	if (left < 0)
		return -1;
	status = each_parameter(w, arguments, bind_parameter);
	if (status == 0 && is_method && w->pass == PASS_BIND)
		status = mark_receiver(w, arguments);
	if (status == 0)
		status = walk_field(w, node, FIELD_body);
	w->scope = left;
	return status;
}

/*
 * Opens the scope of type parameters (def f[T]: ...), when there are any. Returns the scope that
 * was left, or -1.
 */
static int enter_type_parameters(struct walker *w, PyObject *node)
{
	PyObject *list = tree_get(node, FIELD_type_params);
	int left = w->scope;

	if (!list)
		return -1;
	if (PyList_Check(list) && PyList_Size(list) > 0) {
		left = walk_enter(w, SCOPE_TYPE_PARAMETERS);
		if (left >= 0 && walk_value(w, list) < 0)
			left = -1;
	}
	Py_DECREF(list);
	return left;
}

int walk_function(struct walker *w, PyObject *node)
{
	enum scope_kind kind =
		tree_kind(node) == NODE_AsyncFunctionDef ? SCOPE_ASYNC : SCOPE_FUNCTION;
	bool is_method = w->scopes.scopes[w->scope].kind == SCOPE_CLASS;
	PyObject *arguments = tree_get(node, FIELD_args);
	int left, status = -1;

	if (!arguments || walk_field(w, node, FIELD_decorator_list) < 0 ||
		walk_field(w, arguments, FIELD_defaults) < 0 ||
		walk_field(w, arguments, FIELD_kw_defaults) < 0 ||
		bind_field(w, node, FIELD_name, SYMBOL_DEFINITION | SYMBOL_OTHER) < 0)
		goto out;
	left = enter_type_parameters(w, node);
	if (left < 0)
		goto out;
	if (each_parameter(w, arguments, annotate_parameter) == 0 &&
		walk_annotation(w, node, FIELD_returns) == 0)
		status = walk_inside(w, node, arguments, kind, is_method);
	w->scope = left;
out:
	Py_XDECREF(arguments);
	return status;
}

int walk_lambda(struct walker *w, PyObject *node)
{
	PyObject *arguments = tree_get(node, FIELD_args);
	int status = -1;

	if (arguments && walk_field(w, arguments, FIELD_defaults) == 0 &&
		walk_field(w, arguments, FIELD_kw_defaults) == 0)
		status = walk_inside(w, node, arguments, SCOPE_FUNCTION, false);
	Py_XDECREF(arguments);
	return status;
}

static int check_class_keyword(struct walker *w, PyObject *node, PyObject *keyword)
{
	PyObject *name = tree_get(keyword, FIELD_arg);
	int status = name ? 0 : -1;

	if (name == Py_None)
		status = walk_report(w, RULE_CLASS_METACLASS, node, NULL,
			PyUnicode_FromString("a class with **keywords, which may hide a metaclass"),
			"write the keywords out", NULL);
	else if (name && walk_is(name, "metaclass") && !session_permits(w->session, name))
		status = walk_report(w, RULE_CLASS_METACLASS, node, name,
			PyUnicode_FromString("a class with metaclass="),
			"inherit from abc.ABC for abstract classes, or use a class decorator",
			NULL);
	Py_XDECREF(name);
	return status;
}

int walk_class(struct walker *w, PyObject *node)
{
	int outer = w->scope, left = -1, inner;

	if (walk_field(w, node, FIELD_decorator_list) < 0 ||
		bind_field(w, node, FIELD_name, SYMBOL_DEFINITION | SYMBOL_OTHER) < 0)
		return -1;
	if ((left = enter_type_parameters(w, node)) < 0 ||
		walk_each(w, node, FIELD_keywords, check_class_keyword) < 0 ||
		walk_field(w, node, FIELD_bases) < 0 || walk_field(w, node, FIELD_keywords) < 0)
		goto fail;
	inner = walk_enter(w, SCOPE_CLASS);
	if (inner < 0 || walk_field(w, node, FIELD_body) < 0)
		goto fail;
	w->scope = outer;
	return 0;
fail:
	w->scope = outer;
	return -1;
}

static int walk_generator(struct walker *w, PyObject *generator, bool first)
{
	long is_async = tree_long(generator, FIELD_is_async);

	if (is_async > 0 && walk_function_scope(w) == SCOPE_BODY) {
		PyObject *target = tree_get(generator, FIELD_target);
		int status = target
			? walk_report(w, RULE_TOP_LEVEL_AWAIT, target, NULL,
				  PyUnicode_FromString(
					  "an async comprehension at the top of the body"),
				  "put it into an async def main() and end with return "
				  "asyncio.run(main()) (--allow asyncio)",
				  NULL)
			: -1;

		Py_XDECREF(target);
		if (status < 0)
			return -1;
	}
	if (walk_field(w, generator, FIELD_target) < 0 ||
		(!first && walk_field(w, generator, FIELD_iter) < 0))
		return -1;
	return walk_field(w, generator, FIELD_ifs);
}

int walk_comprehension(struct walker *w, PyObject *node)
{
	PyObject *generators = tree_get(node, FIELD_generators);
	int left, status = 0;

	if (!generators || !PyList_Check(generators) || PyList_Size(generators) < 1 ||
		walk_field(w, PyList_GetItem(generators, 0), FIELD_iter) < 0 ||
		(left = walk_enter(w, SCOPE_COMPREHENSION)) < 0) {
		Py_XDECREF(generators);
		return PyErr_Occurred() ? -1 : 0;
	}
	for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(generators); i++)
		status = walk_generator(w, PyList_GetItem(generators, i), i == 0);
	if (status == 0 &&
		(walk_field(w, node, FIELD_elt) < 0 || walk_field(w, node, FIELD_key) < 0 ||
			walk_field(w, node, FIELD_value) < 0))
		status = -1;
	w->scope = left;
	Py_DECREF(generators);
	return status;
}

int walk_named(struct walker *w, PyObject *node)
{
	int here = w->scope, status;

	if (walk_field(w, node, FIELD_value) < 0)
		return -1;
	w->scope = walk_function_scope(w);
	status = walk_field(w, node, FIELD_target);
	w->scope = here;
	return status;
}

int walk_handler(struct walker *w, PyObject *node)
{
	if (walk_field(w, node, FIELD_type) < 0 ||
		bind_field(w, node, FIELD_name, SYMBOL_EXCEPTION | SYMBOL_OTHER) < 0)
		return -1;
	return walk_field(w, node, FIELD_body);
}

static int declare(struct walker *w, PyObject *node, PyObject *name)
{
	unsigned flag = tree_kind(node) == NODE_Global ? SYMBOL_GLOBAL : SYMBOL_NONLOCAL;

	if (!PyUnicode_Check(name))
		return 0;
	if (w->pass == PASS_BIND)
		return scopes_declare(&w->scopes, w->scope, name, flag);
	if (!rules_is_dunder(name) || session_permits(w->session, name))
		return 0;
	return walk_report(w, RULE_BINDING_DUNDER, node, name,
		PyUnicode_FromFormat("the name '%U' may not be declared", name),
		"use a name without the double underscores", NULL);
}

int walk_declaration(struct walker *w, PyObject *node)
{
	return walk_each(w, node, FIELD_names, declare);
}

int walk_type_alias(struct walker *w, PyObject *node)
{
	int outer = w->scope, status = -1;

	if (walk_field(w, node, FIELD_name) == 0 && enter_type_parameters(w, node) >= 0)
		status = walk_field(w, node, FIELD_value);
	w->scope = outer;
	return status;
}

int walk_type_parameter(struct walker *w, PyObject *node)
{
	if (bind_field(w, node, FIELD_name, SYMBOL_OTHER) < 0)
		return -1;
	return walk_children(w, node);
}

int walk_match_name(struct walker *w, PyObject *node)
{
	if (bind_field(w, node, FIELD_name, SYMBOL_OTHER) < 0)
		return -1;
	return walk_children(w, node);
}

int walk_match_mapping(struct walker *w, PyObject *node)
{
	if (bind_field(w, node, FIELD_rest, SYMBOL_OTHER) < 0)
		return -1;
	return walk_children(w, node);
}

static int check_pattern_attribute(struct walker *w, PyObject *node, PyObject *name)
{
	return w->pass == PASS_JUDGE && PyUnicode_Check(name)
		? walk_check_attribute(w, node, name, NULL)
		: 0;
}

int walk_match_class(struct walker *w, PyObject *node)
{
	if (walk_each(w, node, FIELD_kwd_attrs, check_pattern_attribute) < 0)
		return -1;
	return walk_children(w, node);
}
