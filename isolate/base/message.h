/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One datagram with descriptors, over a UNIX SOCK_SEQPACKET socket: unix(7), SCM_RIGHTS.
 *
 * Every message fits one bounded buffer, so a peer cannot make the reader wait for the rest of one
 * or allocate for it.
 */
#ifndef CORDON_ISOLATE_BASE_MESSAGE_H
#define CORDON_ISOLATE_BASE_MESSAGE_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#define MESSAGE_MAX_FDS 80
/*
 * Of sendmsg(2). A datagram always ends a record, so MSG_EOR changes nothing; a filter that is just
 * being installed knows the message by it (watched_calls.def).
 */
#define MESSAGE_FLAGS (MSG_NOSIGNAL | MSG_EOR)

/*
 * Sends bytes and descriptors as one message. Blocks unless the socket is non-blocking; never
 * raises SIGPIPE. Returns 0, or -1 with errno.
 */
int message_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count);

/* The same without waiting: -1 with EAGAIN where there is no room. */
int message_try(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count);

/*
 * Receives one message. Returns its length (0 at the peer's end), or -1 with errno: EMSGSIZE when
 * it does not fit, EPROTO when it brings more descriptors than fd_capacity (all of them are closed
 * then). Descriptors received are close-on-exec and belong to the caller.
 */
ssize_t message_receive(
	int socket, void *bytes, size_t capacity, int *fds, size_t fd_capacity, size_t *fd_count);

#endif
