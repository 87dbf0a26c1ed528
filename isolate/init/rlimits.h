/* SPDX-License-Identifier: Apache-2.0 */
/* The per-process limits of an execution: setrlimit(2). */
#ifndef CORDON_ISOLATE_INIT_RLIMITS_H
#define CORDON_ISOLATE_INIT_RLIMITS_H

#include "isolate/wire/limits.h"
#include "isolate/base/error.h"

/*
 * Applies CPU, file size, processes, core and, if asked for, address space to the calling process. own_processes is how many of the
 * sandbox's processes are cordon's (PID 1): they are allowed on top. Returns 0 or -1 with LIMIT_DENIED. Async-signal-safe when err is NULL.
 */
int rlimits_apply(const struct confine_limits *limits, unsigned own_processes, struct error *err);

/*
 * Applies the limit of open files. For after the filter's listener was sent: the kernel compares what the user
 * has in flight, in all sandboxes together, with this limit of the sender (unix(7)). Returns as above.
 */
int rlimits_open_files(const struct confine_limits *limits, struct error *err);

#endif
