/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a Python interpreter as a person means it, and what of the host it needs to run. */
#ifndef CORDON_ISOLATE_SANDBOX_INTERPRETER_H
#define CORDON_ISOLATE_SANDBOX_INTERPRETER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/error.h"

#define PYTHON_MOST_TREES 20

struct python {
	char path[PATH_MAX]; /* what to execute, also inside */
	/* directories outside the system runtime that must be shown, and links to be made */
	char trees[PYTHON_MOST_TREES][PATH_MAX];
	bool is_link[PYTHON_MOST_TREES];
	size_t tree_count;
};

/*
 * Resolves a name or path. A name is looked up on the caller's PATH; a script (a pyenv shim, a
 * wrapper) is asked for the interpreter behind it; a virtual environment is kept as one, with the
 * installation below it. Returns 0, or -1 with INTERPRETER_MISSING, which says what was tried.
 */
int python_find(const char *name, struct python *out, struct error *err);

#endif
