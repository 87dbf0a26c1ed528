/* SPDX-License-Identifier: Apache-2.0 */
/* Asking after the end of somebody else's child. See process_end.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/process_end.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"

/* pidfd_info of linux/pidfd.h, in its first form, which older headers lack. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};
#define EXIT_INFO (1u << 3)
#define GET_INFO _IOWR(0xff, 11, struct exit_info)

bool process_end_is_held(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

/*
 * While its parent has not asked for it. The number is this process's for as long as that can be sent a signal. The kernel shows 0 to those who may not trace the process, as where it made
 * itself undumpable; who may not trace it may not read its namespaces' names either.
 */
static bool read_zombie(pid_t outside, int pidfd, int *status)
{
	char path[40], text[1024], *state;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)outside);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(state = strrchr(text, ')')) || strncmp(state, ") Z", 3) != 0)
		return false;
	*status = (int)proc_stat_field(text, PROC_STAT_EXIT_CODE);
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)outside);
	return (*status != 0 || readlink(path, text, sizeof text) > 0) && process_end_is_held(pidfd);
}

static bool read_collected(int pidfd, int *status)
{
	struct exit_info info = { .mask = EXIT_INFO };

	if (ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & EXIT_INFO))
		return false;
	*status = info.exit_code;
	return true;
}

bool process_end_read(pid_t outside, int pidfd, int *status)
{
	return pidfd >= 0 && (read_zombie(outside, pidfd, status) || read_collected(pidfd, status));
}
