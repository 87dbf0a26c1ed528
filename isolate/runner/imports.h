/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports at run time.
 */
#ifndef CORDON_ISOLATE_RUNNER_IMPORTS_H
#define CORDON_ISOLATE_RUNNER_IMPORTS_H

#include "isolate/runner/validator/python.h"
#include "isolate/wire/body_request.h"

#include <stddef.h>

/* The guarded __import__ of a session: a new reference, or NULL with an exception. */
PyObject *imports_function(PyObject *capsule);

/*
 * Does what the interpreter does at its start without -S: site directories, their .pth files,
 * sitecustomize. All of this runs code that anybody with write access put there, so the caller is
 * confined. Needs the GIL. Returns 0, or -1 with one line in reason.
 */
int body_site(char *reason, size_t size);

/*
 * Imports a comma-separated list of modules. Needs the GIL. Returns 0, or -1 with one line in
 * reason (UTF-8, always NUL-terminated) that names the module and what it raised; the modules
 * before it stay imported.
 */
int body_preload(struct span names, char *reason, size_t size);

#endif
