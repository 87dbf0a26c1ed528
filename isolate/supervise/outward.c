/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in another process's memory. See outward.h.
 *
 * Everything is copied once, into structures of fixed size, and only the copy is looked at. What this costs is the same whatever the program does; nothing is opened on its behalf.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/outward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SOCKET_PREFIX "socket:["

/* Where the address stands: in an argument and its length in another, or at the beginning of the header that an argument points to. */
static const struct {
	int number, address, length;
	bool in_header;
} CALLS[] = {
	{ SYS_connect, 1, 2, false },
	{ SYS_sendto, 4, 5, false },
	{ SYS_sendmsg, 1, 0, true },
	{ SYS_sendmmsg, 1, 0, true },
};

union address {
	sa_family_t family;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool copy(pid_t pid, uint64_t from, void *to, size_t length)
{
	struct iovec local = { to, length }, remote = { (void *)(uintptr_t)from, length };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

static bool read_address(const struct seccomp_notif *call, union address *a)
{
	pid_t pid = (pid_t)call->pid;
	struct msghdr header;
	uint64_t at, length;

	for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
		if (CALLS[i].number != call->data.nr)
			continue;
		at = call->data.args[CALLS[i].address];
		length = (uint32_t)call->data.args[CALLS[i].length];
		if (CALLS[i].in_header) {
			if (!copy(pid, at, &header, sizeof header))
				return false;
			at = (uint64_t)(uintptr_t)header.msg_name;
			length = header.msg_namelen;
		}
		memset(a, 0, sizeof *a);
		/* What is shorter the kernel refuses as malformed: an IPv6 address may lack its scope (SIN6_LEN_RFC2133). */
		return at != 0 && length >= sizeof a->family && length <= sizeof(struct sockaddr_storage) && copy(pid, at, a, length < sizeof *a ? length : sizeof *a) &&
		       ((a->family == AF_INET && length >= sizeof a->v4) || (a->family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)));
	}
	return false;
}

/* Multicast may be sent to oneself over lo; where it is not, the kernel's count tells. */
static bool is_own_v4(uint32_t address)
{
	return address == htonl(INADDR_ANY) || ntohl(address) >> 24 == IN_LOOPBACKNET || IN_MULTICAST(ntohl(address));
}

static bool is_own(const union address *a)
{
	uint32_t last;

	if (a->family == AF_INET)
		return is_own_v4(a->v4.sin_addr.s_addr);
	memcpy(&last, a->v6.sin6_addr.s6_addr + 12, sizeof last);
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) || IN6_IS_ADDR_MULTICAST(&a->v6.sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr) && is_own_v4(last));
}

/* The descriptors of a process that made itself undumpable are not for everybody to see: then it is taken for one. */
static bool is_socket(pid_t pid, int fd)
{
	char path[64], text[64];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	length = readlink(path, text, sizeof text);
	return length < 0 ? errno == EACCES : length > (ssize_t)strlen(SOCKET_PREFIX) && memcmp(text, SOCKET_PREFIX, strlen(SOCKET_PREFIX)) == 0;
}

bool outward_read(const struct seccomp_notif *call, struct outward *out)
{
	union address a;

	if (!read_address(call, &a) || is_own(&a) || !is_socket((pid_t)call->pid, (int)call->data.args[0]))
		return false;
	memset(out, 0, sizeof *out);
	out->port = ntohs(a.family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return inet_ntop(a.family, a.family == AF_INET ? (const void *)&a.v4.sin_addr : (const void *)&a.v6.sin6_addr, out->host, sizeof out->host) != NULL;
}
