/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes, subscripts and calls.
 *
 * Attributes are judged by name wherever a name can be written: after a dot, in a class pattern, in
 * a replacement field, in the second argument of a permitted getattr. A chain that starts at an
 * import is followed through its modules instead.
 */
#include "isolate/runner/validator/walk.h"

static bool is_receiver(const struct walker *w, PyObject *value)
{
	PyObject *name;
	const struct symbol *symbol;
	bool receiver;

	if (!value || tree_kind(value) != NODE_Name)
		return false;
	name = tree_get(value, FIELD_id);
	if (!name) {
		PyErr_Clear();
		return false;
	}
	symbol = scopes_resolve(&w->scopes, w->scope, name);
	/*
	 * A method's first parameter, whatever it is called; not a plain function's that is called
	 * self.
	 */
	receiver = symbol && !symbol->origins && (symbol->flags & SYMBOL_RECEIVER);
	Py_DECREF(name);
	return receiver;
}

/* Is value a name that an except clause bound? */
static bool is_caught(const struct walker *w, PyObject *value)
{
	PyObject *name;
	const struct symbol *symbol;

	if (!value || tree_kind(value) != NODE_Name)
		return false;
	name = tree_get(value, FIELD_id);
	symbol = name ? scopes_resolve(&w->scopes, w->scope, name) : NULL;
	PyErr_Clear();
	Py_XDECREF(name);
	return symbol && (symbol->flags & SYMBOL_EXCEPTION);
}

/* Is value a call of that builtin with so many plain arguments? */
static bool calls_builtin(
	const struct walker *w, PyObject *value, const char *builtin, Py_ssize_t count)
{
	PyObject *function = tree_kind(value) == NODE_Call ? tree_get(value, FIELD_func) : NULL,
		 *name = NULL, *arguments = NULL, *keywords = NULL;
	bool calls = false;

	if (function && tree_kind(function) == NODE_Name && (name = tree_get(function, FIELD_id)) &&
		(arguments = tree_get(value, FIELD_args)) &&
		(keywords = tree_get(value, FIELD_keywords)))
		calls = walk_is(name, builtin) && !scopes_resolve(&w->scopes, w->scope, name) &&
			PyList_Size(keywords) == 0 && PyList_Size(arguments) == count &&
			(count == 0 || tree_kind(PyList_GetItem(arguments, 0)) != NODE_Starred);
	PyErr_Clear();
	Py_XDECREF(function);
	Py_XDECREF(name);
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	return calls;
}

/*
 * Base.__init__(self, ...), super().__init__(...): how a class makes its base's part of an object.
 */
static bool makes_base(const struct walker *w, PyObject *node, PyObject *name, PyObject *value)
{
	PyObject *arguments;
	bool makes;

	if (!walk_is(name, "__init__") || w->callee != node || !value)
		return false;
	if (calls_builtin(w, value, "super", 0))
		return true;
	arguments = tree_get(w->call, FIELD_args);
	makes = arguments && PyList_Size(arguments) > 0 &&
		is_receiver(w, PyList_GetItem(arguments, 0));
	PyErr_Clear();
	Py_XDECREF(arguments);
	return makes;
}

int walk_check_attribute(struct walker *w, PyObject *node, PyObject *name, PyObject *value)
{
	const struct rule_row *row;

	if (session_permits(w->session, name) || makes_base(w, node, name, value))
		return 0;
	row = rules_attribute(name);
	if (row)
		return walk_report(w, row->rule, node, name,
			PyUnicode_FromFormat("the attribute '%U' is not allowed", name),
			row->rewrite, NULL);
	if (walk_is(name, "format") || walk_is(name, "format_map"))
		return walk_check_format_use(w, node, name, value);
	if (walk_is(name, "obj") && is_caught(w, value))
		return walk_report(w, RULE_EXCEPTION_OBJECT, node, name,
			PyUnicode_FromString("the attribute 'obj' of an exception is not allowed"),
			"keep the object in a variable of its own", NULL);
	if (rules_is_private(name) && !rules_is_dunder(name) &&
		!rules_find(TABLE_PUBLIC_UNDERSCORE, name) && !is_receiver(w, value) &&
		!walk_contains(w->own, name))
		return walk_report(w, RULE_ATTRIBUTE_PRIVATE, node, name,
			PyUnicode_FromFormat(
				"the attribute '%U' is private to whatever defines it", name),
			"use the public API; attributes of your own classes are fine when the "
			"class sets them",
			NULL);
	return 0;
}

