/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each name is bound: the scopes of a body, as the interpreter's own symbol table would see
 * them.
 *
 * Scope 0 is the module that the body is wrapped in, scope 1 is the body's own function. A first
 * walk binds names, a second one asks.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_SCOPES_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_SCOPES_H

#include "isolate/runner/validator/python.h"

#include <stdbool.h>

enum scope_kind {
	SCOPE_MODULE,
	SCOPE_FUNCTION,
	SCOPE_ASYNC,
	SCOPE_CLASS,
	SCOPE_COMPREHENSION,
	SCOPE_TYPE_PARAMETERS
};

enum { SCOPE_GLOBAL = 0, SCOPE_BODY = 1 };

enum symbol_flag {
	SYMBOL_BOUND = 1, /* something in this scope binds it */
	SYMBOL_PARAMETER = 2,
	SYMBOL_DEFINITION = 4, /* a def or class statement */
	SYMBOL_RECEIVER = 8,   /* the first parameter of a method */
	SYMBOL_EXCEPTION = 16, /* except ... as name */
	SYMBOL_OTHER = 32,     /* bound by something that is no import */
	SYMBOL_GLOBAL = 64,    /* declared global here */
	SYMBOL_NONLOCAL = 128  /* declared nonlocal here */
};

/* One import that a name can stand for. */
struct origin {
	struct origin *next;
	bool met;         /* the second walk has come to it */
	PyObject *module; /* dotted name; owned */
	PyObject *name;   /* what was taken from it, or NULL for the module itself; owned */
};

struct symbol {
	PyObject *name; /* owned */
	unsigned flags;
	unsigned binds; /* how often it is bound */
	int scope;
	/* the str it is bound to, when that is all it is ever bound to; owned */
	PyObject *constant;
	struct origin *origins;
};

struct scope {
	enum scope_kind kind;
	int parent;
	PyObject *symbols; /* dict: name -> index */
};

struct scopes {
	struct scope *scopes;
	int count, capacity;
	struct symbol *symbols;
	int symbol_count, symbol_capacity;
	PyObject *declared;  /* set: names in a global or nonlocal statement anywhere */
	PyObject *nonlocals; /* set: names in a nonlocal statement anywhere */
	PyObject *globals;   /* set: names in a global statement anywhere */
};

/* Makes scopes 0 and 1. Returns 0, or -1 with an exception; scopes_free afterwards in any case. */
int scopes_begin(struct scopes *scopes);
void scopes_free(struct scopes *scopes);

/* Adds a scope inside parent. Returns its index, or -1 with an exception. */
int scopes_add(struct scopes *scopes, enum scope_kind kind, int parent);

/*
 * The symbol of name in this very scope, made when there is none. Valid until the next call. NULL
 * with an exception.
 */
struct symbol *scopes_symbol(struct scopes *scopes, int scope, PyObject *name);

/*
 * Binds name in scope (following a global declaration there). Returns the symbol, or NULL with an
 * exception.
 */
struct symbol *scopes_bind(struct scopes *scopes, int scope, PyObject *name, unsigned flags);

/* Notes `global name` or `nonlocal name`. Returns 0 or -1. */
int scopes_declare(struct scopes *scopes, int scope, PyObject *name, unsigned flag);

/* Adds an import to a symbol. Returns 0 or -1. */
int scopes_add_origin(struct symbol *symbol, PyObject *module, PyObject *name);

/*
 * The second walk has come to this import (name may be NULL). When it rebinds the name for good,
 * the imports met before it are dropped; those that are yet to come stay.
 */
void scopes_meet_origin(struct symbol *symbol, PyObject *module, PyObject *name, bool rebinds);

/*
 * What a read of name in scope refers to; NULL when nothing in the source binds it. Never raises.
 */
const struct symbol *scopes_resolve(const struct scopes *scopes, int scope, PyObject *name);

/*
 * Could a read of that symbol fall through to a builtin? True in class bodies and for globals,
 * where binding comes later than compiling.
 */
bool scopes_may_fall_through(const struct scopes *scopes, const struct symbol *symbol);

/*
 * Ends the first walk: settles what nonlocal statements bind, and moves to the module's scope the
 * names of the body that read best there. Returns their list (a new reference, or NULL): def and
 * class names, so that classes have plain names and functions find each other as in a module, and
 * whatever a nested function declares global. taken (a dict) holds the names of builtins, which
 * stay local, as do parameters and names that a nonlocal statement means.
 */
PyObject *scopes_promote(struct scopes *scopes, PyObject *taken);

#endif
