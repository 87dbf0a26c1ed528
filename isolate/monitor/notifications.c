/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused calls, and watched ones. See notifications.h.
 *
 * A caller may die at any moment: ENOENT from either ioctl(2) is ordinary. What /proc says of a
 * process id is believed only when the notification is still valid afterwards, since otherwise the
 * pid may have been reused.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/notifications.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "isolate/seccomp/filter.h"
#include "isolate/base/proc_file.h"
#include "isolate/base/clock.h"
#include "isolate/monitor/receiver.h"

#define AT_ONCE 64
#define TURN_US 20000 /* for which nothing else is looked at */
#define WINDOW_US INT64_C(1000000)

/* The kernel's structure may grow: it is given more room than it knows of. */
union reply {
	struct seccomp_notif_resp reply;
	char room[256];
};

/*
 * Returns whether the notification is valid still: then what was read of its process until now is
 * of its process.
 */
static bool read_comm(int listener, uint64_t id, int pid, char comm[16])
{
	char path[32];

	memset(comm, 0, 16);
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	proc_file_read(path, comm, 16);
	comm[strcspn(comm, "\n")] = '\0';
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
		return true;
	memset(comm, 0, 16);
	return false;
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
	snprintf(rarest->name, sizeof rarest->name, "%.*s", (int)sizeof rarest->name - 1, name);
	rarest->count = 1;
}

static void release(struct notify *n, struct notify_slot *slot)
{
	if (slot->used && slot->held > 0) {
		slot->call.count = slot->held;
		slot->call.name = slot->name;
		event_log_call(n->log, &slot->call, filter_name(n->setup.profile));
	}
	slot->used = false;
	slot->held = 0;
}

/*
 * Whether the slot's call is this one again. Pointers to an address differ where the address does
 * not.
 */
static bool is_repeat(const struct notify_slot *slot, const struct seccomp_notif *request,
	pid_t process, const struct peer_address *to)
{
	if (!slot->used || slot->number != request->data.nr || slot->call.pid != process)
		return false;
	if (to->host[0])
		return slot->call.to.port == to->port && strcmp(slot->call.to.host, to->host) == 0;
	return memcmp(slot->arguments, request->data.args, sizeof slot->arguments) == 0;
}

static void count_refusal(struct record *record, const char *name, const struct peer_address *to)
{
	char address[REFUSED_NAME];

	if (to->host[0]) {
		snprintf(address, sizeof address, strchr(to->host, ':') ? "[%s]:%u" : "%s:%u",
			to->host, to->port);
		count(&record->hosts, address);
	} else {
		count(&record->calls, name);
	}
}

static void take(
	struct notify *n, const struct receiver_call *in, pid_t process, const char comm[16])
{
	const struct seccomp_notif *request = &in->request;
	const struct peer_address *to = &in->to;
	const int64_t now_us = clock_now_us();
	char text[24];
	const char *name =
		filter_call_name(request->data.arch, request->data.nr, text, sizeof text);
	struct notify_slot *slot =
		&n->slots[((unsigned)request->data.nr * 31 + (unsigned)process + to->port) %
			NOTIFY_SLOTS];

	count_refusal(n->record, name, to);
	if (is_repeat(slot, request, process, to) && now_us - slot->since_us < WINDOW_US) {
		if (slot->held++ == 0)
			slot->call.time_ns = in->time_ns;
		return;
	}
	release(n, slot);
	*slot = (struct notify_slot){
		.used = true,
		.number = request->data.nr,
		.since_us = now_us,
		.call = { .pid = process, .count = 1, .to = *to, .time_ns = in->time_ns },
	};
	snprintf(slot->name, sizeof slot->name, "%s", name);
	memcpy(slot->call.comm, comm, sizeof slot->call.comm);
	for (int i = 0; i < 6; i++) {
		slot->arguments[i] = request->data.args[i];
		slot->call.arguments[i] = (int64_t)request->data.args[i];
	}
	slot->call.internet = strcmp(name, "socket") == 0 &&
		((int)request->data.args[0] == AF_INET || (int)request->data.args[0] == AF_INET6);
	slot->call.name = slot->name;
	event_log_call(n->log, &slot->call, filter_name(n->setup.profile));
}

