/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 tells of processes when whoever listens is slow: in the last look nothing is lost, and
 * otherwise it is told the next time.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"
#include "isolate/wire/init_report.h"
#include "isolate/init/proc_reporter.h"
#include "tests/unit/tap.h"

#define CHILDREN 60

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* How many reports of a kind wait in a socket, until it is empty or, with wait, closed. */
static int count_reports(int socket, bool wait, enum report_kind kind)
{
	char bytes[sizeof(struct report) + 1];
	struct report r;
	ssize_t got;
	int count = 0;

	while ((got = recv(socket, bytes, sizeof bytes, wait ? 0 : MSG_DONTWAIT)) > 0)
		count += report_parse(bytes, (size_t)got, &r) && r.kind == kind;
	return count;
}

static bool is_asleep(pid_t pid)
{
	char path[40], stat[1024], *end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return proc_file_read(path, stat, sizeof stat) > 0 && (end = strrchr(stat, ')')) &&
		end[1] == ' ' && end[2] == 'S';
}

/*
 * A process that reads only when there is no more room and its parent waits, be it for that. Its
 * status is what was told.
 */
static pid_t listen_late(const int pair[2])
{
	struct pollfd room = { pair[1], POLLOUT, 0 };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	while (poll(&room, 1, 0) == 1 || !is_asleep(getppid()))
		sched_yield();
	close(pair[1]);
	_exit(count_reports(pair[0], true, REPORT_PROCESS));
}

static void open_narrow(int pair[2])
{
	const int least = 1; /* the kernel has room for a few reports then */

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 ||
		setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least) != 0)
		exit(2);
}

static void test_last_look(void)
{
	static struct proc_reporter reporter;
	int pair[2], status = 0;
	pid_t listener;

	open_narrow(pair);
	listener = listen_late(pair);
	reporter = (struct proc_reporter){ .socket = pair[1] };
	proc_reporter_look_last(&reporter);
	close(pair[1]);
	waitpid(listener, &status, 0);
	is_int(WEXITSTATUS(status), CHILDREN + 1, "all that there are, the listener among them");
	close(pair[0]);
}

static void test_other_looks(void)
{
	static struct proc_reporter reporter;
	int pair[2], told, sum = 0;

	open_narrow(pair);
	reporter = (struct proc_reporter){ .socket = pair[1] };
	do {
		proc_reporter_look(&reporter, false);
		told = count_reports(pair[0], false, REPORT_PROCESS);
		ok(told < CHILDREN, "a look does not wait for room");
		sum += told;
	} while (told > 0);
	is_int(sum, CHILDREN, "what found no room is told the next time");
	close(pair[0]);
	close(pair[1]);
}

/* The child is collected, and no room is left for that. */
static void test_end_without_room(pid_t child)
{
	static struct proc_reporter reporter;
	int pair[2], status = 0;

	open_narrow(pair);
	reporter = (struct proc_reporter){ .socket = pair[1] };
	do
		proc_reporter_look(&reporter, false);
	while (count_reports(pair[0], false, REPORT_PROCESS) > 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	while (send(pair[1], "x", 1, MSG_DONTWAIT) == 1)
		continue;
	proc_reporter_reaped(&reporter, child, status);
	is_int(count_reports(pair[0], false, REPORT_GONE), 0, "an end that finds no room waits");
	proc_reporter_look(&reporter, false);
	is_int(count_reports(pair[0], false, REPORT_GONE), 1, "but the next time");
	proc_reporter_look(&reporter, false);
	is_int(count_reports(pair[0], false, REPORT_GONE), 0, "and once");
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	pid_t children[CHILDREN];

	plan(0);
	for (int i = 0; i < CHILDREN; i++)
		children[i] = start();
	test_last_look();
	test_other_looks();
	test_end_without_room(children[0]);
	for (int i = 1; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	return done();
}
