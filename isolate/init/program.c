/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the program. See program.h.
 *
 * The child shares the parent's memory until execve (CLONE_VM | CLONE_VFORK, as posix_spawn(3)
 * does), on a stack of its own: its results are simply there when the parent goes on, and no page
 * table is copied. It calls nothing that allocates or locks. The filter comes last, when only
 * execve is left to do.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/init/privileges.h"
#include "isolate/init/reap.h"
#include "isolate/seccomp/filter.h"
#include "isolate/wire/init_report.h"

#define STACK_BYTES (256 * 1024)
#define RUNNER_FD 3

struct child {
	struct program_start *start;
	char **argv, **env;
	const char *path_list;
};

int program_terminal(unsigned rows, unsigned columns, struct error *err)
{
	struct winsize window = { .ws_row = (unsigned short)rows,
		.ws_col = (unsigned short)columns };
	int unlocked = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return error_set(
			err, FAILURE_MOUNT_DENIED, errno, "opening a pseudo-terminal (/dev/ptmx)");
	if (ioctl(fd, TIOCSPTLCK, &unlocked) != 0 ||
		(rows > 0 && columns > 0 && ioctl(fd, TIOCSWINSZ, &window) != 0)) {
		error_set(err, FAILURE_MOUNT_DENIED, errno, "setting up the pseudo-terminal");
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * The other side of the terminal, by its master and not by a path, as the controlling terminal on
 * descriptors 0 to 2.
 */
static int take_terminal(int master)
{
	int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);

	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0)
		return -1;
	for (int standard = 0; standard <= 2; standard++)
		if (dup2(fd, standard) < 0)
			return -1;
	return 0;
}

/*
 * The listener, if there is one, goes to the supervisor; every profile allows the sendmsg(2) that
 * it takes.
 */
static int install_filter(struct program_start *s)
{
	int listener;

	return filter_install_notifying(&s->plan->limits, &listener, &s->error) < 0 ||
			report_listener(s->control, listener, &s->error) < 0
		? -1
		: 0;
}

static int confine_child(struct program_start *s)
{
	const struct plan *p = s->plan;
	int runner_fd = s->runner_fd;

	if (setsid() < 0 || (s->terminal >= 0 && take_terminal(s->terminal) < 0))
		return error_set(&s->error, FAILURE_INTERNAL, errno,
			"giving the program a session and a terminal of its own");
	if (chdir(packed_string(p, p->directory)) != 0 &&
		(p->otherwise.length == 0 || chdir(packed_string(p, p->otherwise)) != 0))
		return error_set(&s->error, FAILURE_PATH_MISSING, errno,
			"entering the working directory %s", packed_string(p, p->directory));
	if (runner_fd >= 0 && runner_fd != RUNNER_FD &&
		(runner_fd = dup2(runner_fd, RUNNER_FD)) < 0)
		return error_set(
			&s->error, FAILURE_INTERNAL, errno, "passing the runner's socket on");
	if (runner_fd == RUNNER_FD && fcntl(RUNNER_FD, F_SETFD, 0) != 0)
		return error_set(
			&s->error, FAILURE_INTERNAL, errno, "passing the runner's socket on");
	if (close_range(runner_fd >= 0 ? RUNNER_FD + 1 : RUNNER_FD, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
		return error_set(
			&s->error, FAILURE_INTERNAL, errno, "closing all other descriptors");
	if (p->limits.profile == PROFILE_NONE)
		return 0; /* the runner's fork server: what it starts is confined there */
	/*
	 * In a new user namespace PID 1 counts too; without one, the user's other processes count.
	 */
	if (rlimits_apply(&p->limits, p->limits.flags & LIMIT_NAMESPACES ? 1 : 0, &s->error) < 0)
		return -1;
	if (!(p->limits.flags & LIMIT_NAMESPACES))
		landlock_scope(&s->layers);
	if (install_filter(s) < 0 || rlimits_open_files(&p->limits, &s->error) < 0)
		return -1;
	s->layers |= LAYER_SECCOMP;
	return 0;
}

/*
 * execve(2) with execvp(3)'s search, on the program's own PATH. Leaves the errno that a shell would
 * report.
 */
static int execute(const struct child *c, const char *command)
{
	int worst = ENOENT;
	char path[PATH_MAX];

	if (strchr(command, '/')) {
		execve(command, c->argv, c->env);
		return errno;
	}
	for (const char *at = c->path_list; *at; at += strcspn(at, ":"), at += *at == ':') {
		int length =
			snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, command);

		if (length < 0 || (size_t)length >= sizeof path)
			continue;
		execve(path, c->argv, c->env);
		if (errno != ENOENT && errno != ENOTDIR)
			worst = errno;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			break;
	}
	return worst;
}

static int child_main(void *argument)
{
	struct child *c = argument;
	struct program_start *s = c->start;

	reap_unblock_signals();
	if (confine_child(s) == 0)
		s->exec_errno = execute(c, packed_string(s->plan, s->plan->command));
	_exit(127);
}

/* A NULL-terminated vector over a table of texts; the strings stay in the plan. */
static char **vector_of(const struct plan *p, struct packed_table table)
{
	char **vector = calloc((size_t)table.count + 1, sizeof *vector);

	for (uint32_t i = 0; vector && i < table.count; i++)
		vector[i] = (char *)packed_row_string(p, table, i);
	return vector;
}

static const char *path_of(char **env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/usr/bin:/bin";
}

pid_t program_start(struct program_start *s)
{
	struct child c = { .start = s,
		.argv = vector_of(s->plan, s->plan->argv),
		.env = vector_of(s->plan, s->plan->env) };
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid = -1;

	s->layers = 0;
	s->exec_errno = 0;
	s->error.code = FAILURE_NONE;
	if (!c.argv || !c.env || stack == MAP_FAILED) {
		error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "starting the program");
		goto out;
	}
	c.path_list = path_of(c.env);
	pid = clone(child_main, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	if (pid < 0) {
		error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, errno,
			"starting the program's process");
	} else if (s->exec_errno != 0 || s->error.code != FAILURE_NONE) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
out:
	if (stack != MAP_FAILED)
		munmap(stack, STACK_BYTES);
	free(c.argv);
	free(c.env);
	return pid;
}

