/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that holds one execution of the daemon.
 *
 * It starts with its request on descriptor 3 (a memory file), a socket to the daemon on 4 (signals
 * in, events out) and a memory file for its answer on 5. It dies with the daemon, by the kernel's
 * doing.
 */
#ifndef CORDON_ISOLATE_DAEMON_WORKER_H
#define CORDON_ISOLATE_DAEMON_WORKER_H

#include <stddef.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

enum worker_descriptor { WORKER_REQUEST = 3, WORKER_CHANNEL, WORKER_ANSWER };

/*
 * The first byte of an answer: the result (for an execution {"record": ..., "status": N}) or the
 * failure record follows.
 */
#define WORKER_RECORD 'R'
#define WORKER_FAILURE 'F'
#define WORKER_ERROR 'E' /* a whole error object of the protocol follows */

/* Performs the request. Returns the exit status of the process, 0 when an answer was left. */
int worker_main(void);

#endif
