/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of the walk, and the statements that need no file of their own.
 *
 * Depth and number of nodes are capped before a handler runs, so recursion here is bounded however
 * the text was made. A chain of elif is walked in a loop, because the tree nests it and people do
 * not.
 */
#include "isolate/runner/validator/walk.h"

typedef int handler(struct walker *w, PyObject *node);

static int refuse_unknown(struct walker *w, PyObject *node)
{
	PyObject *kind = tree_kind_name(node);
	int status = kind
		? walk_report(w, RULE_SYNTAX_UNKNOWN, node, kind,
			  PyUnicode_FromFormat(
				  "syntax of the kind %U is not known to the rules", kind),
			  "write it with older syntax", NULL)
		: -1;

	Py_XDECREF(kind);
	return status;
}

static handler *const HANDLERS[NODE_KINDS] = {
	[NODE_UNKNOWN] = refuse_unknown,
#define NODE(type, handler) [NODE_##type] = handler,
#include "isolate/runner/validator/tree_nodes.def"
#undef NODE
};

bool walk_contains(PyObject *set, PyObject *name)
{
	int found = PySet_Contains(set, name);

	if (found < 0)
		PyErr_Clear();
	return found == 1;
}

bool walk_is(PyObject *name, const char *text)
{
	return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

int walk_nothing(struct walker *w, PyObject *node)
{
	(void)w;
	(void)node;
	return 0;
}

static int walk_node(struct walker *w, PyObject *node, enum node_kind kind)
{
	int *level = w->link == node ? &w->chained : &w->depth, status;

	w->link = NULL;
	if (w->stopped || HANDLERS[kind] == walk_nothing)
		return 0;
	if (++w->nodes > WALK_NODES_MOST)
		return walk_stop(w, RULE_TREE_SIZE, node,
			PyUnicode_FromFormat("more than %d syntax nodes", (int)WALK_NODES_MOST),
			"pass data through args instead of writing it into the code");
	if (*level >= (level == &w->depth ? WALK_DEPTH_MOST : WALK_CHAIN_MOST))
		return walk_stop(w, RULE_TREE_DEPTH, node,
			PyUnicode_FromFormat("nested deeper than %d levels", (int)WALK_DEPTH_MOST),
			"use intermediate variables, sum() or str.join()");
	++*level;
	status = HANDLERS[kind](w, node);
	--*level;
	return status;
}

int walk_link(struct walker *w, PyObject *node)
{
	int status;

	w->link = node;
	status = walk_value(w, node);
	w->link = NULL;
	return status;
}

int walk_binary(struct walker *w, PyObject *node)
{
	PyObject *left = tree_get(node, FIELD_left);
	int status = left && walk_link(w, left) == 0 ? walk_field(w, node, FIELD_right) : -1;

	Py_XDECREF(left);
	return status;
}

int walk_value(struct walker *w, PyObject *value)
{
	enum node_kind kind;
	int status = 0;

	if (!PyList_Check(value)) {
		kind = tree_kind(value);
		return kind == NODE_NONE ? 0 : walk_node(w, value, kind);
	}
	for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(value); i++) {
		PyObject *item = PyList_GetItem(value, i);

		Py_XINCREF(item);
		status = item ? walk_value(w, item) : -1;
		Py_XDECREF(item);
	}
	return status;
}

int walk_field(struct walker *w, PyObject *node, enum tree_field field)
{
	PyObject *value = tree_get(node, field);
	int status = value ? walk_value(w, value) : -1;

	Py_XDECREF(value);
	return status;
}

int walk_children(struct walker *w, PyObject *node)
{
	PyObject *names = tree_fields(node);
	Py_ssize_t count = names ? PyTuple_Size(names) : -1;
	int status = count < 0 ? -1 : 0;

	for (Py_ssize_t i = 0; status == 0 && i < count; i++) {
		PyObject *value = PyObject_GetAttr(node, PyTuple_GetItem(names, i));

		if (!value) {
			PyErr_Clear(); /* an optional field that was left out */
			continue;
		}
		status = walk_value(w, value);
		Py_DECREF(value);
	}
	return status;
}

int walk_each(struct walker *w, PyObject *node, enum tree_field field,
	int (*visit)(struct walker *w, PyObject *parent, PyObject *item))
{
	PyObject *list = tree_get(node, field);
	int status = list ? 0 : -1;

	for (Py_ssize_t i = 0; status == 0 && PyList_Check(list) && i < PyList_Size(list); i++) {
		PyObject *item = PyList_GetItem(list, i);

		Py_XINCREF(item);
		status = item ? visit(w, node, item) : -1;
		Py_XDECREF(item);
	}
	Py_XDECREF(list);
	return status;
}

