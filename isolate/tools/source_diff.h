/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two texts, as people read it. Pure. */
#ifndef CORDON_ISOLATE_TOOLS_SOURCE_DIFF_H
#define CORDON_ISOLATE_TOOLS_SOURCE_DIFF_H

#include "isolate/base/json_write.h"

/*
 * Appends a unified diff (three lines around each change) that leads from one text to the other; nothing when they are equal. Its size is bounded by that of the two, and so is the work:
 * texts that differ in more than some thousand lines are told as the part that differs, taken out and put in whole.
 */
void diff_unified(const char *old_text, size_t old_length, const char *new_text, size_t new_length, const char *old_name, const char *new_name, struct buffer *out);

#endif
