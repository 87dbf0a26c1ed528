/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's fork server. */
#ifndef CORDON_ISOLATE_RUNNER_FORK_SERVER_H
#define CORDON_ISOLATE_RUNNER_FORK_SERVER_H

/*
 * Serves spawn messages from a SOCK_SEQPACKET descriptor until its peer is gone. Needs the GIL, and must be the only thread. In the children that it makes this
 * function does not return; each of them imports the modules of preload (a comma-separated list) when it is confined. Returns 0 at the peer's end, or -1 with errno.
 */
int runner_serve(int socket, const char *preload);

#endif
