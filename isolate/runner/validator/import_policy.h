/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules a body may import, and which of their names it may use.
 *
 * One set of answers for both sides: the validator asks before anything runs, the guarded import
 * and its facades ask again at run time.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_IMPORT_POLICY_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_IMPORT_POLICY_H

#include "isolate/runner/validator/rules.h"
#include "isolate/runner/validator/validate.h"

/* Prepares what is the same for every request. Returns 0, or -1 with an exception. */
int policy_prepare(void);

enum import_verdict {
	IMPORT_ALLOWED,
	IMPORT_NOT_ALLOWED,
	IMPORT_NEVER, /* *row says why */
	IMPORT_PRIVATE,
	IMPORT_SUBMODULE /* the package is allowed, this submodule is not */
};

/* May `import dotted` be written? */
enum import_verdict policy_import(
	const struct session *session, PyObject *dotted, const struct rule_row **row);

/*
 * Is dotted a package on the way to something allowed ("xml" when only xml.etree.ElementTree is
 * allowed)?
 */
bool policy_is_passage(const struct session *session, PyObject *dotted);

/* The first part of a dotted name: a new reference, or NULL with a Python exception. */
PyObject *policy_root(PyObject *dotted);

/* Is the top-level module of dotted outside the standard library? */
bool policy_is_third_party(PyObject *dotted);

/*
 * Imports dotted for real and returns the module itself (not its root): a new reference, or NULL
 * with an exception.
 */
PyObject *policy_load(PyObject *dotted);

/*
 * Can dotted be found by the import system? Nothing is imported. Returns 1, 0, or -1 with an
 * exception.
 */
int policy_is_there(PyObject *dotted);

enum name_verdict {
	MODULE_PUBLIC,    /* *value is it, when value is wanted and the module could be loaded */
	MODULE_SUBMODULE, /* an allowed module */
	MODULE_PRIVATE,
	MODULE_FOREIGN, /* a module, but not an allowed one */
	MODULE_GADGET,  /* *row says why */
	MODULE_MISSING
};

/*
 * Judges `module.name`. *value (may be NULL) receives a new reference for MODULE_PUBLIC, or NULL
 * when the module cannot be loaded here. Returns the verdict, or -1 with an exception (out of
 * memory only; what a library raises while it is loaded is dropped).
 */
int policy_name(const struct session *session, PyObject *module, PyObject *name, PyObject **value,
	const struct rule_row **row);

#endif
