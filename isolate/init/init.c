/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon-init: the first process of a sandbox.
 *
 * The supervisor starts it in fresh namespaces (tier namespace) or as a plain child (tier
 * subprocess) with nothing but a socket on descriptor 3: no arguments, no environment, so its
 * command line reveals nothing. The first datagram brings a plan; then it builds the root, gives up
 * every privilege, starts the program, and reaps until the end. It reports each step as a datagram,
 * the failing one with its reason. When the supervisor's end of the socket goes, it ends
 * everything.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "fs/export/workspace.h"
#include "isolate/init/guard.h"
#include "isolate/base/trace.h"
#include "isolate/base/message.h"
#include "isolate/init/mounts.h"
#include "isolate/wire/init_plan.h"
#include "isolate/init/privileges.h"
#include "isolate/init/program.h"
#include "isolate/init/reap.h"
#include "isolate/wire/init_report.h"
#include "isolate/init/root.h"
#include "net/loopback.h"

struct setup {
	const struct plan *plan;
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;
	int workspace, terminal, usage_fd;
	struct root_output parts;
	uint32_t layers;
	struct error error;
};

/*
 * Waits for the plan. Returns 1 when there is one, 0 when the supervisor is gone, -1 with an error.
 */
static int receive_plan(struct setup *s)
{
	char byte;
	ssize_t got =
		message_receive(HELPER_CONTROL, &byte, 1, s->fds, MESSAGE_MAX_FDS, &s->fd_count);

	if (got == 0)
		return 0;
	if (got < 0 || s->fd_count < 1)
		return error_set(
			&s->error, FAILURE_INTERNAL, errno, "receiving the plan of the sandbox");
	s->plan = plan_open(s->fds[0], &s->error);
	return s->plan ? 1 : -1;
}

static int copy_in(struct setup *s)
{
	const struct plan_copy *copies = packed_rows(s->plan, s->plan->copies);

	for (uint32_t i = 0; i < s->plan->copies.count; i++) {
		const struct plan_copy *copy = &copies[i];

		if (copy->fd_index >= s->fd_count)
			return error_set(
				&s->error, FAILURE_INTERNAL, 0, "a file to copy in did not arrive");
		if (workspace_copy_in(s->workspace, packed_string(s->plan, copy->name),
			    s->fds[copy->fd_index], copy->mode, &s->error) < 0)
			return -1;
	}
	return 0;
}

static int set_up_namespaces(struct setup *s)
{
	const struct confine_limits *limits = &s->plan->limits;

	/*
	 * Only a name: a unit with ProtectHostname= and some filters of container engines refuse
	 * it.
	 */
	(void)!sethostname("cordon", 6);
	if (!(limits->flags & LIMIT_HOST_NETWORK) && loopback_up(&s->error) < 0)
		return -1;
	if (s->plan->view_fd_index >= 0 && (size_t)s->plan->view_fd_index >= s->fd_count)
		return error_set(
			&s->error, FAILURE_INTERNAL, 0, "the mount of the view did not arrive");
	s->workspace = root_build(s->plan, s->fds, &s->parts, &s->layers, &s->error);
	if (s->plan->view_fd_index >= 0)
		s->fds[s->plan->view_fd_index] = -1; /* attached, or closed */
	if (s->workspace < 0)
		return -1;
	/*
	 * The runner's fork server makes a namespace for each execution, and sets the limits there.
	 */
	if (limits->profile != PROFILE_NONE &&
		privileges_limit_namespace(&s->layers, &s->error) < 0)
		return -1;
	if (limits->flags & LIMIT_TERMINAL) {
		s->terminal = program_terminal(s->plan->rows, s->plan->columns, &s->error);
		if (s->terminal < 0)
			return -1;
	}
	return 0;
}

/*
 * The workspace of a tier without mounts: a new directory of the host's. It is made here and not by
 * the supervisor, so that there is never one without a process that removes it.
 */
