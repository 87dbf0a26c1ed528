/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-process limits, and those per user that the kernel also counts by user namespace. See rlimits.h.
 *
 * Soft and hard limit are set alike, so that the program cannot raise one again; only CPU time has a second between them, for SIGXCPU before SIGKILL.
 * RLIMIT_NPROC counts the processes of one user in one user namespace (since Linux 5.14): in the tier namespace that is this sandbox alone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/rlimits.h"

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

/*
 * What is counted per user (setrlimit(2), mq_overview(7)): the caller's other programs share the number
 * with the sandbox, so a program gets a part of it, or what is left of a smaller one.
 */
static const struct { int resource; const char *name; rlim_t most; } SHARED_WITH_USER[] = {
	{ RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 2048 },   /* queued signals and timers; a usual limit: 90,000 */
	{ RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 819200 },     /* bytes in POSIX queues; the kernel's own default */
	{ RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 4 << 20 },      /* a usual limit: 8 MiB */
};

static int limit_shared(struct error *err)
{
	for (size_t i = 0; i < sizeof SHARED_WITH_USER / sizeof *SHARED_WITH_USER; i++) {
		struct rlimit now;
		rlim_t most = SHARED_WITH_USER[i].most;

		if (getrlimit((__rlimit_resource_t)SHARED_WITH_USER[i].resource, &now) == 0 && now.rlim_max < most)
			most = now.rlim_max;
		if (set(SHARED_WITH_USER[i].resource, SHARED_WITH_USER[i].name, most, most, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * 1 and not 0: where kernel.core_pattern names a handler the kernel ignores the size of a core file, but
 * starts no handler at 1 (do_coredump()). A hard limit of 0 cannot be raised: limits_from_options.c says what follows.
 */
static int limit_core(struct error *err)
{
	struct rlimit now;
	rlim_t most = getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max < 1 ? 0 : 1;

	return set(RLIMIT_CORE, "RLIMIT_CORE", most, most, err);
}

int rlimits_open_files(const struct confine_limits *limits, struct error *err)
{
	return set(RLIMIT_NOFILE, "RLIMIT_NOFILE", limits->open_files, limits->open_files, err);
}

int rlimits_apply(const struct confine_limits *limits, unsigned own_processes, struct error *err)
{
	if (limit_core(err) < 0 || limit_shared(err) < 0 ||
	    set(RLIMIT_FSIZE, "RLIMIT_FSIZE", limits->fsize_bytes, limits->fsize_bytes, err) < 0)
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
