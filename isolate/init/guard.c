/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guardian and reaper. See guard.h.
 *
 * Both are subreapers, so what a program forks and orphans is reparented to one of them. If the
 * reaper is killed, its children go to the guardian, which kills them; if the guardian is killed,
 * the parent-death signal reaches the reaper, which ends everything. Both have one thread, so the
 * parent-death signal means the process and not a thread of it. Only a SIGKILL of both at once from
 * outside would leave processes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/export/workspace.h"
#include "isolate/init/usage.h"

static pid_t guardian; /* as the child knows it */

/*
 * Reaps until the reaper is gone; passes every signal on meanwhile. Signals are blocked, so none is
 * lost between two waits.
 */
static void stand_by(pid_t reaper)
{
	sigset_t all;

	sigfillset(&all);
	for (;;) {
		siginfo_t info;
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			if (pid == reaper)
				return;
		if (pid < 0 && errno == ECHILD)
			return;
		if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD)
			kill(reaper, info.si_signo);
	}
}

/*
 * Everything that the reaper left has become our child, or is below one: kill, reap, and look
 * again, until there is none.
 */
static void finish_off(void)
{
	const struct timespec moment = { 0, 5000000 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		pid_t pid;

		usage_kill_all(false);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		sigtimedwait(&child, NULL, &moment);
	}
}

static void guard(pid_t reaper, int control, const char *directory)
{
	struct pollfd supervisor = { control, 0, 0 };

	for (int standard = 0; standard <= 2; standard++)
		close(standard); /* so that the streams end with the program */
	stand_by(reaper);
	finish_off();
	if (poll(&supervisor, 1, 0) > 0 && (supervisor.revents & POLLHUP))
		workspace_remove(directory);
	_exit(0);
}

int guard_split(int control, const char *directory, struct error *err)
{
	pid_t pid;

	guardian = getpid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return error_set(err, FAILURE_INTERNAL, errno,
			"becoming the reaper of the program's processes");
	pid = fork();
	if (pid < 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"starting the guardian of the program's processes");
	if (pid > 0)
		guard(pid, control, directory);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		return error_set(err, FAILURE_INTERNAL, errno,
			"becoming the reaper of the program's processes");
	return 0;
}

int guard_watch(struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, GUARD_SIGNAL, 0, 0, 0) != 0 || getppid() != guardian)
		return error_set(err, FAILURE_INTERNAL, errno,
			"watching the guardian of the program's processes");
	return 0;
}