int walk_enter(struct walker *w, enum scope_kind kind)
{
	int left = w->scope, entered = w->next_scope++;

	if (w->pass == PASS_BIND && scopes_add(&w->scopes, kind, left) != entered)
		return -1;
	w->scope = entered;
	return left;
}

int walk_function_scope(const struct walker *w)
{
	int scope = w->scope;

	while (w->scopes.scopes[scope].kind == SCOPE_COMPREHENSION)
		scope = w->scopes.scopes[scope].parent;
	return scope;
}

/* The place of a node; an attribute is pointed at by its name, which is the last thing in it. */
static void place_of(
	const struct walker *w, PyObject *node, PyObject *name, long *line, long *column)
{
	long at = tree_long(node, FIELD_lineno), offset = tree_long(node, FIELD_col_offset), end,
	     last, length;
	const struct source *source = w->source;

	if (at < 0 && w->statement) {
		at = tree_long(w->statement, FIELD_lineno);
		offset = tree_long(w->statement, FIELD_col_offset);
	}
	*line = at > 0 ? at : 0;
	if (tree_kind(node) == NODE_Attribute && name) {
		end = tree_long(node, FIELD_end_col_offset);
		last = tree_long(node, FIELD_end_lineno);
		length = (long)PyUnicode_GetLength(name);
		if (last > 0 && end > length && (last > at || end - length > offset)) {
			*line = last;
			offset = end - length;
		}
	}
	at = *line;
	if (w->expression && at > (long)source->lines) {
		at -= (long)source->lines;
		source = w->expression;
	}
	*column = source_column(source, at, offset);
}

int walk_report(struct walker *w, enum rule rule, PyObject *node, PyObject *name, PyObject *message,
	const char *rewrite, PyObject *rewrite_text)
{
	long line, column;

	if (w->pass == PASS_BIND || !message) {
		Py_XDECREF(rewrite_text);
		Py_XDECREF(message);
		return message ? 0 : -1;
	}
	place_of(w, node, name, &line, &column);
	return violations_add(w->found, rule, line, column, name, message, rewrite, rewrite_text);
}

int walk_stop(
	struct walker *w, enum rule rule, PyObject *node, PyObject *message, const char *rewrite)
{
	long line, column;

	w->stopped = true;
	place_of(w, node, NULL, &line, &column);
	return violations_add(w->found, rule, line, column, NULL, message, rewrite, NULL);
}

int walk_if(struct walker *w, PyObject *node)
{
	PyObject *at = reference(node);
	int status = 0;

	while (status == 0 && !w->stopped) {
		PyObject *test = tree_get(at, FIELD_test), *orelse = tree_get(at, FIELD_orelse),
			 *only = NULL;

		w->tested = test;
		if (!test || !orelse || walk_value(w, test) < 0 ||
			walk_field(w, at, FIELD_body) < 0)
			status = -1;
		w->tested = NULL;
		if (status == 0 && PyList_Check(orelse) && PyList_Size(orelse) == 1 &&
			tree_kind(PyList_GetItem(orelse, 0)) == NODE_If)
			only = reference(PyList_GetItem(orelse, 0));
		else if (status == 0)
			status = walk_value(w, orelse);
		Py_XDECREF(test);
		Py_XDECREF(orelse);
		if (!only)
			break;
		Py_DECREF(at);
		at = only;
		w->nodes++;
	}
	Py_DECREF(at);
	return status;
}

int walk_async(struct walker *w, PyObject *node)
{
	if (walk_function_scope(w) == SCOPE_BODY &&
		walk_report(w, RULE_TOP_LEVEL_AWAIT, node, NULL,
			PyUnicode_FromString(
				"await, async for or async with at the top of the body"),
			"put it into an async def main() and end with return asyncio.run(main()) "
			"(--allow asyncio)",
			NULL) < 0)
		return -1;
	return walk_children(w, node);
}

int walk_yield(struct walker *w, PyObject *node)
{
	if (walk_function_scope(w) == SCOPE_BODY &&
		walk_report(w, RULE_TOP_LEVEL_YIELD, node, NULL,
			PyUnicode_FromString("yield at the top of the body"),
			"append to a list and return the list, or move the yield into a function",
			NULL) < 0)
		return -1;
	return walk_children(w, node);
}

