/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one request allows: the imports, the permits, and the builtins and modules that its body is given.
 *
 * It lives in a capsule that the guarded functions handed to the body hold on to, so that it outlives whatever the body leaves behind.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_SESSION_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_SESSION_H

#include "isolate/runner/validator/python.h"
#include "isolate/wire/body.h"

#include <stdbool.h>

/* The name under which the guard of `.format` is found; no source text can spell it. */
#define BUILTIN_FORMAT_GUARD "<format>"

struct session {
	PyObject *allow;    /* set of str: dotted names that may be imported */
	PyObject *permit;   /* set of str: names whose rule is lifted */
	PyObject *builtins; /* dict: the body's __builtins__ */
	PyObject *facades;  /* dict: dotted name -> the module object that the body sees */
};

/*
 * Makes the session of a request, in a capsule (a new reference; NULL with an exception). *session is borrowed from it.
 * The lists are split at commas; blanks around items are dropped.
 */
PyObject *session_open(const struct body_request *request, struct session **session);

/* Drops what the session holds for its body; the capsule itself lives as long as somebody holds it. */
void session_close(struct session *session);

/* The session of a capsule; NULL with an exception when it is not one. */
struct session *session_of(PyObject *capsule);

/* Is name permitted? name is an exact str. */
bool session_permits(const struct session *session, PyObject *name);
/* Is this very dotted name in the list of allowed imports? */
bool session_allows(const struct session *session, PyObject *dotted);

#endif
