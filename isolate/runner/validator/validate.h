/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a body to code that may be called.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_VALIDATE_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_VALIDATE_H

#include <stdbool.h>

#include "isolate/runner/validator/python.h"
#include "isolate/runner/validator/source.h"
#include "isolate/runner/validator/violations.h"
#include "isolate/wire/body_request.h"

/*
 * What one request allows: the imports, the permits, and the builtins and modules that its body is
 * given.
 *
 * It lives in a capsule that the guarded functions handed to the body hold on to, so that it
 * outlives whatever the body leaves behind.
 */

/* The name under which the guard of `.format` is found; no source text can spell it. */
#define BUILTIN_FORMAT_GUARD "<format>"

struct session {
	PyObject *allow;    /* set of str: dotted names that may be imported */
	PyObject *permit;   /* set of str: names whose rule is lifted */
	PyObject *builtins; /* dict: the body's __builtins__ */
	PyObject *facades;  /* dict: dotted name -> the module object that the body sees */
};

/*
 * Makes the session of a request, in a capsule (a new reference; NULL with an exception). *session
 * is borrowed from it. The lists are split at commas; blanks around items are dropped.
 */
PyObject *session_open(const struct body_request *request, struct session **session);

/* Drops what the session holds for its body; the capsule itself lives while a reference is held. */
void session_close(struct session *session);

/* The session of a capsule; NULL with an exception when it is not one. */
struct session *session_of(PyObject *capsule);

/* Is name permitted? name is an exact str. */
bool session_permits(const struct session *session, PyObject *name);
/* Is this very dotted name in the list of allowed imports? */
bool session_allows(const struct session *session, PyObject *dotted);

/* What tracebacks and code objects call the file and the function of a body. */
#define BODY_FILE "<body>"
#define BODY_FUNCTION "<body>"

struct program {
	struct source source;     /* the body's text */
	struct source expression; /* the text of --return, when there is one */
	bool only_defines;        /* functions and classes, and nothing that calls one or returns */
	/*
	 * the code of the wrapping module: run it, and BODY_FUNCTION is in its globals; NULL when
	 * refused
	 */
	PyObject *code;
};

/*
 * Checks, parses, validates, wraps and compiles; nothing of the body runs. session->builtins must
 * be there already. Violations are added to found; program->code is set when there are none, or
 * none that stop it and skip is set. Returns 0, or -1 with a Python exception (cordon's own
 * trouble, such as no memory left). program_free afterwards in any case.
 */
int program_load(struct program *program, const struct body_request *request,
	const struct session *session, struct violations *found);
void program_free(struct program *program);

#endif
