/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the program. See program.h.
 *
 * The child shares the parent's memory until execve (CLONE_VM | CLONE_VFORK, as posix_spawn(3) does), on a stack of its own: its results are simply
 * there when the parent goes on, and no page table is copied. It calls nothing that allocates or locks. The filter comes last, when only execve is left to do.
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
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/seccomp/filter.h"
#include "isolate/init/landlock.h"
#include "isolate/init/reap.h"
#include "isolate/wire/init_report.h"
#include "isolate/init/rlimits.h"

#define STACK_BYTES (256 * 1024)
#define RUNNER_FD 3

struct child {
	struct program_start *start;
	char **argv, **env;
	const char *path_list;
};

int program_terminal(unsigned rows, unsigned columns, struct error *err)
{
	struct winsize window = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };
	int unlocked = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "opening a pseudo-terminal (/dev/ptmx)");
	if (ioctl(fd, TIOCSPTLCK, &unlocked) != 0 || (rows > 0 && columns > 0 && ioctl(fd, TIOCSWINSZ, &window) != 0)) {
		error_set(err, FAILURE_MOUNT_DENIED, errno, "setting up the pseudo-terminal");
		close(fd);
		return -1;
	}
	return fd;
}

/* The other side of the terminal, by its master and not by a path, as the controlling terminal on descriptors 0 to 2. */
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

/* The listener, if there is one, goes to the supervisor; every profile allows the sendmsg(2) that it takes. */
static int install_filter(struct program_start *s)
{
	int listener;

	return filter_install_notifying(&s->plan->limits, &listener, &s->error) < 0 || report_listener(s->control, listener, &s->error) < 0 ? -1 : 0;
}

static int confine_child(struct program_start *s)
{
	const struct plan *p = s->plan;
	int runner_fd = s->runner_fd;

	if (setsid() < 0 || (s->terminal >= 0 && take_terminal(s->terminal) < 0))
		return error_set(&s->error, FAILURE_INTERNAL, errno, "giving the program a session and a terminal of its own");
	if (chdir(plan_string(p, p->directory)) != 0 && (p->otherwise.length == 0 || chdir(plan_string(p, p->otherwise)) != 0))
		return error_set(&s->error, FAILURE_PATH_MISSING, errno, "entering the working directory %s", plan_string(p, p->directory));
	if (runner_fd >= 0 && runner_fd != RUNNER_FD && (runner_fd = dup2(runner_fd, RUNNER_FD)) < 0)
		return error_set(&s->error, FAILURE_INTERNAL, errno, "passing the runner's socket on");
	if (runner_fd == RUNNER_FD && fcntl(RUNNER_FD, F_SETFD, 0) != 0)
		return error_set(&s->error, FAILURE_INTERNAL, errno, "passing the runner's socket on");
	if (close_range(runner_fd >= 0 ? RUNNER_FD + 1 : RUNNER_FD, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
		return error_set(&s->error, FAILURE_INTERNAL, errno, "closing all other descriptors");
	if (p->limits.profile == PROFILE_NONE)
		return 0; /* the runner's fork server: what it starts is confined there */
	/* In a new user namespace PID 1 counts too; without one, whoever else this user is was not counted on. */
	if (rlimits_apply(&p->limits, p->limits.flags & LIMIT_ISOLATED ? 1 : 0, &s->error) < 0)
		return -1;
	if (!(p->limits.flags & LIMIT_ISOLATED))
		landlock_scope(&s->layers);
	if (install_filter(s) < 0 || rlimits_open_files(&p->limits, &s->error) < 0)
		return -1;
	s->layers |= LAYER_SECCOMP;
	return 0;
}

/* execve(2) with execvp(3)'s search, on the program's own PATH. Leaves the errno that a shell would report. */
static int execute(const struct child *c, const char *command)
{
	int worst = ENOENT;
	char path[PATH_MAX];

	if (strchr(command, '/')) {
		execve(command, c->argv, c->env);
		return errno;
	}
	for (const char *at = c->path_list; *at; at += strcspn(at, ":"), at += *at == ':') {
		int length = snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, command);

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
		s->exec_errno = execute(c, plan_string(s->plan, s->plan->command));
	_exit(127);
}

/* A NULL-terminated vector over a table of texts; the strings stay in the plan. */
static char **vector_of(const struct plan *p, struct plan_table table)
{
	char **vector = calloc((size_t)table.count + 1, sizeof *vector);

	for (uint32_t i = 0; vector && i < table.count; i++)
		vector[i] = (char *)plan_row_text(p, table, i);
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
	struct child c = { .start = s, .argv = vector_of(s->plan, s->plan->argv), .env = vector_of(s->plan, s->plan->env) };
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
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
		error_set(&s->error, FAILURE_RESOURCES_EXHAUSTED, errno, "starting the program's process");
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
