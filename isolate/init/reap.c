/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of PID 1. See reap.h. It allocates nothing and opens three descriptors. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/reap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/init/guard.h"
#include "isolate/init/proc_reporter.h"
#include "isolate/init/usage.h"

static const int FORWARDED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT,
	SIGWINCH, SIGTSTP };

struct loop {
	pid_t main;
	bool main_ended, ending, paused;
	struct proc_reporter *reporter; /* NULL: no events are wanted */
	const struct confine_limits *limits;
	struct report *ended;
};

void reap_block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int number = 1; number < NSIG; number++)
		/* fails for KILL, STOP and libc's own, which need it not */
		signal(number, SIG_DFL);
}

void reap_unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool whole_namespace(const struct loop *l)
{
	return l->limits->flags & LIMIT_NAMESPACES;
}

static void end_all(struct loop *l)
{
	l->ending = true;
	usage_kill_all(whole_namespace(l));
}

static bool look(struct loop *l, uint32_t just_ended, struct usage_totals *now);

/* Reaps the children that have ended. Returns false when no child is left. */
static bool reap(struct loop *l)
{
	struct usage_totals now;

	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == 0)
			return true;
		if (pid < 0 && errno == EINTR)
			continue;
		/*
		 * A child that asked its parent to trace it (PTRACE_TRACEME) has stopped; PID 1
		 * traces nothing.
		 */
		if (pid > 0 && WIFSTOPPED(status)) {
			ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)WSTOPSIG(status));
			continue;
		}
		if (pid < 0)
			return false;
		/*
		 * A process that was made last may not have begun, and is ended with the program.
		 */
		if (l->reporter && pid == l->main && !(l->limits->flags & LIMIT_WAIT_ALL))
			proc_reporter_look_last(l->reporter);
		if (l->reporter)
			proc_reporter_reaped(l->reporter, pid, status);
		if (pid == l->main) {
			l->main_ended = true;
			l->ended->status = status & 0xffff;
			report_stamp(l->ended);
			/* a program that reached a limit and ended was not seen while it lived */
			look(l, 1, &now);
			if (!(l->limits->flags & LIMIT_WAIT_ALL))
				end_all(l);
		} else if (l->ending && !whole_namespace(l)) {
			usage_kill_all(false); /* its orphans have become children of ours */
		}
	}
}

static void forward(struct loop *l, int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == GUARD_SIGNAL)
			end_all(l); /* the guardian is gone, and with it what cleans up behind us */
		for (size_t i = 0; i < sizeof FORWARDED / sizeof *FORWARDED; i++)
			if ((int)info.ssi_signo == FORWARDED[i] && !l->main_ended)
				kill(l->main, FORWARDED[i]);
	}
}

/* What the supervisor has to say, if anything. Returns false when it is gone. */
static bool listen_to(struct loop *l, int lifeline)
{
	char byte;
	ssize_t got = recv(lifeline, &byte, 1, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got <= 0)
		return false;
	if (byte != REAP_PAUSE && byte != REAP_RESUME)
		return true;
	l->paused = byte == REAP_PAUSE;
	usage_signal_all(whole_namespace(l), l->paused ? SIGSTOP : SIGCONT);
	proc_reporter_say_paused(lifeline, l->paused);
	return true;
}

static bool is_full(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 &&
		((fs.f_blocks > 0 && fs.f_bfree == 0) || (fs.f_files > 0 && fs.f_ffree == 0));
}

/*
 * What is used now, and which limits are reached by it. So many processes lived beside those that
 * are seen until just now. Returns false where that cannot be seen.
 */
static bool look(struct loop *l, uint32_t just_ended, struct usage_totals *now)
{
	struct report_usage *usage = &l->ended->usage;

	/*
	 * Most programs leave no process behind, and kill(2) shows that for less than reading /proc
	 * costs.
	 */
	if (whole_namespace(l) && kill(-1, 0) != 0 && errno == ESRCH)
		*now = (struct usage_totals){ 0 };
	else if (usage_read(whole_namespace(l), now) != 0)
		return false;
	usage->watch_samples++;
	now->processes += just_ended;
	/*
	 * A sum that counts shared pages once for each process says only that a closer look is
	 * worth its price.
	 */
	if (l->limits->memory_bytes > 0 && now->bytes > l->limits->memory_bytes)
		now->bytes = usage_exact_memory(whole_namespace(l), now->processes);
	if (now->bytes > usage->peak_memory_bytes && now->bytes != UINT64_MAX)
		usage->peak_memory_bytes = now->bytes;
	if (now->processes > usage->peak_processes)
		usage->peak_processes = now->processes;
	if (now->processes >= l->limits->processes)
		l->ended->limits |= REPORT_LIMIT_PROCESSES;
	if (whole_namespace(l) && l->limits->workspace_bytes > 0 && is_full("/workspace"))
		l->ended->limits |= REPORT_LIMIT_WORKSPACE;
	return true;
}

