/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the validator as data: what is refused by name, why, and what to write instead.
 *
 * The tables are the .def files beside this header. They are turned into dictionaries once per
 * process, before the fork, and are never changed afterwards; rows are looked up by exact str
 * objects, so no code of a body runs during a lookup.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_RULES_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_RULES_H

#include "isolate/runner/validator/python.h"

#include <stdbool.h>

enum rule {
#define RULE(id, name, reason) RULE_##id,
#include "isolate/runner/validator/rules.def"
#undef RULE
	RULE_COUNT
};

/* The stable id ("name-forbidden") and the reason of a rule. Static strings. */
const char *rule_id(enum rule rule);
const char *rule_reason(enum rule rule);

/* One row: why something is refused and what to write instead. rewrite may be NULL. */
struct rule_row {
	const char *name;
	enum rule rule;
	bool as_key; /* attributes: refused as a string key, too */
	const char *why;
	const char *rewrite;
};

enum rule_table {
	TABLE_NAMES,             /* builtins that may not be mentioned */
	TABLE_ATTRIBUTES,        /* attributes refused by name */
	TABLE_DUNDER_READ,       /* names like __x__ that may be read */
	TABLE_MODULE_TEXT,       /* names like __x__ that the top of a body may bind */
	TABLE_CLASS_METHODS,     /* names like __x__ that a class body may define */
	TABLE_PUBLIC_UNDERSCORE, /* public API that starts with an underscore */
	TABLE_BUILTINS,          /* builtins that bodies have */
	TABLE_ABSENT,            /* builtins that bodies do not have */
	TABLE_HARMLESS,          /* modules of the standard library that need none */
	TABLE_NEVER,             /* modules that need a permit besides, with the reason */
	TABLE_ALONG,             /* submodules that come with their package */
	TABLE_ONLY_MODULES,      /* modules with a closed list of names ... */
	TABLE_ONLY,              /* ... and that list, as "module.name" */
	TABLE_GADGETS,           /* "module.name" */
	TABLE_OPEN,              /* "module._name" */
	TABLE_NEEDED,            /* what C code imports at run time */
	TABLE_STDLIB,            /* top-level modules of the standard library */
	TABLE_COUNT
};

/* Builds the tables; repeated calls do nothing. Returns 0, or -1 with a Python exception. */
int rules_prepare(void);

/* The row of name (an exact str) in a table, or NULL when it has none. Never raises. */
const struct rule_row *rules_find(enum rule_table table, PyObject *name);

/* The same with "module.name" as key. */
const struct rule_row *rules_find_in(enum rule_table table, PyObject *module, PyObject *name);

/*
 * Calls visit with the name of every row of TABLE_BUILTINS; stops at the first non-zero answer and
 * returns it.
 */
int rules_each_builtin(int (*visit)(const char *name, void *data), void *data);

/*
 * True for names like __x__ and, in that order, for names that start with an underscore (those
 * too).
 */
bool rules_is_dunder(PyObject *name);
bool rules_is_private(PyObject *name);

/*
 * Judges one attribute name by itself (dunders, frames, and so on; not the leading underscore).
 * Returns NULL when it may be read, else the row that refuses it. Used for attributes in the tree,
 * in patterns and fields, and by the guarded getattr at run time.
 */
const struct rule_row *rules_attribute(PyObject *name);

#endif