static int make_workspace(struct setup *s, const char *directory)
{
	if (mkdir(directory, 0700) != 0)
		return error_set(&s->error, FAILURE_PATH_MISSING, errno,
			"making the working directory %s", directory);
	s->workspace = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->workspace < 0)
		return error_set(&s->error, FAILURE_PATH_MISSING, errno,
			"opening the working directory %s", directory);
	if (s->plan->inside_uid != getuid() &&
		fchown(s->workspace, s->plan->inside_uid, s->plan->inside_gid) != 0)
		return error_set(&s->error, FAILURE_INTERNAL, errno,
			"giving the working directory %s to the program's user", directory);
	return 0;
}

/* Tier subprocess: no namespaces, the host's files. */
static int set_up_process(struct setup *s)
{
	const char *directory = packed_string(s->plan, s->plan->workspace);

	if (make_workspace(s, directory) < 0 ||
		guard_split(HELPER_CONTROL, directory, &s->error) < 0)
		return -1;
	if (s->plan->inside_uid != getuid()) {
		if (privileges_become(s->plan->inside_uid, s->plan->inside_gid, &s->error) < 0)
			return -1;
		s->layers |= LAYER_OTHER_USER;
	}
	if (guard_watch(&s->error) < 0)
		return -1;
	if (s->plan->limits.flags & LIMIT_TERMINAL) {
		s->terminal = program_terminal(s->plan->rows, s->plan->columns, &s->error);
		return s->terminal < 0 ? -1 : 0;
	}
	return 0;
}

