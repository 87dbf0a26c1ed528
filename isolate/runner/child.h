/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution in a child of the fork server: fresh namespaces, confinement, one request, one
 * reply.
 */
#ifndef CORDON_ISOLATE_RUNNER_CHILD_H
#define CORDON_ISOLATE_RUNNER_CHILD_H

#include <stdbool.h>

#include "isolate/wire/body_request.h"

/* The clone(2) flags for a child with these limits. */
unsigned long child_clone_flags(const struct confine_limits *limits);

/*
 * Is an execution's PID 1, and the program below it. Called in the new child, between
 * PyOS_BeforeFork and PyOS_AfterFork_Child; fds are the execution's socket and the three standard
 * streams, preload the modules to import before the body. Never returns.
 */
void child_run(const struct runner_spawn *spawn, const int fds[RUNNER_SPAWN_FDS],
	const char *preload) __attribute__((noreturn));

/*
 * For the fork server, once, before it forks: builds the tables that every body needs, so that
 * children share them. Needs the GIL; body_perform does it by itself when it was not done. Returns
 * 0, or -1 with a Python exception.
 */
int body_prepare(void);

enum body_decision { BODY_BEGINS = 'B', BODY_IS_REFUSED = 'R' };

/*
 * Validates and (unless validate_only) calls one body in this process; fills reply. The caller has
 * confined the process. Hostile code may have taken it over afterwards, so the answer goes into a
 * plain memory region that another process checks, and only _exit(2) is left to do. Needs the GIL.
 * Never raises. decided is called once, before the body's first instruction or instead of it; false
 * from it ends the call. It may be NULL.
 */
void body_perform(const struct body_request *request, bool (*decided)(enum body_decision decision),
	struct body_reply *reply);

/* The runner's fork server. */

/*
 * Serves spawn messages from a SOCK_SEQPACKET descriptor until its peer is gone. Needs the GIL, and
 * must be the only thread. In the children that it makes this function does not return; each of
 * them imports the modules of preload (a comma-separated list) when it is confined. Returns 0 at
 * the peer's end, or -1 with errno.
 */
int runner_serve(int socket, const char *preload);

#endif
