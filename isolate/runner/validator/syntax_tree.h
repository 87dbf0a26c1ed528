/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter's syntax tree seen from C.
 *
 * The tree is the one that compile(..., PyCF_ONLY_AST) makes: objects of the built-in module _ast,
 * so neither `ast` nor anything else has to be imported. Kinds are small integers found by the
 * node's type.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_SYNTAX_TREE_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_SYNTAX_TREE_H

#include "isolate/runner/validator/python.h"

#include <stdbool.h>

enum node_kind {
	NODE_NONE,    /* not a node at all: a string, a number, None, a list */
	NODE_UNKNOWN, /* a node of a kind that tree_nodes.def does not list */
#define NODE(type, handler) NODE_##type,
#include "isolate/runner/validator/tree_nodes.def"
#undef NODE
	NODE_KINDS
};

/* clang-format off */
#define TREE_FIELDS(FIELD) \
	FIELD(annotation) FIELD(arg) FIELD(args) FIELD(asname) FIELD(attr) FIELD(bases) \
	FIELD(body) FIELD(bound) FIELD(cls) FIELD(col_offset) FIELD(comparators) FIELD(ctx) \
	FIELD(decorator_list) FIELD(defaults) FIELD(elt) FIELD(elts) FIELD(end_col_offset) \
	FIELD(end_lineno) FIELD(func) FIELD(finalbody) FIELD(generators) FIELD(handlers) \
	FIELD(id) FIELD(ifs) FIELD(is_async) FIELD(iter) FIELD(key) FIELD(keywords) \
	FIELD(kw_defaults) FIELD(kwarg) FIELD(kwd_attrs) FIELD(kwonlyargs) FIELD(left) \
	FIELD(level) FIELD(lineno) FIELD(module) FIELD(name) FIELD(names) FIELD(op) \
	FIELD(operand) FIELD(ops) FIELD(orelse) FIELD(posonlyargs) FIELD(rest) FIELD(returns) \
	FIELD(right) FIELD(simple) FIELD(slice) FIELD(target) FIELD(targets) FIELD(test) \
	FIELD(type) FIELD(type_params) FIELD(value) FIELD(vararg)
/* clang-format on */

enum tree_field {
#define FIELD(name) FIELD_##name,
	TREE_FIELDS(FIELD)
#undef FIELD
		FIELD_COUNT
};

/*
 * Loads _ast and builds the lookups; repeated calls do nothing. Returns 0, or -1 with a Python
 * exception.
 */
int tree_prepare(void);

/* What kind of node o is. Never raises. */
enum node_kind tree_kind(PyObject *o);

/* The name of a node's type, for messages: a new reference, or NULL with an exception. */
PyObject *tree_kind_name(PyObject *node);

/*
 * A field of a node: a new reference; None when the node has no such field; NULL with an exception.
 */
PyObject *tree_get(PyObject *node, enum tree_field field);
/* Sets a field (value is borrowed). Returns 0 or -1. */
int tree_set(PyObject *node, enum tree_field field, PyObject *value);
/* A small integer field (lineno, col_offset, level); -1 when there is none. Never raises. */
long tree_long(PyObject *node, enum tree_field field);

/* The names of a node's fields: a borrowed tuple, or NULL with an exception. */
PyObject *tree_fields(PyObject *node);

/*
 * Makes a node of a kind from keyword arguments (a dict, borrowed), placed at line 1, column 0. A
 * new reference, or NULL.
 */
PyObject *tree_make(enum node_kind kind, PyObject *keywords);
PyObject *tree_make_named(const char *type, PyObject *keywords);

/* Puts node where `like` stands in the text. Returns 0 or -1. */
int tree_copy_place(PyObject *node, PyObject *like);

/*
 * Moves a tree down by a number of lines. Returns 0 or -1. Recursion is bounded by the depth cap of
 * the caller's walk: at most `depth` levels.
 */
int tree_move_down(PyObject *node, long lines, int depth);

/*
 * Parses text (compile() with PyCF_ONLY_AST) in mode "exec" or "eval", or compiles a tree. A new
 * reference, or NULL.
 */
PyObject *tree_parse(PyObject *text, const char *file, const char *mode);
PyObject *tree_compile(PyObject *node, const char *file);

/*
 * A constant str that a node stands for: literals and sums of literals. A new reference, or NULL
 * without an exception when it is none.
 */
PyObject *tree_constant_text(PyObject *node);

#endif
