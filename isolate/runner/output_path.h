/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a returned value something stands that JSON cannot say, and what to return instead.
 */
#ifndef CORDON_ISOLATE_RUNNER_OUTPUT_PATH_H
#define CORDON_ISOLATE_RUNNER_OUTPUT_PATH_H

#include "isolate/runner/validator/python.h"

/*
 * One step on the way from the value returned to a part of it; steps live on the encoder's stack.
 */
struct step {
	const struct step *up; /* NULL for the value itself */
	PyObject *value;       /* what stands here; borrowed */
	PyObject *key;         /* the key it has in a dict, or NULL; borrowed */
	Py_ssize_t index;      /* its index in a list or tuple */
	int depth;             /* 1 for the value itself */
};

/*
 * "not JSON-serializable: output[3].x <problem>; <rewrite>": a new reference, or NULL with an
 * exception. problem is taken over by the _text form.
 */
PyObject *path_message(const struct step *step, const char *problem, const char *rewrite);
PyObject *path_message_text(const struct step *step, PyObject *problem, const char *rewrite);

/* The message for a value whose type JSON does not have, with the rewrite for that type. */
PyObject *path_type_message(const struct step *step);

/* "<start> a set", "<start> an int": a new reference, or NULL. */
PyObject *path_type_text(const char *start, PyObject *value);

/*
 * The text of a str or a subclass of it as an exact str, and the set of those keys of a dict that
 * are exact. New references, or NULL.
 */
PyObject *path_exact_text(PyObject *text);
PyObject *path_exact_keys(PyObject *dict);

#endif
