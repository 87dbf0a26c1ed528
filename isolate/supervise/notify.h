/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of the filter's listener: seccomp_unotify(2).
 *
 * The answer is always the refusal that the filter would have given. Nothing that is read of the caller decides anything: its numbers and its name only go into an event. A call
 * that is repeated is answered at once and told once a second with its count, so a program that asks in a loop does not drown what else there is to see.
 */
#ifndef CORDON_ISOLATE_SUPERVISE_NOTIFY_H
#define CORDON_ISOLATE_SUPERVISE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "isolate/result.h"
#include "isolate/supervise/event_log.h"

#define NOTIFY_SLOTS 64

struct notify {
	int listener;                /* -1: none */
	const char *profile;         /* static */
	struct notify_slot {
		bool used;
		int number;
		uint64_t arguments[6], held;
		int64_t since_us;
		struct refused_call call;
		char name[24];
	} slots[NOTIFY_SLOTS];
};

/* Answers those that wait, and tells of them. Returns false when nobody is left who could call: then the listener is closed. */
bool notify_read(struct notify *n, struct event_log *log, struct result *result, int64_t now_us);

/* Tells of what was held back for a second, or of all of it (at the end). */
void notify_flush(struct notify *n, struct event_log *log, int64_t now_us, bool all);

#endif
