/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused calls. See notify.h.
 *
 * A caller may die at any moment: ENOENT from either ioctl(2) is ordinary. What /proc says of a process id is believed only when the notification is still valid afterwards, since
 * otherwise the number may be somebody else's by then.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/confine/filter.h"

#define AT_ONCE 64
#define WINDOW_US INT64_C(1000000)

static void read_comm(int listener, uint64_t id, int pid, char comm[16])
{
	char path[32];
	int fd;
	ssize_t got;

	memset(comm, 0, 16);
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, comm, 15);
	close(fd);
	if (got <= 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0)
		memset(comm, 0, 16);
	else
		comm[strcspn(comm, "\n")] = '\0';
}

static void count(struct refused_calls *sums, const char *name)
{
	struct refused_call_sum *rarest = &sums->top[0];

	sums->total++;
	for (size_t i = 0; i < REFUSED_CALLS; i++) {
		if (strcmp(sums->top[i].name, name) == 0) {
			sums->top[i].count++;
			return;
		}
		if (sums->top[i].count < rarest->count)
			rarest = &sums->top[i];
	}
	snprintf(rarest->name, sizeof rarest->name, "%s", name);
	rarest->count = 1;
}

static void release(struct notify *n, struct notify_slot *slot, struct event_log *log)
{
	if (slot->used && slot->held > 0) {
		slot->call.count = slot->held;
		slot->call.name = slot->name;
		event_log_call(log, &slot->call, n->profile);
	}
	slot->used = false;
	slot->held = 0;
}

static void take(struct notify *n, const struct seccomp_notif *request, const char comm[16], struct event_log *log, struct result *result, int64_t now_us)
{
	char text[24];
	const char *name = filter_call_name(request->data.nr, text, sizeof text);
	struct notify_slot *slot = &n->slots[((unsigned)request->data.nr * 31 + request->pid) % NOTIFY_SLOTS];
	uint64_t arguments[6];

	for (int i = 0; i < 6; i++)
		arguments[i] = request->data.args[i];
	count(&result->calls, name);
	if (slot->used && slot->number == request->data.nr && slot->call.pid == (int)request->pid && memcmp(slot->arguments, arguments, sizeof arguments) == 0 &&
	    now_us - slot->since_us < WINDOW_US) {
		slot->held++;
		return;
	}
	release(n, slot, log);
	*slot = (struct notify_slot){ .used = true, .number = request->data.nr, .since_us = now_us, .call = { .pid = (int)request->pid, .count = 1 } };
	memcpy(slot->arguments, arguments, sizeof arguments);
	snprintf(slot->name, sizeof slot->name, "%s", name);
	memcpy(slot->call.comm, comm, sizeof slot->call.comm);
	for (int i = 0; i < 6; i++)
		slot->call.arguments[i] = (int64_t)arguments[i];
#ifdef SYS_socket
	slot->call.internet = request->data.nr == SYS_socket && ((int)arguments[0] == AF_INET || (int)arguments[0] == AF_INET6);
#endif
	slot->call.name = slot->name;
	event_log_call(log, &slot->call, n->profile);
}

bool notify_read(struct notify *n, struct event_log *log, struct result *result, int64_t now_us)
{
	/* The kernel's structures may grow: it is given more room than it knows of. */
	union { struct seccomp_notif request; char room[256]; } in;
	union { struct seccomp_notif_resp answer; char room[256]; } out;

	for (int i = 0; i < AT_ONCE && n->listener >= 0; i++) {
		struct pollfd ready = { n->listener, POLLIN, 0 };
		char comm[16];

		if (poll(&ready, 1, 0) <= 0)
			return true;
		if (!(ready.revents & POLLIN)) {
			close(n->listener);
			n->listener = -1;
			return false;
		}
		memset(&in, 0, sizeof in);
		if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &in.request) != 0)
			continue; /* interrupted, or the caller died */
		read_comm(n->listener, in.request.id, (int)in.request.pid, comm);
		memset(&out, 0, sizeof out);
		out.answer.id = in.request.id;
		out.answer.error = -EPERM;
		while (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &out.answer) != 0 && errno == EINTR)
			;
		take(n, &in.request, comm, log, result, now_us);
	}
	return n->listener >= 0;
}

void notify_flush(struct notify *n, struct event_log *log, int64_t now_us, bool all)
{
	for (size_t i = 0; i < NOTIFY_SLOTS; i++)
		if (n->slots[i].held > 0 && (all || now_us - n->slots[i].since_us >= WINDOW_US))
			release(n, &n->slots[i], log);
}