/*
 * Pass 1: an attribute that the body stores on self is its own; so is `format` on any object that
 * it stores it on.
 */
static int note_own(struct walker *w, PyObject *name, PyObject *value, bool stores)
{
	if (!stores ||
		(!is_receiver(w, value) && !walk_is(name, "format") &&
			!walk_is(name, "format_map")))
		return 0;
	return PySet_Add(w->own, name);
}

/* The imported name at the root of a.b[c].d, or NULL. */
static const struct symbol *imported_root(const struct walker *w, PyObject *node)
{
	const struct symbol *symbol = NULL;
	PyObject *at = reference(node);

	while (at) {
		enum node_kind kind = tree_kind(at);
		PyObject *next = NULL;

		if (kind == NODE_Name) {
			PyObject *name = tree_get(at, FIELD_id);

			symbol = name ? scopes_resolve(&w->scopes, w->scope, name) : NULL;
			Py_XDECREF(name);
		} else if (kind == NODE_Attribute || kind == NODE_Subscript) {
			next = tree_get(at, FIELD_value);
		}
		Py_DECREF(at);
		at = next;
	}
	PyErr_Clear();
	return symbol && symbol->origins ? symbol : NULL;
}

static int check_store(struct walker *w, PyObject *node)
{
	const struct symbol *symbol = w->pass == PASS_JUDGE ? imported_root(w, node) : NULL;

	if (!symbol)
		return 0;
	return walk_report(w, RULE_IMPORT_STORE, node, symbol->name,
		PyUnicode_FromFormat("'%U' is imported and may not be changed", symbol->name),
		"copy what you need into a variable, or define a function or subclass of your own",
		NULL);
}

/*
 * Collects the links of an attribute chain, outermost first (new references). Returns their number;
 * *base is a new reference.
 */
static int unroll(PyObject *node, PyObject **links, int most, PyObject **base)
{
	PyObject *at = reference(node);
	int count = 0;

	while (at && count < most && tree_kind(at) == NODE_Attribute) {
		links[count++] = at;
		at = tree_get(at, FIELD_value);
	}
	*base = at;
	return count;
}

/* Judges one attribute together with what it is taken from. */
static int judge_attribute(struct walker *w, PyObject *node, PyObject *name, PyObject *value)
{
	PyObject *links[WALK_DEPTH_MOST], *base = NULL, *root;
	int count = unroll(node, links, WALK_DEPTH_MOST, &base), status = base ? 0 : -1;
	const struct symbol *symbol = NULL;

	if (base && tree_kind(base) == NODE_Name) {
		root = tree_get(base, FIELD_id);
		symbol = root ? scopes_resolve(&w->scopes, w->scope, root) : NULL;
		Py_XDECREF(root);
	}
	if (status == 0 && symbol && symbol->origins) {
		status = walk_import_chain(w, symbol, links, count);
		if (status == 0 && (symbol->flags & SYMBOL_OTHER))
			status = walk_check_attribute(w, node, name, value);
	} else if (status == 0 && walk_check_attribute(w, node, name, value) == 0) {
		/*
		 * The value may have been wrapped in a guard; what it was is visited all the same.
		 */
		status = walk_link(w, value);
	} else {
		status = -1;
	}
	while (count > 0)
		Py_DECREF(links[--count]);
	Py_XDECREF(base);
	return status;
}

int walk_attribute(struct walker *w, PyObject *node)
{
	PyObject *name = tree_get(node, FIELD_attr), *value = tree_get(node, FIELD_value),
		 *context = tree_get(node, FIELD_ctx);
	int status = -1;
	bool stores;

	if (!name || !value || !context)
		goto out;
	stores = tree_kind(context) != NODE_Load;
	if (w->pass == PASS_BIND) {
		status = note_own(w, name, value, stores) == 0 ? walk_link(w, value) : -1;
		goto out;
	}
	if (stores && check_store(w, node) < 0)
		goto out;
	if (!stores && calls_builtin(w, value, "super", 0))
		status = walk_check_attribute(w, node, name, value);
	else if (!stores && walk_is(name, "__name__") && calls_builtin(w, value, "type", 1))
		status = walk_field(w, value, FIELD_args);
	else
		status = judge_attribute(w, node, name, value);
out:
	Py_XDECREF(name);
	Py_XDECREF(value);
	Py_XDECREF(context);
	return status;
}

