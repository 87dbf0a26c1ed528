/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports from PID 1 of the sandbox and from that of a body's execution, as they come in during one
 * execution.
 */
#ifndef CORDON_ISOLATE_SANDBOX_REPORTS_H
#define CORDON_ISOLATE_SANDBOX_REPORTS_H

#include <stdbool.h>

#include "isolate/sandbox/event_loop.h"

/*
 * Reads the reports that wait in a socket. inner: from the execution below the fork server. Returns
 * false at the end of the stream.
 */
bool reports_read(struct execution *x, int socket, bool inner);

#endif
