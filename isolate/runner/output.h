/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value that a body returned, as JSON text.
 */
#ifndef CORDON_ISOLATE_RUNNER_OUTPUT_H
#define CORDON_ISOLATE_RUNNER_OUTPUT_H

#include "isolate/runner/validator/python.h"

#include <stddef.h>

enum { OUTPUT_DEPTH_MOST = 512 };

/* Why a value cannot be written. */
struct output_failure {
	const char *type; /* "TypeError", "ValueError", "OutputTooLarge", "MemoryError" */
	/* str, owned by the caller afterwards; NULL when there was no memory for one */
	PyObject *message;
};

/*
 * Writes value as JSON (ASCII, integers of any size, floats as repr, keys in order) to at most size
 * bytes at data. limit is what the message says when that is not enough. Returns 0 and sets
 * *length, or -1 and fills failure. No method of the objects in value is called; of a type that
 * JSON does not have, the class is asked for its name and kind. Never raises.
 */
int output_write(PyObject *value, char *data, size_t size, size_t limit, size_t *length,
	struct output_failure *failure);

#endif
