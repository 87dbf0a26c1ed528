/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled filters, as constants, and the one call that installs one. See generate.c for what
 * is in them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/seccomp/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/seccomp/seccomp_filters.h"

/* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, missing from older headers */
#define WAIT_KILLABLE (1u << 5)

static const struct {
	const char *name;
	struct sock_fprog plain, counting, notifying, watching;
	unsigned watches; /* bits of enum watched */
} FILTERS[PROFILE_COUNT] = {
	[PROFILE_NONE] = { .name = "none" },
#define PROGRAM(instructions) \
	{ \
		sizeof instructions / sizeof *instructions, (struct sock_filter *)instructions \
	}
#define PROFILE(id, name, groups, internet, why) \
	[PROFILE_##id] = { name, PROGRAM(FILTER_##id), PROGRAM(COUNTING_##id), \
		PROGRAM(NOTIFYING_##id), PROGRAM(WATCHING_##id), WATCHES_##id },
#include "isolate/wire/seccomp_profiles.def"
#undef PROFILE
};

int filter_install(enum seccomp_profile profile, struct error *err)
{
	long status;

	if (profile <= PROFILE_NONE || profile >= PROFILE_COUNT)
		return error_set(err, FAILURE_INTERNAL, EINVAL, "system call filter number %d",
			(int)profile);
	status = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		&FILTERS[profile].plain);
	if (status != 0) /* the number of a thread that cannot take it, or -1 */
		return error_set(err, FAILURE_SECCOMP_DENIED, status > 0 ? EBUSY : errno,
			"installing the system call filter \"%s\"", FILTERS[profile].name);
	return 0;
}

int filter_install_notifying(const struct confine_limits *limits, int *listener, struct error *err)
{
	/*
	 * A call that waits for its answer is not interrupted by mere signals, where the kernel can
	 * (5.19).
	 */
	static const unsigned FLAGS[] = { SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE,
		SECCOMP_FILTER_FLAG_NEW_LISTENER };
	enum seccomp_profile profile = (enum seccomp_profile)limits->profile;
	const struct sock_fprog *filter;

	*listener = -1;
	if (profile <= PROFILE_NONE || profile >= PROFILE_COUNT ||
		!(limits->flags & (LIMIT_EVENTS | LIMIT_COUNT_REFUSALS)))
		return filter_install(profile, err);
	filter = !(limits->flags & LIMIT_EVENTS) ? &FILTERS[profile].counting
		: limits_own_network(limits)     ? &FILTERS[profile].watching
						 : &FILTERS[profile].notifying;
	for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS && *listener < 0; i++)
		*listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, FLAGS[i], filter);
	return *listener >= 0 ? 0 : filter_install(profile, err);
}

enum watched filter_watched(
	enum seccomp_profile profile, bool own_network, const struct seccomp_data *call)
{
	unsigned watches;

	if (call->arch != NATIVE_ARCHITECTURE || profile <= PROFILE_NONE ||
		profile >= PROFILE_COUNT)
		return WATCHED_REFUSED;
	watches = FILTERS[profile].watches & (own_network ? ~0u : ~(unsigned)WATCHED_ADDRESS);
	for (size_t i = 0; i < sizeof WATCHED_CALLS / sizeof *WATCHED_CALLS; i++)
		if (WATCHED_CALLS[i].number == call->nr && (WATCHED_CALLS[i].about & watches))
			return WATCHED_CALLS[i].about;
	return WATCHED_REFUSED;
}

const char *filter_call_name(uint32_t architecture, int number, char *text, unsigned size)
{
	if (architecture == NATIVE_ARCHITECTURE && number >= 0 &&
		(size_t)number < sizeof CALL_NAMES / sizeof *CALL_NAMES && CALL_NAMES[number])
		return CALL_NAMES[number];
	snprintf(text, size, architecture == NATIVE_ARCHITECTURE ? "syscall_%d" : "foreign_%d",
		number);
	return text;
}

const char *filter_name(enum seccomp_profile profile)
{
	return profile < PROFILE_COUNT ? FILTERS[profile].name : "none";
}
