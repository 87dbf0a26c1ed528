/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: where it is, making it, reaching it.
 *
 * It belongs to one user: mode 0600 in a directory of mode 0700, and besides that each side asks
 * the kernel who the other is (SO_PEERCRED).
 */
#ifndef CORDON_ISOLATE_DAEMON_CONTROL_SOCKET_H
#define CORDON_ISOLATE_DAEMON_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/error.h"

/*
 * $XDG_RUNTIME_DIR/cordon/control.sock; for root without one /run/cordon/control.sock. Returns
 * false when there is no such directory.
 */
bool socket_default_path(char *out, size_t size);

/*
 * The listening socket, non-blocking: the one that a service manager passed (sd_listen_fds(3)), or
 * a new one at path, which only this needs (NULL: there is none). *passed says which. A socket
 * whose daemon is dead is replaced, one that is answered is DAEMON_RUNNING. Returns -1 with that,
 * or PATH_MISSING.
 */
int socket_listen(const char *path, bool *passed, struct error *err);

/* Connects, blocking. Returns -1 with DAEMON_MISSING. */
int socket_connect(const char *path, struct error *err);

/*
 * The same without waiting, for commands that work without a daemon too: a non-blocking descriptor,
 * or -1.
 */
int socket_connect_now(const char *path);

/* The user of the other end, by the kernel's word; (unsigned)-1 when it does not say. */
unsigned socket_peer(int fd);

/* Whether the other end is this user, or root. */
bool socket_peer_is_ours(int fd);

/*
 * Whether a client may speak to this daemon: it is this user outside of any sandbox, or root. A
 * program inside that is shown the socket (a bind of its directory) has this user's id too, but not
 * its namespaces, or a cordon-init above it.
 */
bool socket_client_is_ours(int fd);

#endif