static int check_key(struct walker *w, PyObject *node, PyObject *slice)
{
	PyObject *key = tree_constant_text(slice);
	const struct rule_row *row = key ? rules_attribute(key) : NULL;
	int status = 0;

	if (row && row->as_key && !session_permits(w->session, key)) {
		PyObject *rewrite = PyUnicode_FromFormat(
			"use another key; plain data with this key needs --permit %U", key);

		status = rewrite ? walk_report(w, RULE_SUBSCRIPT_FORBIDDEN, node, key,
					   PyUnicode_FromFormat("the key '%U' is not allowed", key),
					   NULL, rewrite)
				 : -1;
	}
	Py_XDECREF(key);
	return status;
}

int walk_subscript(struct walker *w, PyObject *node)
{
	PyObject *slice = tree_get(node, FIELD_slice), *context = tree_get(node, FIELD_ctx);
	int status = slice && context ? 0 : -1;

	if (status == 0 && w->pass == PASS_JUDGE) {
		if (tree_kind(context) != NODE_Load)
			status = check_store(w, node);
		if (status == 0)
			status = check_key(w, node, slice);
	}
	if (status == 0)
		status = walk_field(w, node, FIELD_value);
	if (status == 0)
		status = walk_value(w, slice);
	Py_XDECREF(slice);
	Py_XDECREF(context);
	return status;
}

int walk_keyword(struct walker *w, PyObject *node)
{
	PyObject *name = tree_get(node, FIELD_arg);
	int status = name ? 0 : -1;

	if (name && PyUnicode_Check(name) && rules_is_dunder(name) &&
		!session_permits(w->session, name))
		status = walk_report(w, RULE_KEYWORD_DUNDER, node, name,
			PyUnicode_FromFormat("an argument called '%U' is not allowed", name),
			"use a name without the double underscores", NULL);
	Py_XDECREF(name);
	return status < 0 ? -1 : walk_field(w, node, FIELD_value);
}

/*
 * A permitted getattr, setattr or delattr with the attribute written out: the attribute is judged
 * like one after a dot.
 */
static int check_attribute_call(struct walker *w, PyObject *node, PyObject *function)
{
	static const char *const names[] = { "getattr", "setattr", "delattr" };
	PyObject *name = tree_kind(function) == NODE_Name ? tree_get(function, FIELD_id) : NULL,
		 *arguments = NULL, *text = NULL;
	bool by_string = false;
	int status = 0;

	for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
		by_string = by_string || walk_is(name, names[i]);
	if (by_string && !scopes_resolve(&w->scopes, w->scope, name) &&
		(arguments = tree_get(node, FIELD_args)) && PyList_Check(arguments) &&
		PyList_Size(arguments) >= 2 &&
		(text = tree_constant_text(PyList_GetItem(arguments, 1))))
		status = walk_check_attribute(w, node, text, PyList_GetItem(arguments, 0));
	Py_XDECREF(name);
	Py_XDECREF(arguments);
	Py_XDECREF(text);
	return status;
}

int walk_call(struct walker *w, PyObject *node)
{
	PyObject *function = tree_get(node, FIELD_func), *call = w->call, *callee = w->callee;
	int status = function ? 0 : -1;

	if (status == 0 && w->pass == PASS_JUDGE)
		status = check_attribute_call(w, node, function);
	w->call = node;
	w->callee = function;
	if (status == 0)
		status = walk_link(w, function);
	w->call = call;
	w->callee = callee;
	if (status == 0 &&
		(walk_field(w, node, FIELD_args) < 0 || walk_field(w, node, FIELD_keywords) < 0))
		status = -1;
	Py_XDECREF(function);
	return status;
}
