/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of rules, made from the .def files, and lookups in them.
 *
 * Each table is one dictionary from str to row number, built once and then only read. A name that
 * comes from a parsed tree is an exact str; callers check the type first, because hashing a
 * subclass would run its code.
 */
#include "isolate/runner/validator/rules.h"

static const struct {
	const char *id, *reason;
} RULES[RULE_COUNT] = {
#define RULE(id, name, reason) [RULE_##id] = { name, reason },
#include "isolate/runner/validator/rules.def"
#undef RULE
};

static const struct rule_row NAMES[] = {
#define NAME(name, why, rewrite) { name, RULE_NAME_FORBIDDEN, true, why, rewrite },
#include "isolate/runner/validator/rules_names.def"
#undef NAME
};

static const struct rule_row ATTRIBUTES[] = {
#define ATTRIBUTE(name, rule, as_key, rewrite) { name, RULE_##rule, as_key, NULL, rewrite },
#include "isolate/runner/validator/rules_attributes.def"
#undef ATTRIBUTE
};

#define PLAIN(name) { name, RULE_COUNT, false, NULL, NULL },
#define NOTHING(name)

static const struct rule_row DUNDER_READS[] = {
#define DUNDER_READ PLAIN
#define MODULE_TEXT NOTHING
#define CLASS_METHOD NOTHING
#define PUBLIC_UNDERSCORE NOTHING
#include "isolate/runner/validator/rules_methods.def"
#undef DUNDER_READ
#undef MODULE_TEXT
#undef CLASS_METHOD
#undef PUBLIC_UNDERSCORE
};

static const struct rule_row MODULE_TEXTS[] = {
#define DUNDER_READ NOTHING
#define MODULE_TEXT PLAIN
#define CLASS_METHOD NOTHING
#define PUBLIC_UNDERSCORE NOTHING
#include "isolate/runner/validator/rules_methods.def"
#undef DUNDER_READ
#undef MODULE_TEXT
#undef CLASS_METHOD
#undef PUBLIC_UNDERSCORE
};

static const struct rule_row CLASS_METHODS[] = {
#define DUNDER_READ NOTHING
#define MODULE_TEXT NOTHING
#define CLASS_METHOD PLAIN
#define PUBLIC_UNDERSCORE NOTHING
#include "isolate/runner/validator/rules_methods.def"
#undef DUNDER_READ
#undef MODULE_TEXT
#undef CLASS_METHOD
#undef PUBLIC_UNDERSCORE
};

static const struct rule_row PUBLIC_UNDERSCORES[] = {
#define DUNDER_READ NOTHING
#define MODULE_TEXT NOTHING
#define CLASS_METHOD NOTHING
#define PUBLIC_UNDERSCORE PLAIN
#include "isolate/runner/validator/rules_methods.def"
#undef DUNDER_READ
#undef MODULE_TEXT
#undef CLASS_METHOD
#undef PUBLIC_UNDERSCORE
};

static const struct rule_row BUILTINS[] = {
#define BUILTIN PLAIN
#define ABSENT(name, why, rewrite)
#include "isolate/runner/validator/builtins.def"
#undef BUILTIN
#undef ABSENT
};

static const struct rule_row ABSENTS[] = {
#define BUILTIN NOTHING
#define ABSENT(name, why, rewrite) { name, RULE_NAME_UNAVAILABLE, false, why, rewrite },
#include "isolate/runner/validator/builtins.def"
#undef BUILTIN
#undef ABSENT
};

/*
 * One row of rules_modules.def stands for one table; the others are blank while that table is made.
 */
#define HARMLESS NOTHING
#define NEVER(module, why)
#define ALONG(package, sub)
#define ONLY(module, name)
#define GADGET(module, name, why, rewrite)
#define OPEN(module, name)
#define NEEDED NOTHING

static const struct rule_row HARMLESSES[] = {
#undef HARMLESS
#define HARMLESS PLAIN
#include "isolate/runner/validator/rules_modules.def"
#undef HARMLESS
#define HARMLESS NOTHING
};

static const struct rule_row NEVERS[] = {
#undef NEVER
#define NEVER(module, why) { module, RULE_IMPORT_NEVER, false, why, NULL },
#include "isolate/runner/validator/rules_modules.def"
#undef NEVER
#define NEVER(module, why)
};

static const struct rule_row ALONGS[] = {
#undef ALONG
#define ALONG(package, sub) { sub, RULE_COUNT, false, package, NULL },
#include "isolate/runner/validator/rules_modules.def"
#undef ALONG
#define ALONG(package, sub)
};

static const struct rule_row ONLY_MODULES[] = {
#undef ONLY
#define ONLY(module, name) PLAIN(module)
#include "isolate/runner/validator/rules_modules.def"
};

static const struct rule_row ONLYS[] = {
#undef ONLY
#define ONLY(module, name) PLAIN(module "." name)
#include "isolate/runner/validator/rules_modules.def"
#undef ONLY
#define ONLY(module, name)
};

static const struct rule_row GADGETS[] = {
#undef GADGET
#define GADGET(module, name, why, rewrite) \
	{ module "." name, RULE_MODULE_GADGET, false, why, rewrite },
#include "isolate/runner/validator/rules_modules.def"
#undef GADGET
#define GADGET(module, name, why, rewrite)
};

