/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's side of a view server, spoken over a socket pair: enough of the FUSE protocol to ask
 * for anything, right or wrong. No /dev/fuse and no privileges are needed.
 *
 * fuse_client_start() runs the server in a child on one end. A request is sent with fuse_ask(),
 * which waits for the answer with its number and skips what the server says unasked.
 */
#ifndef CORDON_TESTS_FUSE_CLIENT_H
#define CORDON_TESTS_FUSE_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/view/view.h"

struct fuse_client {
	int socket, events; /* events: our end of the server's socket */
	pid_t server;
	uint64_t unique;
	unsigned stores; /* FUSE_NOTIFY_STORE messages so far, and what the last one brought */
	char stored[64];
	size_t length; /* of the last answer's data */
	char answer[2 << 20] __attribute__((aligned(8)));
};

/*
 * Gives the view to a server in a child. make() builds it there; its argument is the descriptor for
 * events.
 */
static int fuse_client_start(struct fuse_client *c,
	struct view *(*make)(int events, const char *directory), const char *directory)
{
	int device[2], events[2], size = 4 << 20;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, device) != 0 ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		setsockopt(device[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
		setsockopt(device[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	}
	c->server = fork();
	if (c->server == 0) {
		struct view *v;
		struct error err = ERROR_INIT;
		int status;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(device[0]);
		close(events[0]);
		v = make(events[1], directory);
		status = v && server_open(v, device[1], &err) == 0 &&
				server_serve(v, device[1], events[1]) == 0
			? 0
			: 1;
		view_free(v);
		exit(status); /* with exit handlers: a leak shows here */
	}
	close(device[1]);
	close(events[1]);
	c->socket = device[0];
	c->events = events[0];
	c->unique = 0;
	return c->server < 0 ? -1 : 0;
}

/* Sends a request without waiting. Returns its number, 0 when the server is gone. */
static uint64_t fuse_send(struct fuse_client *c, uint32_t op, uint64_t node, const void *first,
	size_t first_length, const void *second, size_t second_length)
{
	struct fuse_in_header head = { .len = (uint32_t)(sizeof head + first_length +
					       second_length),
		.opcode = op,
		.unique = c->unique += 2,
		.nodeid = node,
		.uid = 1000,
		.gid = 1000,
		.pid = (uint32_t)getpid() };
	struct iovec parts[3] = { { &head, sizeof head }, { (void *)first, first_length },
		{ (void *)second, second_length } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };

	return sendmsg(c->socket, &message, MSG_NOSIGNAL) < 0 ? 0 : head.unique;
}

/*
 * The answer to a request: 0 or a positive errno; the data is in c->answer. -1 when the server is
 * gone or says nothing for five seconds.
 */
static int fuse_receive(struct fuse_client *c, uint64_t unique)
{
	struct pollfd polled = { c->socket, POLLIN, 0 };

	while (unique && poll(&polled, 1, 5000) > 0) {
		struct fuse_out_header head;
		struct iovec parts[2] = { { &head, sizeof head }, { c->answer, sizeof c->answer } };
		ssize_t got = readv(c->socket, parts, 2);

		if (got < (ssize_t)sizeof head)
			return -1;
		if (head.unique == 0 && head.error == FUSE_NOTIFY_STORE) {
			size_t length =
				(size_t)got - sizeof head - sizeof(struct fuse_notify_store_out);

			c->stores++;
			snprintf(c->stored, sizeof c->stored, "%.*s", (int)length,
				c->answer + sizeof(struct fuse_notify_store_out));
		}
		if (head.unique != unique)
			continue;
		c->length = (size_t)got - sizeof head;
		return -head.error;
	}
	return -1;
}

static int fuse_ask(struct fuse_client *c, uint32_t op, uint64_t node, const void *first,
	size_t first_length, const void *second, size_t second_length)
{
	return fuse_receive(c, fuse_send(c, op, node, first, first_length, second, second_length));
}

static int fuse_client_init(struct fuse_client *c)
{
	struct fuse_init_in in = { .major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 131072,
		.flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_DO_READDIRPLUS |
			FUSE_READDIRPLUS_AUTO | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES |
			FUSE_CACHE_SYMLINKS | FUSE_ATOMIC_O_TRUNC };

	return fuse_ask(c, FUSE_INIT, 0, &in, sizeof in, NULL, 0);
}

/* Looks a name up; *node is its id (0: absent, and the kernel may remember it). */
__attribute__((unused)) static int fuse_lookup(
	struct fuse_client *c, uint64_t parent, const char *name, struct fuse_entry_out *out)
{
	int status = fuse_ask(c, FUSE_LOOKUP, parent, name, strlen(name) + 1, NULL, 0);

	memset(out, 0, sizeof *out);
	if (status == 0 && c->length >= sizeof *out)
		memcpy(out, c->answer, sizeof *out);
	return status;
}

/* Ends the server; returns its wait status. */
static int fuse_client_end(struct fuse_client *c)
{
	int status = -1;

	close(c->events);
	close(c->socket);
	waitpid(c->server, &status, 0);
	return status;
}

#endif
