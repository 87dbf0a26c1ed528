/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exception as the record's error and error_detail.
 */
#ifndef CORDON_ISOLATE_RUNNER_FAILURE_H
#define CORDON_ISOLATE_RUNNER_FAILURE_H

#include "isolate/runner/validator/python.h"
#include "isolate/base/json_write.h"
#include "isolate/runner/validator/source.h"

enum { FAILURE_MESSAGE_MOST = 4096 /* characters */, FAILURE_FRAMES_MOST = 24 };

/*
 * Takes the exception that is set and clears it. Writes "Type: message" (one line) to error and the
 * detail object to detail. stage is "validate" or "execute"; source (may be NULL) is the body's
 * text, for the lines of its frames. Never raises.
 */
void failure_take(const char *stage, const struct source *source, struct buffer *error,
	struct buffer *detail);

/* The same for a failure that is no exception. message is borrowed and may be NULL. */
void failure_write(const char *stage, const char *type, PyObject *message, struct buffer *error,
	struct buffer *detail);

#endif
