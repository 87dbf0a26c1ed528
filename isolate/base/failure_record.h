/* SPDX-License-Identifier: Apache-2.0 */
/* A failure of cordon itself as JSON. */
#ifndef CORDON_ISOLATE_BASE_FAILURE_RECORD_H
#define CORDON_ISOLATE_BASE_FAILURE_RECORD_H

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"

/*
 * Appends {"failure":{"code":...,"tried":...,"meaning":...,"kernel":...,"fix":...}} to out, on one
 * line without a newline.
 */
void failure_record_write(const struct error *err, struct buffer *out);

/* Reads such an object into *err. Returns false, with *err as it was, when it is none. */
bool failure_record_read(struct json_slice record, struct error *err);

#endif