static void watch(struct loop *l)
{
	uint64_t most = l->limits->memory_bytes;
	struct usage_totals now;

	if (l->paused && !l->ending)
		/* a child whose fork(2) ran while the others were stopped */
		usage_signal_all(whole_namespace(l), SIGSTOP);
	if (l->reporter)
		proc_reporter_look(l->reporter, false);
	/* A watch that cannot see is none, and what it was to hold must not go on without it. */
	if (!look(l, 0, &now)) {
		end_all(l);
		return;
	}
	if (most > 0 && now.bytes > most && !l->ending) {
		l->ended->limits |= REPORT_LIMIT_MEMORY;
		end_all(l);
	}
	if (!(l->limits->flags & LIMIT_PROCESSES) && now.processes > l->limits->processes)
		end_all(l);
}

/* Bytes passed to write(2) by the caller and by everything it has reaped: proc_pid_io(5). */
static uint64_t written(int usage_fd)
{
	char text[512], *line;
	ssize_t length = usage_fd >= 0 ? pread(usage_fd, text, sizeof text - 1, 0) : -1;

	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "wchar:");
	return line ? strtoull(line + 6, NULL, 10) : 0;
}

/* The sums that the kernel kept: everything that was reaped counts. */
static void account(struct report_usage *usage, int usage_fd, uint64_t written_before)
{
	struct rusage children;

	if (getrusage(RUSAGE_CHILDREN, &children) == 0) {
		usage->user_us = (uint64_t)children.ru_utime.tv_sec * 1000000 +
			(uint64_t)children.ru_utime.tv_usec;
		usage->system_us = (uint64_t)children.ru_stime.tv_sec * 1000000 +
			(uint64_t)children.ru_stime.tv_usec;
		if ((uint64_t)children.ru_maxrss * 1024 > usage->peak_memory_bytes)
			usage->peak_memory_bytes = (uint64_t)children.ru_maxrss * 1024;
	}
	if (usage->peak_processes == 0)
		usage->peak_processes = 1;
	usage->written_bytes = written(usage_fd) - written_before;
}

static int open_signals(bool guarded)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof FORWARDED / sizeof *FORWARDED; i++)
		sigaddset(&set, FORWARDED[i]);
	if (guarded)
		sigaddset(&set, GUARD_SIGNAL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_timer(void)
{
	const struct itimerspec interval = { { 0, USAGE_INTERVAL_NS }, { 0, USAGE_INTERVAL_NS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &interval, NULL) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int reap_until_end(pid_t main, int lifeline, int usage_fd, const struct confine_limits *limits,
	struct report *ended)
{
	static struct proc_reporter reporter;
	struct loop l = { .main = main,
		.limits = limits,
		.ended = ended,
		.reporter = limits->flags & LIMIT_EVENTS ? &reporter : NULL };
	struct pollfd polled[3] = { { open_signals(!(limits->flags & LIMIT_NAMESPACES)), POLLIN,
					    0 },
		{ lifeline, POLLIN, 0 }, { open_timer(), POLLIN, 0 } };
	uint64_t written_before = written(usage_fd);
	int status = polled[0].fd < 0 || polled[2].fd < 0 ? -1 : 0;

	report_init(ended, REPORT_ENDED);
	ended->status = SIGKILL;
	if (status < 0)
		end_all(&l);
	if (l.reporter)
		proc_reporter_begin(
			&reporter, lifeline, main, whole_namespace(&l), limits_own_network(limits));
	while (reap(&l)) {
		uint64_t ticks;

		if (poll(polled, 3, status < 0 ? 10 : -1) < 0 && errno != EINTR)
			end_all(&l);
		forward(&l, polled[0].fd);
		/* The end of the stream is the end of the supervisor. */
		if (!l.ending && (polled[1].revents & (POLLIN | POLLHUP | POLLERR)) &&
			!listen_to(&l, lifeline))
			end_all(&l);
		if (l.ending)
			polled[1].fd = -1;
		if ((polled[2].revents & POLLIN) &&
			read(polled[2].fd, &ticks, sizeof ticks) == sizeof ticks) {
			watch(&l);
			if (l.ending)
				/* a child whose fork(2) ran while the others were killed */
				usage_kill_all(whole_namespace(&l));
		}
	}
	if (l.reporter)
		proc_reporter_look(&reporter, true);
	account(&ended->usage, usage_fd, written_before);
	for (int i = 0; i < 3; i += 2)
		if (polled[i].fd >= 0)
			close(polled[i].fd);
	return status;
}
