/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled filters, as constants, and the one call that installs one. See seccomp_generate.c for what is in them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/confine/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/confine/seccomp_filters.h"

static const struct {
	const char *name;
	const struct sock_filter *instructions;
	unsigned short count;
} FILTERS[PROFILE_COUNT] = {
	[PROFILE_NONE] = { "none", NULL, 0 },
#define PROFILE(id, name, groups, internet, why) [PROFILE_##id] = { name, FILTER_##id, sizeof FILTER_##id / sizeof *FILTER_##id },
#include "isolate/confine/seccomp_profiles.def"
#undef PROFILE
};

int filter_install(enum seccomp_profile profile, struct error *err)
{
	struct sock_fprog program;

	if (profile <= PROFILE_NONE || profile >= PROFILE_COUNT)
		return error_set(err, FAILURE_INTERNAL, EINVAL, "system call filter number %d", (int)profile);
	program.len = FILTERS[profile].count;
	program.filter = (struct sock_filter *)FILTERS[profile].instructions;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return error_set(err, FAILURE_SECCOMP_DENIED, errno, "installing the system call filter \"%s\"", FILTERS[profile].name);
	return 0;
}

const char *filter_name(enum seccomp_profile profile)
{
	return profile < PROFILE_COUNT ? FILTERS[profile].name : "none";
}