/* ---- rlimits ---- */

/*
 * Per-process limits, and those per user that the kernel also counts by user namespace.
 *
 * Soft and hard limit are set alike, so that the program cannot raise one again; only CPU time has
 * a second between them, for SIGXCPU before SIGKILL. RLIMIT_NPROC counts the processes of one user
 * in one user namespace (since Linux 5.14): in the tier namespace that is this sandbox alone.
 */

static int set(int resource, const char *name, rlim_t soft, rlim_t hard, struct error *err)
{
	struct rlimit wanted = { soft, hard };

	if (setrlimit((__rlimit_resource_t)resource, &wanted) == 0)
		return 0;
	return err ? error_set(err, FAILURE_LIMIT_DENIED, errno, "setting %s to %llu", name,
			     (unsigned long long)soft)
		   : -1;
}

/*
 * Bytes of address space that this process has mapped now: the first number of /proc/self/statm, in
 * pages. 0 when it cannot be read.
 */
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
 * What is counted per user (setrlimit(2), mq_overview(7)): the caller's other programs share the
 * number with the sandbox, so a program gets a part of it, or what is left of a smaller one.
 */
static const struct {
	int resource;
	const char *name;
	rlim_t most;
} SHARED_WITH_USER[] = {
	/* queued signals and timers; a usual limit: 90,000 */
	{ RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 2048 },
	/* bytes in POSIX queues; the kernel's own default */
	{ RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 819200 },
	{ RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 4 << 20 }, /* a usual limit: 8 MiB */
};

static int limit_shared(struct error *err)
{
	for (size_t i = 0; i < sizeof SHARED_WITH_USER / sizeof *SHARED_WITH_USER; i++) {
		struct rlimit now;
		rlim_t most = SHARED_WITH_USER[i].most;

		if (getrlimit((__rlimit_resource_t)SHARED_WITH_USER[i].resource, &now) == 0 &&
			now.rlim_max < most)
			most = now.rlim_max;
		if (set(SHARED_WITH_USER[i].resource, SHARED_WITH_USER[i].name, most, most, err) <
			0)
			return -1;
	}
	return 0;
}

/*
 * 1 and not 0: where kernel.core_pattern names a handler the kernel ignores the size of a core
 * file, but starts no handler at 1 (do_coredump()). A hard limit of 0 cannot be raised:
 * limits_from_options.c says what follows.
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
		set(RLIMIT_FSIZE, "RLIMIT_FSIZE", limits->fsize_bytes, limits->fsize_bytes, err) <
			0)
		return -1;
	if (limits->cpu_seconds > 0 &&
		set(RLIMIT_CPU, "RLIMIT_CPU", limits->cpu_seconds, limits->cpu_seconds + 1, err) <
			0)
		return -1;
	if ((limits->flags & LIMIT_PROCESSES) &&
		set(RLIMIT_NPROC, "RLIMIT_NPROC", limits->processes + own_processes,
			limits->processes + own_processes, err) < 0)
		return -1;
	if ((limits->flags & LIMIT_ADDRESS_SPACE) && limits->memory_bytes > 0) {
		rlim_t most = limits->memory_bytes + mapped_now();

		return set(RLIMIT_AS, "RLIMIT_AS", most, most, err);
	}
	return 0;
}
