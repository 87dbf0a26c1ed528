/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a body's syntax tree, shared by the files that hold its handlers (walk_*.c).
 *
 * It is done twice with the same code: pass 1 binds names and collects what the body defines, pass
 * 2 judges every use. Scopes are numbered in the order in which they are met, so the second pass
 * finds those of the first. Handlers return 0, or -1 with an exception.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_WALK_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_WALK_H

#include "isolate/runner/validator/import_policy.h"
#include "isolate/runner/validator/scopes.h"
#include "isolate/runner/validator/source.h"
#include "isolate/runner/validator/syntax_tree.h"
#include "isolate/runner/validator/violations.h"

enum {
	WALK_NODES_MOST = 20000,
	WALK_DEPTH_MOST = 100,
	WALK_CHAIN_MOST = 1000,
	LITERAL_BITS_MOST = 14285 /* 4300 digits */
};

enum walk_pass { PASS_BIND = 1, PASS_JUDGE };

struct walker {
	const struct session *session;
	const struct source *source; /* the body */
	/* the text of --return, or NULL; its lines follow those of the body */
	const struct source *expression;
	struct violations *found;
	struct scopes scopes;
	PyObject *own;  /* set: attributes that the body itself defines */
	PyObject *read; /* set: names that it reads somewhere */
	enum walk_pass pass;
	int scope, next_scope;
	int depth, nodes;
	/* links of left-leaning chains that the walk is in: a + b + c, x.f().g() */
	int chained;
	PyObject *link;  /* the next node is one more link of such a chain; borrowed */
	bool stopped;    /* the tree is too large to go on */
	int unevaluated; /* inside an annotation that is never evaluated */
	/* inside a try whose handlers catch ImportError: there an import may fail */
	int import_caught;
	bool future_annotations;
	bool imports_star; /* a refused import * may have bound any name */
	/*
	 * the name at hand can stand for several things: that one of them lacks an attribute is no
	 * violation
	 */
	bool unsure;
	PyObject *call; /* the Call whose callee is visited next; borrowed */
	PyObject *callee;
	PyObject *tested; /* an expression of which only the truth, or being None, is used */
	/* the import statement at hand: before 3.10 its aliases have no place of their own */
	PyObject *statement;
	/* a Name that binds __slots__ or __match_args__ to a literal that was checked */
	PyObject *vetted;
};

/* Handlers by node kind, see tree_nodes.def. */
#define NODE(type, handler) int handler(struct walker *w, PyObject *node);
#include "isolate/runner/validator/tree_nodes.def"
#undef NODE

/*
 * Visits what a node continues: the left operand, what is called, what an attribute is taken from.
 * A chain of these is no nesting.
 */
int walk_link(struct walker *w, PyObject *node);

/* Visits a node, a list of nodes, or a field of a node; anything else is passed over. */
int walk_value(struct walker *w, PyObject *value);
int walk_field(struct walker *w, PyObject *node, enum tree_field field);

/* Calls visit for each item of a list field. */
int walk_each(struct walker *w, PyObject *node, enum tree_field field,
	int (*visit)(struct walker *w, PyObject *parent, PyObject *item));

/* Enters a new scope and returns the one that was left, or -1; the caller puts w->scope back. */
int walk_enter(struct walker *w, enum scope_kind kind);

/* The nearest scope that is no comprehension. */
int walk_function_scope(const struct walker *w);

/* Binds name where node stands, judging names like __x__. */
int walk_bind(struct walker *w, PyObject *node, PyObject *name, unsigned flags);

/*
 * Reports a violation at the start of node, or (attribute) where its attribute's name stands.
 * message and rewrite_text are taken over, name is borrowed. Does nothing in pass 1.
 */
int walk_report(struct walker *w, enum rule rule, PyObject *node, PyObject *name, PyObject *message,
	const char *rewrite, PyObject *rewrite_text);

/* The same, but in both passes and ending the walk. */
int walk_stop(
	struct walker *w, enum rule rule, PyObject *node, PyObject *message, const char *rewrite);

/*
 * Judges reading, writing or deleting attribute `name` of value (NULL for a pattern's subject or a
 * string's field).
 */
int walk_check_attribute(struct walker *w, PyObject *node, PyObject *name, PyObject *value);

/*
 * Judges a chain of attributes that starts at an imported name; links[0] is the outermost
 * Attribute.
 */
int walk_import_chain(struct walker *w, const struct symbol *symbol, PyObject **links, int count);

/* Judges an imported name that is used as a value by itself. */
int walk_import_value(struct walker *w, const struct symbol *symbol, PyObject *node);

/* Judges the replacement fields of a template that is written out. */
int walk_check_format(struct walker *w, PyObject *node, PyObject *template);

/*
 * Judges `value.format` (or format_map): only a literal template, or an object of the body's own
 * behind the guard.
 */
int walk_check_format_use(struct walker *w, PyObject *node, PyObject *name, PyObject *value);

/* Judges a name that is read and is bound nowhere in the source. */
int walk_check_unbound(struct walker *w, PyObject *node, PyObject *name);

/* Is name in a set? Errors count as no. */
bool walk_contains(PyObject *set, PyObject *name);
/* Is it the text of this ASCII string? */
bool walk_is(PyObject *name, const char *text);

#endif
