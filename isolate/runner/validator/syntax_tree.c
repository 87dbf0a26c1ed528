/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to the interpreter's syntax tree.
 *
 * The lookups (types to kinds, interned field names) are made once per process and then only read.
 * A body never gets hold of a tree, so nothing that it does can change what is read here.
 */
#include "isolate/runner/validator/syntax_tree.h"

enum { ONLY_AST = 0x400 /* PyCF_ONLY_AST */, SUM_DEPTH = 64 };

static struct {
	PyObject *module;            /* _ast */
	PyObject *base;              /* _ast.AST */
	PyObject *kinds;             /* dict: type -> kind */
	PyObject *types[NODE_KINDS]; /* NULL where this interpreter has no such node */
	PyObject *fields[FIELD_COUNT];
	PyObject *field_list; /* "_fields" */
	PyObject *compile;    /* builtins.compile */
} tree;

static const char *const KIND_NAMES[NODE_KINDS] = {
#define NODE(type, handler) [NODE_##type] = #type,
#include "isolate/runner/validator/tree_nodes.def"
#undef NODE
};

static const char *const FIELD_NAMES[FIELD_COUNT] = {
#define FIELD(name) #name,
	TREE_FIELDS(FIELD)
#undef FIELD
};

static int add_kind(int kind)
{
	PyObject *number;
	int status;

	tree.types[kind] = PyObject_GetAttrString(tree.module, KIND_NAMES[kind]);
	if (!tree.types[kind]) {
		PyErr_Clear(); /* syntax that this interpreter does not have */
		return 0;
	}
	number = PyLong_FromLong(kind);
	status = number ? PyDict_SetItem(tree.kinds, tree.types[kind], number) : -1;
	Py_XDECREF(number);
	return status;
}

int tree_prepare(void)
{
	PyObject *builtins;

	if (tree.compile)
		return 0;
	tree.module = PyImport_ImportModuleLevel("_ast", NULL, NULL, NULL, 0);
	builtins = PyImport_ImportModuleLevel("builtins", NULL, NULL, NULL, 0);
	tree.base = tree.module ? PyObject_GetAttrString(tree.module, "AST") : NULL;
	tree.kinds = PyDict_New();
	tree.field_list = PyUnicode_InternFromString("_fields");
	if (!builtins || !tree.base || !tree.kinds || !tree.field_list)
		goto fail;
	for (int k = NODE_UNKNOWN + 1; k < NODE_KINDS; k++) {
		if (add_kind(k) < 0)
			goto fail;
	}
	for (int f = 0; f < FIELD_COUNT; f++) {
		if (!(tree.fields[f] = PyUnicode_InternFromString(FIELD_NAMES[f])))
			goto fail;
	}
	tree.compile = PyObject_GetAttrString(builtins, "compile");
fail:
	Py_XDECREF(builtins);
	return tree.compile ? 0 : -1;
}

enum node_kind tree_kind(PyObject *o)
{
	PyObject *number = PyDict_GetItemWithError(tree.kinds, (PyObject *)Py_TYPE(o));

	if (number)
		return (enum node_kind)PyLong_AsLong(number);
	PyErr_Clear();
	return PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)tree.base) ? NODE_UNKNOWN : NODE_NONE;
}

PyObject *tree_kind_name(PyObject *node)
{
	return PyObject_GetAttrString((PyObject *)Py_TYPE(node), "__name__");
}

PyObject *tree_get(PyObject *node, enum tree_field field)
{
	PyObject *value = PyObject_GetAttr(node, tree.fields[field]);

	if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
		PyErr_Clear();
		return reference(Py_None);
	}
	return value;
}

int tree_set(PyObject *node, enum tree_field field, PyObject *value)
{
	return PyObject_SetAttr(node, tree.fields[field], value);
}

long tree_long(PyObject *node, enum tree_field field)
{
	PyObject *value = tree_get(node, field);
	long number = value && PyLong_Check(value) ? PyLong_AsLong(value) : -1;

	PyErr_Clear();
	Py_XDECREF(value);
	return number;
}

PyObject *tree_fields(PyObject *node)
{
	PyObject *names = PyObject_GetAttr((PyObject *)Py_TYPE(node), tree.field_list);

	if (names && !PyTuple_Check(names)) {
		Py_CLEAR(names);
		PyErr_SetString(PyExc_TypeError, "a node without a tuple of fields");
	}
	Py_XDECREF(names); /* the type keeps it alive */
	return names;
}

