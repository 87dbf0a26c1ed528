/* SPDX-License-Identifier: Apache-2.0 */
/* Reports from PID 1 of the sandbox and from that of a body's execution, as they come in during one execution. */
#ifndef CORDON_ISOLATE_SUPERVISE_REPORTS_H
#define CORDON_ISOLATE_SUPERVISE_REPORTS_H

#include <stdbool.h>

#include "isolate/supervise/loop.h"

/* Reads the reports that wait in a socket. inner: from the execution below the fork server. Returns false at the end of the stream. */
bool reports_read(struct execution *x, int socket, bool inner);

/*
 * Reads those that come next and say who was made, or what is used: both may be told before anything else that waits. Those that say who is gone, `most` of them, are the caller's to tell, after
 * all that was written by then; at one more it stops. Returns how many they are.
 */
unsigned reports_read_news(struct execution *x, struct report gone[], unsigned most);

#endif