static void answer(const struct notify *n, uint64_t id, bool goes_on)
{
	union reply out;

	memset(&out, 0, sizeof out);
	out.reply.id = id;
	out.reply.error = goes_on ? 0 : -EPERM;
	out.reply.flags = goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
	while (ioctl(n->setup.listener, SECCOMP_IOCTL_NOTIF_SEND, &out.reply) != 0)
		if (errno != EINTR)
			break;
}

/*
 * While the call waits, its process can be read; its start event precedes that of the call.
 * The event of the call precedes the answer, and what was read of its process is kept if it waits
 * still.
 */
static void serve_watched(struct notify *n, const struct receiver_call *in)
{
	const struct seccomp_notif *request = &in->request;
	const char *command = in->kind == WATCHED_PROCESS && in->found ? in->command : NULL;
	pid_t process =
		processes_notice(n->processes, n->log, (pid_t)request->pid, command, in->time_ns);
	bool is_refused = in->kind == WATCHED_REFUSED;
	char comm[16];

	if (is_refused || (in->kind == WATCHED_ADDRESS && in->found)) {
		bool waits = read_comm(n->setup.listener, request->id, (int)request->pid, comm);

		if (waits || is_refused)
			take(n, in, process, comm);
	}
	answer(n, request->id, !is_refused);
}

/* Without events refusals are counted and that is all. */
static void serve(struct notify *n, const struct receiver_call *in)
{
	const struct seccomp_notif *request = &in->request;
	char text[24];

	if (n->log) {
		serve_watched(n, in);
		return;
	}
	count(&n->record->calls,
		filter_call_name(request->data.arch, request->data.nr, text, sizeof text));
	answer(n, request->id, false);
}

/* The coalesced events of a process precede its end. */
static void before_end(void *context, pid_t process)
{
	struct notify *n = context;

	for (size_t i = 0; i < NOTIFY_SLOTS; i++)
		if (n->slots[i].held > 0 && n->slots[i].call.pid == process)
			release(n, &n->slots[i]);
}

void notify_begin(struct notify *n, int listener, const struct confine_limits *limits)
{
	n->setup.listener = listener;
	n->setup.profile = (enum seccomp_profile)limits->profile;
	n->setup.own_network = limits_own_network(limits);
	if (!n->log)
		return;
	n->receiver = receiver_new(&n->setup);
	n->processes->before_end = before_end;
	n->processes->context = n;
}

/* Without a thread that takes them, calls are taken here. */
static bool receive(struct notify *n, struct receiver_call *in, bool *is_over)
{
	struct pollfd ready = { n->setup.listener, POLLIN, 0 };

	if (n->receiver)
		return receiver_take(n->receiver, in, is_over);
	do {
		if (poll(&ready, 1, 0) <= 0)
			return false;
		*is_over = !(ready.revents & POLLIN);
		if (*is_over)
			return false;
	} while (!receiver_receive(&n->setup, in)); /* interrupted, or the caller died */
	return true;
}

int notify_fd(const struct notify *n)
{
	return n->receiver ? receiver_fd(n->receiver) : n->setup.listener;
}

void notify_close(struct notify *n)
{
	receiver_free(n->receiver);
	n->receiver = NULL;
	if (n->setup.listener >= 0)
		close(n->setup.listener);
	n->setup.listener = -1;
}

bool notify_read(struct notify *n, int64_t now_us)
{
	struct receiver_call in;
	bool is_over = false;

	for (int i = 0; i < AT_ONCE && clock_now_us() - now_us < TURN_US; i++) {
		if (n->setup.listener < 0 || !receive(n, &in, &is_over))
			break;
		serve(n, &in);
	}
	if (is_over) {
		event_log_unseen(n->log, receiver_lost(n->receiver));
		notify_close(n);
	}
	return n->setup.listener >= 0;
}

void notify_flush(struct notify *n, int64_t now_us, bool all)
{
	if (receiver_check(n->receiver, now_us))
		notify_read(n, now_us);
	event_log_unseen(n->log, receiver_lost(n->receiver));
	for (size_t i = 0; i < NOTIFY_SLOTS; i++)
		if (n->slots[i].held > 0 && (all || now_us - n->slots[i].since_us >= WINDOW_US))
			release(n, &n->slots[i]);
}
