/* SPDX-License-Identifier: Apache-2.0 */
/* One execution in a child of the fork server: fresh namespaces, confinement, one request, one reply. */
#ifndef CORDON_ISOLATE_RUNNER_CHILD_H
#define CORDON_ISOLATE_RUNNER_CHILD_H

#include "isolate/wire/body_request.h"

/* The clone(2) flags for a child with these limits. */
unsigned long nest_clone_flags(const struct confine_limits *limits);

/*
 * Lives the life of an execution's PID 1, and of the program below it. Called in the new child, between PyOS_BeforeFork and PyOS_AfterFork_Child; fds are the
 * execution's socket and the three standard streams, preload the modules to import before the body. Never returns.
 */
void nest_live(const struct runner_spawn *spawn, const int fds[RUNNER_SPAWN_FDS], const char *preload) __attribute__((noreturn));

#endif