static int place(PyObject *node)
{
	PyObject *one = PyLong_FromLong(1), *zero = PyLong_FromLong(0);
	int status = one && zero && tree_set(node, FIELD_lineno, one) == 0 &&
			tree_set(node, FIELD_end_lineno, one) == 0 &&
			tree_set(node, FIELD_col_offset, zero) == 0 &&
			tree_set(node, FIELD_end_col_offset, zero) == 0
		? 0
		: -1;

	Py_XDECREF(one);
	Py_XDECREF(zero);
	return status;
}

int tree_copy_place(PyObject *node, PyObject *like)
{
	static const enum tree_field fields[] = { FIELD_lineno, FIELD_col_offset, FIELD_end_lineno,
		FIELD_end_col_offset };
	int status = 0;

	for (size_t i = 0; status == 0 && i < sizeof fields / sizeof fields[0]; i++) {
		PyObject *value = tree_get(like, fields[i]);

		status = value ? tree_set(node, fields[i], value) : -1;
		Py_XDECREF(value);
	}
	return status;
}

static int move_one(PyObject *node, enum tree_field field, long lines)
{
	long at = tree_long(node, field);
	PyObject *moved = at > 0 ? PyLong_FromLong(at + lines) : NULL;
	int status = at <= 0 ? 0 : moved ? tree_set(node, field, moved) : -1;

	Py_XDECREF(moved);
	return status;
}

int tree_move_down(PyObject *node, long lines, int depth)
{
	PyObject *names;
	int status = 0;

	if (PyList_Check(node)) {
		for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(node); i++)
			status = tree_move_down(PyList_GetItem(node, i), lines, depth);
		return status;
	}
	if (tree_kind(node) == NODE_NONE || depth <= 0)
		return 0;
	names = tree_fields(node);
	if (!names || move_one(node, FIELD_lineno, lines) < 0 ||
		move_one(node, FIELD_end_lineno, lines) < 0)
		return -1;
	for (Py_ssize_t i = 0; status == 0 && i < PyTuple_Size(names); i++) {
		PyObject *value = PyObject_GetAttr(node, PyTuple_GetItem(names, i));

		if (!value) {
			PyErr_Clear();
			continue;
		}
		status = tree_move_down(value, lines, depth - 1);
		Py_DECREF(value);
	}
	return status;
}

static PyObject *make(PyObject *type, PyObject *keywords)
{
	PyObject *nothing = PyTuple_New(0), *node = NULL;

	if (!type)
		PyErr_SetString(PyExc_RuntimeError, "this interpreter lacks a syntax node");
	else if (nothing)
		node = PyObject_Call(type, nothing, keywords);
	if (node && place(node) < 0)
		Py_CLEAR(node);
	Py_XDECREF(nothing);
	return node;
}

PyObject *tree_make(enum node_kind kind, PyObject *keywords)
{
	return make(tree.types[kind], keywords);
}

PyObject *tree_make_named(const char *type, PyObject *keywords)
{
	PyObject *class = PyObject_GetAttrString(tree.module, type), *node;

	if (!class)
		return NULL;
	node = make(class, keywords);
	Py_DECREF(class);
	return node;
}

static PyObject *run_compile(PyObject *what, const char *file, const char *mode, int flags)
{
	/* compile(source, filename, mode, flags, dont_inherit) */
	return PyObject_CallFunction(tree.compile, "Ossii", what, file, mode, flags, 1);
}

PyObject *tree_parse(PyObject *text, const char *file, const char *mode)
{
	return run_compile(text, file, mode, ONLY_AST);
}

PyObject *tree_compile(PyObject *node, const char *file)
{
	return run_compile(node, file, "exec", 0);
}

static PyObject *sum_text(PyObject *node, int depth)
{
	enum node_kind kind = tree_kind(node);
	PyObject *left = NULL, *right = NULL, *op = NULL, *a = NULL, *b = NULL, *text = NULL;

	if (kind == NODE_Constant) {
		text = tree_get(node, FIELD_value);
		if (text && !PyUnicode_Check(text))
			Py_CLEAR(text);
		return text;
	}
	if (kind != NODE_BinOp || depth > SUM_DEPTH)
		return NULL;
	op = tree_get(node, FIELD_op);
	if (op && tree_kind(op) == NODE_Add) {
		left = tree_get(node, FIELD_left);
		right = tree_get(node, FIELD_right);
		a = left ? sum_text(left, depth + 1) : NULL;
		b = a && right ? sum_text(right, depth + 1) : NULL;
		text = b ? PyUnicode_Concat(a, b) : NULL;
	}
	Py_XDECREF(op);
	Py_XDECREF(left);
	Py_XDECREF(right);
	Py_XDECREF(a);
	Py_XDECREF(b);
	return text;
}

PyObject *tree_constant_text(PyObject *node)
{
	PyObject *text = sum_text(node, 0);

	if (!text)
		PyErr_Clear();
	return text;
}
