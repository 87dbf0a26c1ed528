/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-process limits. See rlimits.h.
 *
 * Soft and hard limit are set alike, so that the program cannot raise one again; only CPU time has a second between them, for SIGXCPU before SIGKILL.
 * RLIMIT_NPROC counts the processes of one user in one user namespace (since Linux 5.14): in the tier namespace that is this sandbox alone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/confine/rlimits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int set(int resource, const char *name, rlim_t soft, rlim_t hard, struct error *err)
{
	struct rlimit wanted = { soft, hard };

	if (setrlimit((__rlimit_resource_t)resource, &wanted) == 0)
		return 0;
	return err ? error_set(err, FAILURE_LIMIT_DENIED, errno, "setting %s to %llu", name, (unsigned long long)soft) : -1;
}

/* Bytes of address space that this process has mapped now: the first number of /proc/self/statm, in pages. 0 when it cannot be read. */
static rlim_t mapped_now(void)
{
	char text[64];
	rlim_t pages = 0;
	ssize_t length;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof text - 1);
	close(fd);
	for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (rlim_t)(text[i] - '0');
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int rlimits_apply(const struct confine_limits *limits, unsigned own_processes, struct error *err)
{
	if (set(RLIMIT_CORE, "RLIMIT_CORE", 0, 0, err) < 0 ||
	    set(RLIMIT_FSIZE, "RLIMIT_FSIZE", limits->fsize_bytes, limits->fsize_bytes, err) < 0 ||
	    set(RLIMIT_NOFILE, "RLIMIT_NOFILE", limits->open_files, limits->open_files, err) < 0)
		return -1;
	if (limits->cpu_seconds > 0 && set(RLIMIT_CPU, "RLIMIT_CPU", limits->cpu_seconds, limits->cpu_seconds + 1, err) < 0)
		return -1;
	if ((limits->flags & LIMIT_PROCESSES) &&
	    set(RLIMIT_NPROC, "RLIMIT_NPROC", limits->processes + own_processes, limits->processes + own_processes, err) < 0)
		return -1;
	if ((limits->flags & LIMIT_ADDRESS_SPACE) && limits->memory_bytes > 0) {
		rlim_t most = limits->memory_bytes + mapped_now();

		return set(RLIMIT_AS, "RLIMIT_AS", most, most, err);
	}
	return 0;
}
