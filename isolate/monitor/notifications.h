/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of the filter's listener: seccomp_unotify(2).
 *
 * What the filter refuses is always answered with the refusal. Nothing that is read of the caller
 * decides anything: its numbers and its name, and an address, only go into an event. Calls that the
 * filter allows and only notifies (watched_calls.def) continue, as they would without a listener.
 * Which of the two a call is follows from its number and its ABI alone, which the kernel gives and
 * no memory of the program's holds. A call that is repeated is answered at once and becomes one
 * event a second with its count, so a program that asks in a loop does not drown what else there is
 * to see.
 */
#ifndef CORDON_ISOLATE_MONITOR_NOTIFICATIONS_H
#define CORDON_ISOLATE_MONITOR_NOTIFICATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/wire/limits.h"
#include "isolate/wire/record.h"
#include "isolate/monitor/event_log.h"
#include "isolate/monitor/processes.h"
#include "isolate/monitor/receiver.h"

#define NOTIFY_SLOTS 64

struct notify {
	struct receiver_setup setup; /* listener -1: none; uid and gid are the caller's to set */
	struct event_log *log;
	struct receiver *receiver; /* NULL: calls are taken when they are looked at */
	struct processes *processes;
	struct record *record; /* its sums of what was refused */
	struct notify_slot {
		bool used;
		int number;
		uint64_t arguments[6], held;
		int64_t since_us;
		struct refused_call call;
		char name[24];
	} slots[NOTIFY_SLOTS];
};

/*
 * Takes the listener, which is the caller's no more, of a filter with these limits. Log and
 * processes must have been set.
 */
void notify_begin(struct notify *n, int listener, const struct confine_limits *limits);

/* The descriptor that can be read when there is something for notify_read(). */
int notify_fd(const struct notify *n);

/* Closes the listener: waiting calls fail with ENOSYS. Safe at any time. */
void notify_close(struct notify *n);

/*
 * Answers the calls that wait and emits their events. Returns false when no process with the filter
 * is left: then the listener is closed.
 */
bool notify_read(struct notify *n, int64_t now_us);

/*
 * Emits what was coalesced for a second, or all of it (at the end), and what was not read. To be
 * called now and then: it replaces a receiver that a program holds up.
 */
void notify_flush(struct notify *n, int64_t now_us, bool all);

#endif
