/* SPDX-License-Identifier: Apache-2.0 */
/* What `cordon validate --list-rules` prints. */
#ifndef CORDON_ISOLATE_COMMANDS_LIST_RULES_H
#define CORDON_ISOLATE_COMMANDS_LIST_RULES_H

#include "isolate/base/json_write.h"

/* Appends the validator's rules: a text for a person or a model's prompt, or one JSON object. No newline at its end. */
void list_rules(bool json, struct buffer *out);

#endif
