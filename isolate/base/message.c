/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams with descriptors. See message.h.
 *
 * A truncated message, or one with more descriptors than there is room for, is an error as a whole:
 * what came with it is closed at once, so that a hostile peer can neither leak descriptors into the
 * reader nor have half a message taken for a whole one.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int send_with(
	int flags, int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	struct iovec part = { (void *)bytes, length };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_MAX_FDS)];
	} control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd_count > MESSAGE_MAX_FDS) {
		errno = EINVAL;
		return -1;
	}
	if (fd_count > 0) {
		struct cmsghdr *header = &control.align;

		memset(&control, 0, sizeof control);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
	}
	do
		sent = sendmsg(socket, &message, MESSAGE_FLAGS | flags);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

int message_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	return send_with(0, socket, bytes, length, fds, fd_count);
}

int message_try(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	return send_with(MSG_DONTWAIT, socket, bytes, length, fds, fd_count);
}

/* Takes the descriptors out of a received message; returns -1 when there were too many. */
static int take_descriptors(struct msghdr *message, int *fds, size_t capacity, size_t *count)
{
	int status = 0;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
		header = CMSG_NXTHDR(message, header)) {
		size_t arrived;

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		arrived = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < arrived; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
			if (*count < capacity) {
				fds[(*count)++] = fd;
			} else {
				close(fd);
				status = -1;
			}
		}
	}
	return status;
}

ssize_t message_receive(
	int socket, void *bytes, size_t capacity, int *fds, size_t fd_capacity, size_t *fd_count)
{
	struct iovec part = { bytes, capacity };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_MAX_FDS)];
	} control;
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control };
	ssize_t got;
	int error = 0;

	assert(fd_capacity <= MESSAGE_MAX_FDS);
	*fd_count = 0;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -1;
	if (take_descriptors(&message, fds, fd_capacity, fd_count) < 0 ||
		(message.msg_flags & MSG_CTRUNC))
		error = EPROTO;
	else if (message.msg_flags & MSG_TRUNC)
		error = EMSGSIZE;
	if (error) {
		for (size_t i = 0; i < *fd_count; i++)
			close(fds[i]);
		*fd_count = 0;
		errno = error;
		return -1;
	}
	return got;
}
