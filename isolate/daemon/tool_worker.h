/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does for the methods of tools. */
#ifndef CORDON_ISOLATE_DAEMON_TOOL_WORKER_H
#define CORDON_ISOLATE_DAEMON_TOOL_WORKER_H

#include <stddef.h>

#include "isolate/base/json_write.h"

/* Performs the request of the daemon (a JSON object with params, execution_id and uid) and writes what a worker answers with. */
void tool_work(const char *method, const char *request, size_t length, struct buffer *answer);

#endif