static int set_up(struct setup *s)
{
	umask(022);
	/*
	 * The caller's keys go with a process; an empty keyring of its own takes their place.
	 * Kernels without keys have none to hide.
	 */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	if ((s->plan->limits.flags & LIMIT_NAMESPACES ? set_up_namespaces(s) : set_up_process(s)) <
			0 ||
		copy_in(s) < 0)
		return -1;
	/*
	 * Opened while it can be: an undumpable process may read its own counters only through a
	 * descriptor it has.
	 */
	s->usage_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	if (privileges_drop(&s->layers, &s->error) < 0)
		return -1;
	/*
	 * Without namespaces it has to clean up when the supervisor ends; that is what its keepers
	 * are for.
	 */
	if ((s->plan->limits.flags & LIMIT_NAMESPACES) &&
		privileges_die_with(HELPER_CONTROL, &s->error) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return error_set(&s->error, FAILURE_INTERNAL, errno, "hiding the memory of PID 1");
	return 0;
}

static int send_report(const struct report *r, const int *fds, size_t count)
{
	return message_send(HELPER_CONTROL, r, sizeof *r, fds, count);
}

static int report_error(struct setup *s)
{
	struct report r;

	report_failure(&r, &s->error);
	send_report(&r, NULL, 0);
	return 1;
}

/* Tier subprocess: the workspace is a directory of the host's, made for this run. */
static void remove_workspace(struct setup *s)
{
	if (workspace_empty(s->workspace) == 0)
		rmdir(packed_string(s->plan, s->plan->workspace));
}

static int run(struct setup *s)
{
	struct program_start start = {
		.plan = s->plan, .runner_fd = -1, .terminal = s->terminal, .control = HELPER_CONTROL
	};
	int32_t runner = s->plan->runner_fd_index;
	int passed[2 + PLAN_SCRATCH_MAX] = { s->workspace, s->terminal };
	size_t count = s->terminal >= 0 ? 2 : 1;
	struct report r;
	pid_t pid;

	if (runner >= 0 && (size_t)runner < s->fd_count)
		start.runner_fd = s->fds[runner];
	report_init(&r, REPORT_READY);
	r.layers = s->layers;
	for (size_t i = 0; i < s->parts.scratch_count; i++)
		passed[count++] = s->parts.scratch[i];
	if (send_report(&r, passed, count) != 0)
		return 1; /* the supervisor is gone */
	for (size_t i = 0; i < s->parts.scratch_count; i++)
		close(s->parts.scratch[i]);
	pid = program_start(&start);
	if (pid < 0 && start.exec_errno == 0) {
		s->error = start.error;
		return report_error(s);
	}
	report_init(&r, pid < 0 ? REPORT_NOT_STARTED : REPORT_STARTED);
	r.error = start.exec_errno;
	r.layers = s->layers | start.layers;
	send_report(&r, NULL, 0);
	if (pid < 0)
		return 1;
	for (size_t i = 0; i < s->fd_count; i++)
		close(s->fds[i]);
	for (int standard = 0; standard <= 2; standard++)
		close(standard); /* so that the streams end with the program */
	if (s->terminal >= 0)
		close(s->terminal);
	reap_until_end(pid, HELPER_CONTROL, s->usage_fd, &s->plan->limits, &r);
	r.layers = s->layers | start.layers;
	if (send_report(&r, NULL, 0) != 0 && !(s->plan->limits.flags & LIMIT_NAMESPACES))
		remove_workspace(s); /* the supervisor, which does it otherwise, is gone */
	return 0;
}

enum { JANITOR_GRACE = 200 /* looks at the cgroup, 10 ms apart */ };

/*
 * The other role: descriptor 0 is a pipe whose end is the end of a supervisor, descriptor 1 the
 * directory of its cgroup. Kills what is left in the cgroup and removes it.
 *
 * In the tier subprocess the keepers are in the cgroup, too. They end the program at once, but have
 * its working directory to remove after that, so they get two seconds before anything is killed.
 */
static int be_janitor(const char *name)
{
	char byte;
	int directory, kill_file;

	while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR)
		errno = 0;
	directory = openat(STDOUT_FILENO, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return 0; /* the supervisor has removed it */
	kill_file = openat(directory, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	for (int attempt = 0; attempt < JANITOR_GRACE + 200; attempt++) {
		if (attempt >= JANITOR_GRACE && kill_file >= 0 && write(kill_file, "1", 1) != 1)
			break;
		if (unlinkat(STDOUT_FILENO, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return 0;
		poll(NULL, 0, 10);
	}
	return 1;
}

/*
 * A third role: descriptor 0 is a pipe from a supervisor, descriptor 1 the terminal that it
 * changes. The pipe brings the settings from before; if it then ends without another byte, the
 * supervisor was killed, and the terminal gets them back. Signals are blocked, SIGTTOU among them,
 * so this may be done from the background.
 */
static int keep_terminal(void)
{
	struct termios before;
	ssize_t got;
	char byte;

	if (read(STDIN_FILENO, &before, sizeof before) != sizeof before)
		return 1;
	do
		got = read(STDIN_FILENO, &byte, 1);
	while (got < 0 && errno == EINTR);
	return got == 0 && tcsetattr(STDOUT_FILENO, TCSADRAIN, &before) != 0;
}

int main(int argc, char **argv)
{
	static struct setup s = {
		.workspace = -1, .terminal = -1, .usage_fd = -1, .error = ERROR_INIT
	};
	int arrived;

	reap_block_signals();
	if (argc == 2)
		return strcmp(argv[1], "terminal") == 0 ? keep_terminal() : be_janitor(argv[1]);
	if (fcntl(HELPER_CONTROL, F_SETFD, FD_CLOEXEC) != 0) {
		fprintf(stderr,
			"cordon-init: this program is started by cordon and has no other use\n");
		return 64;
	}
	trace_adopt(HELPER_TRACE, "init");
	arrived = receive_plan(&s);
	trace("init", "the plan has come, %zu descriptors", s.fd_count);
	if (arrived == 0)
		return 0;
	if (arrived < 0 || set_up(&s) < 0)
		return report_error(&s);
	return run(&s);
}