int walk_constant(struct walker *w, PyObject *node)
{
	PyObject *value = tree_get(node, FIELD_value), *bits = NULL;
	int overflow = 0, status = value ? 0 : -1;

	if (value && PyLong_Check(value))
		PyLong_AsLongLongAndOverflow(value, &overflow);
	if (overflow) {
		bits = PyObject_CallMethod(value, "bit_length", NULL);
		if (!bits)
			status = -1;
		else if (PyLong_AsLong(bits) > LITERAL_BITS_MOST)
			status = walk_report(w, RULE_LITERAL_SIZE, node, NULL,
				PyUnicode_FromString("an integer literal of more than 4300 digits"),
				"compute it, for instance 10 ** 5000", NULL);
	}
	Py_XDECREF(bits);
	Py_XDECREF(value);
	return status;
}

/* `x is None`, `x is not None`: x is only compared. */
static bool compares_with_none(PyObject *node)
{
	PyObject *ops = tree_get(node, FIELD_ops), *others = tree_get(node, FIELD_comparators),
		 *value = NULL;
	bool is = ops && others && PyList_Check(ops) && PyList_Size(ops) == 1 &&
		PyList_Size(others) == 1;

	if (is) {
		enum node_kind op = tree_kind(PyList_GetItem(ops, 0));

		is = (op == NODE_Is || op == NODE_IsNot) &&
			tree_kind(PyList_GetItem(others, 0)) == NODE_Constant;
		value = is ? tree_get(PyList_GetItem(others, 0), FIELD_value) : NULL;
		is = value == Py_None;
	}
	PyErr_Clear();
	Py_XDECREF(ops);
	Py_XDECREF(others);
	Py_XDECREF(value);
	return is;
}

/* Does a handler catch ImportError? */
static int catches_import_error(PyObject *handlers)
{
	static const char *const names[] = { "ImportError", "ModuleNotFoundError", "Exception",
		"BaseException" };
	int found = 0;

	for (Py_ssize_t i = 0; PyList_Check(handlers) && i < PyList_Size(handlers); i++) {
		PyObject *type = tree_get(PyList_GetItem(handlers, i), FIELD_type);
		PyObject *list = type && tree_kind(type) == NODE_Tuple
			? tree_get(type, FIELD_elts)
			: Py_BuildValue("[O]", type ? type : Py_None);

		for (Py_ssize_t j = 0; list && PyList_Check(list) && j < PyList_Size(list); j++) {
			PyObject *item = PyList_GetItem(list, j),
				 *name = tree_kind(item) == NODE_Name ? tree_get(item, FIELD_id)
								      : NULL;

			found = found || item == Py_None;
			for (size_t n = 0; name && n < sizeof names / sizeof names[0]; n++)
				found = found || walk_is(name, names[n]);
			Py_XDECREF(name);
		}
		Py_XDECREF(list);
		Py_XDECREF(type);
	}
	return found;
}

int walk_try(struct walker *w, PyObject *node)
{
	PyObject *handlers = tree_get(node, FIELD_handlers);
	int caught = handlers ? catches_import_error(handlers) : 0,
	    status = handlers && !PyErr_Occurred() ? 0 : -1;

	w->import_caught += caught;
	if (status == 0)
		status = walk_field(w, node, FIELD_body);
	w->import_caught -= caught;
	if (status == 0 &&
		(walk_value(w, handlers) < 0 || walk_field(w, node, FIELD_orelse) < 0 ||
			walk_field(w, node, FIELD_finalbody) < 0))
		status = -1;
	Py_XDECREF(handlers);
	return status;
}

int walk_compare(struct walker *w, PyObject *node)
{
	PyObject *left = tree_get(node, FIELD_left);
	int status;

	w->tested = left && compares_with_none(node) ? left : NULL;
	status = left && walk_value(w, left) == 0 && walk_field(w, node, FIELD_comparators) == 0
		? 0
		: -1;
	w->tested = NULL;
	Py_XDECREF(left);
	return status;
}

int walk_truth(struct walker *w, PyObject *node)
{
	PyObject *op = tree_get(node, FIELD_op), *operand = tree_get(node, FIELD_operand);
	int status;

	w->tested = op && tree_kind(op) == NODE_Not ? operand : NULL;
	status = op && operand ? walk_value(w, operand) : -1;
	w->tested = NULL;
	Py_XDECREF(op);
	Py_XDECREF(operand);
	return status;
}
