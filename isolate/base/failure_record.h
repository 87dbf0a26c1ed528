/* SPDX-License-Identifier: Apache-2.0 */
/* A failure of cordon itself as JSON. */
#ifndef CORDON_ISOLATE_BASE_FAILURE_RECORD_H
#define CORDON_ISOLATE_BASE_FAILURE_RECORD_H

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

/*
 * Appends {"failure":{"code":...,"tried":...,"meaning":...,"kernel":...,"fix":...}} to out, on one
 * line without a newline.
 */
void failure_record_write(const struct error *err, struct buffer *out);

#endif
