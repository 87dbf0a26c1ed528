/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in another process's memory, and what its socket makes of them. See peer_address.h.
 *
 * Everything is copied once, into structures of fixed size, and only the copy is looked at. The
 * socket is borrowed for a moment (pidfd_getfd(2)) and only asked questions. What this costs is
 * bounded whatever the program does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/peer_address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"

#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD of pidfd_open(2), 6.9, missing from older headers */
#define MESSAGES_MOST 64       /* of one sendmmsg(2) */

/*
 * Where the address stands: in an argument and its length in another, or in the headers that an
 * argument points to, `many` bytes apart and as many as another says.
 */
static const struct call {
	int number, address, length, flags;
	size_t many;
} CALLS[] = {
	{ SYS_connect, 1, 2, -1, 0 },
	{ SYS_sendto, 4, 5, 3, 0 },
	{ SYS_sendmsg, 1, -1, 2, sizeof(struct msghdr) },
	{ SYS_sendmmsg, 1, 2, 3, sizeof(struct mmsghdr) },
};

union address {
	sa_family_t family;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* What matters of a socket for what the kernel makes of an address. */
struct socket_facts {
	int family, type;
	bool is_free;  /* a stream that is neither connected nor listening */
	bool is_bound; /* to a device, or sends by one, of which there is only the sandbox's own */
};

static bool copy(pid_t pid, uint64_t from, void *to, size_t length)
{
	struct iovec local = { to, length }, remote = { (void *)(uintptr_t)from, length };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

static bool has_device(int fd, int level, int option)
{
	int index = 0;
	socklen_t size = sizeof index;

	return getsockopt(fd, level, option, &index, &size) == 0 && index != 0;
}

static bool ask_socket(int fd, struct socket_facts *facts)
{
	struct tcp_info tcp = { .tcpi_state = 0 };
	char device[16];
	socklen_t size = sizeof facts->family;
	bool is_socket = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &facts->family, &size) == 0;

	size = sizeof facts->type;
	is_socket = is_socket && getsockopt(fd, SOL_SOCKET, SO_TYPE, &facts->type, &size) == 0;
	size = sizeof tcp;
	facts->is_free = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &size) == 0 &&
		tcp.tcpi_state == TCP_CLOSE;
	size = sizeof device;
	facts->is_bound =
		getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &size) == 0 && size > 0;
	facts->is_bound = facts->is_bound || has_device(fd, IPPROTO_IP, IP_UNICAST_IF) ||
		has_device(fd, IPPROTO_IPV6, IPV6_UNICAST_IF);
	return is_socket;
}

static pid_t process_of(pid_t thread)
{
	char path[40], text[1024], *line;

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(line = strstr(text, "\nTgid:")))
		return -1;
	return (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10);
}

/* Where the kernel cannot hold a thread, its process has the same descriptors. */
static bool read_socket(pid_t thread, int number, struct socket_facts *facts)
{
	int holder = (int)syscall(SYS_pidfd_open, thread, PIDFD_OF_THREAD), fd;
	bool is_socket;

	if (holder < 0)
		holder = (int)syscall(SYS_pidfd_open, process_of(thread), 0);
	if (holder < 0)
		return false;
	fd = (int)syscall(SYS_pidfd_getfd, holder, number, 0);
	is_socket = fd >= 0 && ask_socket(fd, facts);
	if (fd >= 0)
		close(fd);
	close(holder);
	return is_socket;
}

/* Multicast may be sent to oneself over lo; where it is not, the kernel's count has it. */
static bool is_own_v4(uint32_t address)
{
	return address == htonl(INADDR_ANY) || ntohl(address) >> 24 == IN_LOOPBACKNET ||
		IN_MULTICAST(ntohl(address));
}

static bool is_own(const union address *a)
{
	uint32_t last;

	if (a->family == AF_INET)
		return is_own_v4(a->v4.sin_addr.s_addr);
	memcpy(&last, a->v6.sin6_addr.s6_addr + 12, sizeof last);
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr) ||
		IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) ||
		IN6_IS_ADDR_MULTICAST(&a->v6.sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr) && is_own_v4(last));
}

/*
 * What the kernel refuses for another reason before it looks for a route: an address of one link
 * that does not say which, a datagram without a port.
 */
