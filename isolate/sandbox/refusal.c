/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names what refuses. See refusal.h.
 *
 * PID 1 of the sandbox inherits the caller's filter and profile, so the caller's own /proc/self speaks for both. A filter of a
 * container or of systemd answers EPERM or ENOSYS, for families of sockets EAFNOSUPPORT; AppArmor answers EACCES.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The profile that AppArmor enforces on this process, as "name (enforce)". */
static bool read_profile(char *profile, size_t size)
{
	static const char *const PLACES[] = { "/proc/self/attr/apparmor/current", "/proc/self/attr/current" };
	ssize_t length = -1;

	for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES && length <= 0; i++) {
		int fd = open(PLACES[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		length = read(fd, profile, size - 1);
		close(fd);
	}
	profile[length > 0 ? length : 0] = '\0';
	profile[strcspn(profile, "\n")] = '\0';
	return strstr(profile, " (enforce)") != NULL;
}

static bool is_refusal(enum failure code)
{
	static const enum failure CODES[] = {
		FAILURE_USERNS_DENIED, FAILURE_MOUNT_DENIED, FAILURE_NETWORK_DENIED, FAILURE_SECCOMP_DENIED,
	};

	for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
		if (CODES[i] == code)
			return true;
	return false;
}

void refusal_explain(struct error *err)
{
	struct error before = *err;
	char profile[256];
	int error = before.sys_errno;

	if (!is_refusal(before.code))
		return;
	if (error == EACCES && read_profile(profile, sizeof profile))
		error_set(err, FAILURE_PROFILE_DENIED, error, "%s; the profile is %s", before.context, profile);
	else if ((error == EPERM || error == ENOSYS || error == EAFNOSUPPORT) && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER)
		error_set(err, FAILURE_CALL_FILTERED, error, "%s", before.context);
}
