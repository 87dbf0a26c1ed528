/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a body to code that may be called.
 */
#ifndef CORDON_ISOLATE_RUNNER_VALIDATOR_VALIDATE_H
#define CORDON_ISOLATE_RUNNER_VALIDATOR_VALIDATE_H

#include "isolate/runner/validator/python.h"
#include "isolate/wire/body.h"
#include "isolate/runner/validator/session.h"
#include "isolate/runner/validator/source.h"
#include "isolate/runner/validator/violations.h"

/* What tracebacks and code objects call the file and the function of a body. */
#define BODY_FILE "<body>"
#define BODY_FUNCTION "<body>"

struct program {
	struct source source;	  /* the body's text */
	struct source expression; /* the text of --return, when there is one */
	bool only_defines;	  /* functions and classes, and nothing that calls one or returns */
	PyObject *code;		  /* the code of the wrapping module: run it, and BODY_FUNCTION is in its globals; NULL when refused */
};

/*
 * Checks, parses, validates, wraps and compiles; nothing of the body runs. session->builtins must be there already.
 * Violations are added to found; program->code is set when there are none, or none that stop it and skip is set.
 * Returns 0, or -1 with a Python exception (cordon's own trouble, such as no memory left). program_free afterwards in any case.
 */
int program_load(struct program *program, const struct body_request *request, const struct session *session, struct violations *found);
void program_free(struct program *program);

#endif