static const struct rule_row OPENS[] = {
#undef OPEN
#define OPEN(module, name) PLAIN(module "." name)
#include "isolate/runner/validator/rules_modules.def"
#undef OPEN
#define OPEN(module, name)
};

static const struct rule_row NEEDEDS[] = {
#undef NEEDED
#define NEEDED PLAIN
#include "isolate/runner/validator/rules_modules.def"
};

static const struct rule_row STDLIBS[] = {
#define STDLIB PLAIN
#include "isolate/runner/validator/stdlib_names.def"
#undef STDLIB
};

#define ROWS(table) \
	{ \
		table, sizeof(table) / sizeof((table)[0]) \
	}

static const struct {
	const struct rule_row *rows;
	size_t count;
} TABLES[TABLE_COUNT] = {
	[TABLE_NAMES] = ROWS(NAMES),
	[TABLE_ATTRIBUTES] = ROWS(ATTRIBUTES),
	[TABLE_DUNDER_READ] = ROWS(DUNDER_READS),
	[TABLE_MODULE_TEXT] = ROWS(MODULE_TEXTS),
	[TABLE_CLASS_METHODS] = ROWS(CLASS_METHODS),
	[TABLE_PUBLIC_UNDERSCORE] = ROWS(PUBLIC_UNDERSCORES),
	[TABLE_BUILTINS] = ROWS(BUILTINS),
	[TABLE_ABSENT] = ROWS(ABSENTS),
	[TABLE_HARMLESS] = ROWS(HARMLESSES),
	[TABLE_NEVER] = ROWS(NEVERS),
	[TABLE_ALONG] = ROWS(ALONGS),
	[TABLE_ONLY_MODULES] = ROWS(ONLY_MODULES),
	[TABLE_ONLY] = ROWS(ONLYS),
	[TABLE_GADGETS] = ROWS(GADGETS),
	[TABLE_OPEN] = ROWS(OPENS),
	[TABLE_NEEDED] = ROWS(NEEDEDS),
	[TABLE_STDLIB] = ROWS(STDLIBS),
};

/*
 * Filled once by rules_prepare and constant from then on: the interpreter's own counterpart of the
 * tables above.
 */
static PyObject *dictionaries[TABLE_COUNT];

const char *rule_id(enum rule rule)
{
	return rule < RULE_COUNT ? RULES[rule].id : "none";
}

const char *rule_reason(enum rule rule)
{
	return rule < RULE_COUNT ? RULES[rule].reason : "";
}

static PyObject *build_dictionary(enum rule_table table)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < TABLES[table].count; i++) {
		PyObject *index = PyLong_FromSize_t(i);

		if (!index || PyDict_SetItemString(dict, TABLES[table].rows[i].name, index) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(index);
	}
	return dict;
}

int rules_prepare(void)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		if (!dictionaries[t] && !(dictionaries[t] = build_dictionary((enum rule_table)t)))
			return -1;
	}
	return 0;
}

const struct rule_row *rules_find(enum rule_table table, PyObject *name)
{
	PyObject *index = PyDict_GetItemWithError(dictionaries[table], name);

	if (!index) {
		PyErr_Clear();
		return NULL;
	}
	return &TABLES[table].rows[PyLong_AsSize_t(index)];
}

const struct rule_row *rules_find_in(enum rule_table table, PyObject *module, PyObject *name)
{
	PyObject *key = PyUnicode_FromFormat("%U.%U", module, name);
	const struct rule_row *row = NULL;

	if (key)
		row = rules_find(table, key);
	else
		PyErr_Clear();
	Py_XDECREF(key);
	return row;
}

int rules_each_builtin(int (*visit)(const char *name, void *data), void *data)
{
	for (size_t i = 0; i < TABLES[TABLE_BUILTINS].count; i++) {
		int answer = visit(TABLES[TABLE_BUILTINS].rows[i].name, data);

		if (answer)
			return answer;
	}
	return 0;
}

bool rules_is_dunder(PyObject *name)
{
	Py_ssize_t n = PyUnicode_GetLength(name);

	return n > 4 && PyUnicode_ReadChar(name, 0) == '_' && PyUnicode_ReadChar(name, 1) == '_' &&
		PyUnicode_ReadChar(name, n - 1) == '_' && PyUnicode_ReadChar(name, n - 2) == '_';
}

bool rules_is_private(PyObject *name)
{
	return PyUnicode_GetLength(name) > 0 && PyUnicode_ReadChar(name, 0) == '_';
}

const struct rule_row *rules_attribute(PyObject *name)
{
	static const struct rule_row other_dunder = {
		"", RULE_ATTRIBUTE_DUNDER, true, NULL,
		"use the operator or builtin that stands for it, or an attribute with a plain name"
	};
	const struct rule_row *row = rules_find(TABLE_ATTRIBUTES, name);

	if (row)
		return row;
	if (rules_is_dunder(name) && !rules_find(TABLE_DUNDER_READ, name))
		return &other_dunder;
	return NULL;
}
