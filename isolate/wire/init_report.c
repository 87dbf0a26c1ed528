/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of PID 1. See init_report.h for why parsing is strict: a field out of range makes the
 * whole datagram void.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/init_report.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "isolate/wire/limits.h"
#include "isolate/base/clock.h"
#include "isolate/base/message.h"

_Static_assert(sizeof(struct report) == 56 + 40 + 256, "a report has no padding");

void report_init(struct report *r, enum report_kind kind)
{
	memset(r, 0, sizeof *r);
	r->magic = REPORT_MAGIC;
	r->kind = kind;
	report_stamp(r);
}

void report_stamp(struct report *r)
{
	struct timespec now;

	r->at_us = (uint64_t)clock_now_us();
	clock_gettime(CLOCK_REALTIME, &now);
	r->time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void report_failure(struct report *r, const struct error *err)
{
	size_t length = strnlen(err->context, sizeof r->context - 1);

	report_init(r, REPORT_FAILED);
	r->failure = err->code;
	r->error = err->sys_errno;
	memcpy(r->context, err->context, length);
}

int report_listener(int socket, int listener, struct error *err)
{
	struct report r;
	int status;

	if (listener < 0)
		return 0;
	report_init(&r, REPORT_LISTENER);
	status = message_send(socket, &r, sizeof r, &listener, 1);
	if (status != 0)
		error_set(err,
			errno == ETOOMANYREFS ? FAILURE_RESOURCES_EXHAUSTED
					      : FAILURE_SECCOMP_DENIED,
			errno, "passing the filter's listener to the supervisor%s",
			errno == ETOOMANYREFS ? ": this user's programs have more descriptors in "
						"flight than RLIMIT_NOFILE"
					      : "");
	close(listener);
	return status;
}

const char *report_word(uint32_t kind)
{
	static const char *const WORDS[] = {
		[REPORT_READY] = "ready",
		[REPORT_STARTED] = "started",
		[REPORT_NOT_STARTED] = "not started",
		[REPORT_ENDED] = "ended",
		[REPORT_FAILED] = "failed",
		[REPORT_LISTENER] = "listener",
		[REPORT_PROCESS] = "process",
		[REPORT_GONE] = "gone",
		[REPORT_SAMPLE] = "sample",
		[REPORT_STOPPED] = "stopped",
		[REPORT_CONTINUED] = "continued",
	};

	return kind < sizeof WORDS / sizeof *WORDS && WORDS[kind] ? WORDS[kind] : "unknown";
}

bool report_parse(const void *bytes, size_t length, struct report *out)
{
	if (length != sizeof *out)
		return false;
	memcpy(out, bytes, sizeof *out);
	if (out->magic != REPORT_MAGIC || out->kind < REPORT_READY || out->kind > REPORT_CONTINUED)
		return false;
	if (out->layers >= (1u << LAYER_COUNT) || out->failure >= FAILURE_COUNT ||
		out->limits > REPORT_LIMITS || out->pid > INT32_MAX || out->parent > INT32_MAX)
		return false;
	if (out->error < 0 || out->error > 4095 || out->status < 0 || out->status > 0xffff)
		return false;
	if (out->time_ns < 0)
		return false;
	if (memchr(out->context, '\0', sizeof out->context) == NULL)
		return false;
	return out->kind != REPORT_FAILED || out->failure != FAILURE_NONE;
}
