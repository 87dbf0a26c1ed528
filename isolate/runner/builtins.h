/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builtins that a body is given (the table is builtins.def).
 */
#ifndef CORDON_ISOLATE_RUNNER_BUILTINS_H
#define CORDON_ISOLATE_RUNNER_BUILTINS_H

#include "isolate/runner/validator/validate.h"

/*
 * Makes session->builtins: what builtins.def lists, every exception of this interpreter, the
 * guarded __import__, and what is permitted (getattr and its like in a form that judges the
 * attribute's name). capsule is the session's. Returns 0, or -1 with an exception.
 */
int builtins_make(struct session *session, PyObject *capsule);

#endif
