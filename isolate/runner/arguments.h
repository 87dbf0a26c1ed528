/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a body, from JSON text.
 */
#ifndef CORDON_ISOLATE_RUNNER_ARGUMENTS_H
#define CORDON_ISOLATE_RUNNER_ARGUMENTS_H

#include "isolate/runner/validator/python.h"
#include "isolate/wire/body_request.h"

/*
 * The dict that a JSON object stands for (an empty text is {}): a new reference, or NULL with an
 * exception.
 */
PyObject *arguments_parse(struct span json);

#endif
