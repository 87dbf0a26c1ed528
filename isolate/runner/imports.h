/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports at run time.
 */
#ifndef CORDON_ISOLATE_RUNNER_IMPORTS_H
#define CORDON_ISOLATE_RUNNER_IMPORTS_H

#include "isolate/runner/python.h"
#include "isolate/runner/body.h"

#include <stddef.h>

/* The guarded __import__ of a session: a new reference, or NULL with an exception. */
PyObject *imports_function(PyObject *capsule);

/*
 * Imports a comma-separated list of modules, for the fork server to do before it forks. Needs the GIL. Returns 0, or -1 with one line in
 * reason (UTF-8, always NUL-terminated) that names the module and what it raised; the modules before it stay imported.
 */
int body_preload(struct span names, char *reason, size_t size);

/* Gives the random generators that are loaded (random, numpy.random) a new seed, for a child to do after the fork. Never raises. */
void body_reseed(void);

#endif