static bool is_incomplete(const struct socket_facts *s, bool connects, const union address *a)
{
	if (s->type == SOCK_DGRAM && !connects &&
		(a->family == AF_INET ? a->v4.sin_port : a->v6.sin6_port) == 0)
		return true;
	return a->family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr) &&
		a->v6.sin6_scope_id == 0;
}

/*
 * An IPv4 datagram takes an address without a family for one of its own; a stream takes no other
 * family than its own (udp_sendmsg(), tcp_v6_connect() of the kernel).
 */
static bool takes(const struct socket_facts *s, bool connects, union address *a)
{
	if (s->family == AF_INET && a->family == AF_UNSPEC && !connects)
		a->family = AF_INET;
	if (s->family == AF_INET6 && a->family == AF_INET)
		return s->type != SOCK_STREAM;
	return (s->family == AF_INET || s->family == AF_INET6) && a->family == s->family;
}

/*
 * What is shorter than an address the kernel refuses as malformed: one of IPv6 may lack its scope
 * (SIN6_LEN_RFC2133).
 */
static bool is_outside(pid_t pid, const struct socket_facts *s, bool connects, uint64_t at,
	uint64_t length, union address *a)
{
	memset(a, 0, sizeof *a);
	return at != 0 && length >= sizeof a->family && length <= sizeof(struct sockaddr_storage) &&
		copy(pid, at, a, length < sizeof *a ? length : sizeof *a) &&
		takes(s, connects, a) &&
		length >= (a->family == AF_INET ? sizeof a->v4
						: offsetof(struct sockaddr_in6, sin6_scope_id)) &&
		!is_own(a) && !is_incomplete(s, connects, a);
}

/* The first of the call's addresses that is outside: there the kernel stops. */
static bool find_outside(const struct call *how, const struct seccomp_notif *call,
	const struct socket_facts *s, union address *a)
{
	pid_t pid = (pid_t)call->pid;
	uint64_t at = call->data.args[how->address];
	uint32_t count = how->number == SYS_sendmmsg ? (uint32_t)call->data.args[how->length] : 1;

	if (how->many == 0)
		return is_outside(pid, s, how->number == SYS_connect, at,
			(uint32_t)call->data.args[how->length], a);
	for (uint32_t i = 0; i < count && i < MESSAGES_MOST; i++) {
		struct msghdr header;

		if (!copy(pid, at + i * how->many, &header, sizeof header))
			return false;
		if (header.msg_namelen > sizeof(struct sockaddr_storage) &&
			header.msg_namelen <= INT32_MAX)
			/* what is more the kernel leaves out */
			header.msg_namelen = sizeof(struct sockaddr_storage);
		if (is_outside(pid, s, false, (uint64_t)(uintptr_t)header.msg_name,
			    header.msg_namelen, a))
			return true;
	}
	return false;
}

/*
 * Whether the call goes by an address at all: a stream does only when it connects, and a datagram
 * that cannot be does not get so far.
 */
static bool goes_by_address(
	const struct call *how, const struct seccomp_notif *call, const struct socket_facts *s)
{
	if (s->is_bound ||
		(s->type == SOCK_DGRAM && how->flags >= 0 &&
			(call->data.args[how->flags] & MSG_OOB)) ||
		(how->number == SYS_sendto && call->data.args[2] > UINT16_MAX))
		return false;
	if (s->type != SOCK_STREAM)
		return true;
	return s->is_free &&
		(how->number == SYS_connect ||
			(how->flags >= 0 && (call->data.args[how->flags] & MSG_FASTOPEN)));
}

bool peer_address_read(const struct seccomp_notif *call, struct peer_address *out)
{
	struct socket_facts s;
	union address a;

	for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
		if (CALLS[i].number != call->data.nr)
			continue;
		if (!read_socket((pid_t)call->pid, (int)call->data.args[0], &s) ||
			!goes_by_address(&CALLS[i], call, &s) ||
			!find_outside(&CALLS[i], call, &s, &a))
			return false;
		memset(out, 0, sizeof *out);
		out->port = ntohs(a.family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
		return inet_ntop(a.family,
			       a.family == AF_INET ? (const void *)&a.v4.sin_addr
						   : (const void *)&a.v6.sin6_addr,
			       out->host, sizeof out->host) != NULL;
	}
	return false;
}
