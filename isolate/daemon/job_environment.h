/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of whoever asked the daemon for an execution. */
#ifndef CORDON_ISOLATE_DAEMON_JOB_ENVIRONMENT_H
#define CORDON_ISOLATE_DAEMON_JOB_ENVIRONMENT_H

#include "isolate/base/error.h"
#include "isolate/base/json_slice.h"

/*
 * Makes the caller's environment this process's, for PATH and what the options inherit: an object of strings in place of the daemon's; a slice without text leaves that as it is.
 * Returns 0, or -1 with BAD_OPTION. For the one thread of a worker.
 */
int environment_take(struct json_slice environment, struct error *err);

#endif
