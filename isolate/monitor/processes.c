/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of a sandbox. See processes.h.
 *
 * A known process is held by a pidfd, which shows its end and keeps its number from being taken for
 * another's. PID 1's own children are not: PID 1 collects them and reports how they ended.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"
#include "isolate/base/clock.h"

#define AT_ONCE 64
#define NAME_MOST 16 /* of a process, its NUL included: proc_pid_comm(5) */
#define WINDOW_US INT64_C(1000000)
#define EXECUTED_MOST 16 /* execve(2) calls of a process with an event each, in a window */

/* pidfd_info of linux/pidfd.h, in its first form, which older headers lack. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t numbers[11];
	int32_t exit_code;
};
#define EXIT_INFO (1u << 3)
#define GET_INFO _IOWR(0xff, 11, struct exit_info)

/* A process by its number on the host: what its status file says. */
struct identity {
	pid_t outside, inside, process, made_by; /* process: that the thread is of */
	unsigned levels;
	bool is_of_init; /* PID 1 has made it, and reports how it ends */
	pid_t parent;    /* inside */
	char name[NAME_MOST];
};

static long number_after(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtol(line + strlen(key), NULL, 10) : 0;
}

static bool read_status(pid_t pid, char *text, size_t size)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	return proc_file_read(path, text, size) > 0;
}

static bool identify(pid_t thread, struct identity *who)
{
	char status[4096];

	if (!read_status(thread, status, sizeof status))
		return false;
	*who = (struct identity){ .outside = thread };
	sscanf(status, "Name:\t%15[^\n]", who->name);
	who->process = (pid_t)number_after(status, "\nTgid:");
	who->made_by = (pid_t)number_after(status, "\nPPid:");
	who->inside = proc_status_innermost(status, &who->levels);
	return who->inside > 0;
}

static void add_parent(const struct processes *p, struct identity *who)
{
	char status[4096];

	if (read_status(who->made_by, status, sizeof status))
		who->parent = proc_status_innermost(status, NULL);
	who->is_of_init = p->levels == 0 || who->made_by == p->reaper || who->parent == 1;
}

/* Whether a process has its number still: it lives, or its parent has not collected it. */
static bool is_held(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

/*
 * How a process ended, before its parent has asked for it. The number is this process's for as long
 * as that can be sent a signal. The kernel shows 0 without the right to trace the process, as where
 * it made itself undumpable; its namespaces' names cannot be read then either.
 */
static bool read_zombie(pid_t outside, int pidfd, int *status)
{
	char path[40], text[1024], *state;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)outside);
	if (proc_file_read(path, text, sizeof text) <= 0 || !(state = strrchr(text, ')')) ||
		strncmp(state, ") Z", 3) != 0)
		return false;
	*status = (int)proc_stat_field(text, PROC_STAT_EXIT_CODE);
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)outside);
	return (*status != 0 || readlink(path, text, sizeof text) > 0) && is_held(pidfd);
}

/* And after that, where the kernel can say so. */
static bool read_collected(int pidfd, int *status)
{
	struct exit_info info = { .mask = EXIT_INFO };

	if (ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & EXIT_INFO))
		return false;
	*status = info.exit_code;
	return true;
}

static struct process *find(const struct processes *p, pid_t inside)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].inside == inside)
			return &p->live[i];
	return NULL;
}

static struct process *find_outside(const struct processes *p, pid_t outside)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].outside == outside)
			return &p->live[i];
	return NULL;
}

/* A report of a live process may come after its process.exited. */
static bool is_late(const struct processes *p, pid_t inside, pid_t outside)
{
	for (unsigned i = 0; i < PROCESSES_GONE; i++)
		if (p->gone[i].inside == inside && (outside <= 0 || p->gone[i].outside == outside))
			return true;
	return false;
}

static unsigned most_held(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < PROCESSES_HELD)
		return (unsigned)(limit.rlim_cur / 2);
	return PROCESSES_HELD;
}

/* Takes over a pidfd. Returns it, or -1 where no more can be held. */
static int hold(struct processes *p, int pidfd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = pidfd };

	if (pidfd < 0)
		return -1;
	if (p->most_held == 0)
		p->most_held = most_held();
	if (p->held >= p->most_held || epoll_ctl(p->epoll, EPOLL_CTL_ADD, pidfd, &event) != 0) {
		close(pidfd);
		return -1;
	}
	p->held++;
	return pidfd;
}

static void let_go(struct processes *p, int pidfd)
{
	if (pidfd < 0)
		return;
	close(pidfd);
	p->held--;
}

static bool make_room(struct processes *p)
{
	unsigned room = p->room ? 2 * p->room : 16;
	struct process *more;

	if (p->count < p->room)
		return true;
	more = realloc(p->live, room * sizeof *more);
	if (!more)
		return false;
	p->live = more;
	p->room = room;
	return true;
}

/*
 * Takes over the pidfd. Without memory to keep it in, a process has no events: its end could have
 * none, either. The program's own process began before it could be seen.
 */
static void begin(struct processes *p, struct event_log *log, struct process_seen *seen, int pidfd)
{
	char *command = strdup(seen->command);

	pidfd = hold(p, pidfd);
	if (!command || !make_room(p)) {
		free(command);
		let_go(p, pidfd);
		return;
	}
	if (p->began_ns > 0)
		seen->time_ns = p->began_ns;
	p->began_ns = 0;
	p->live[p->count++] = (struct process){
		.inside = seen->inside,
		.outside = seen->outside,
		.pidfd = pidfd,
		.command = command,
		.time_ns = seen->time_ns,
	};
	event_log_process(log, seen);
}

static void emit_program(struct process *known, struct event_log *log, uint64_t count)
{
	struct process_seen seen = {
		.time_ns = known->time_ns,
		.outside = known->outside,
		.inside = known->inside,
		.command = known->command,
	};

	event_log_became(log, &seen, count);
}

static void release(struct process *known, struct event_log *log)
{
	if (known->held > 0)
		emit_program(known, log, known->held);
	known->held = 0;
}

/*
 * A known process has another command line than before: it is another program now, or says so,
 * since the line is its own to write. After some in a second the others are counted, and the last
 * is one event with their number.
 */
static void notice_program(
	struct process *known, struct event_log *log, const char *command, int64_t time_ns)
{
	int64_t now_us = clock_now_us();
	char *copy;

	if (time_ns < known->time_ns || strcmp(command, known->command) == 0)
		return;
	copy = strdup(command);
	if (!copy)
		return;
	if (now_us - known->since_us >= WINDOW_US) {
		release(known, log);
		known->since_us = now_us;
		known->emitted = 0;
	}
	free(known->command);
	known->command = copy;
	known->time_ns = time_ns;
	if (known->emitted++ < EXECUTED_MOST)
		emit_program(known, log, 1);
	else
		known->held++;
}

void processes_flush(struct processes *p, struct event_log *log, int64_t now_us)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].held > 0 && now_us - p->live[i].since_us >= WINDOW_US)
			release(&p->live[i], log);
}

/*
 * Takes up a process. Where its command line was not read it gets its parent's, whose
 * program a new process runs, or with the kernel's name of it.
 */
static void learn(struct processes *p, struct event_log *log, const struct identity *who,
	const char *command, int64_t time_ns)
{
	const struct process *maker = find_outside(p, who->made_by);
	struct process_seen seen = {
		.time_ns = time_ns,
		.outside = who->outside,
		.inside = who->inside,
		.parent = who->parent,
		.command = command ? command
			: maker    ? maker->command
				   : who->name,
	};
	struct process *known = find(p, who->inside);
	int pidfd = -1;

	if (known && known->outside == 0)
		known->outside = who->outside; /* PID 1 could not send a pidfd */
	if (who->inside == 1 || known || is_late(p, who->inside, who->outside))
		return;
	if (!who->is_of_init) {
		pidfd = (int)syscall(SYS_pidfd_open, who->outside, 0);
		/* What was read is of this process if it still holds the number. */
		if (pidfd < 0 ? errno != EMFILE && errno != ENFILE : !is_held(pidfd)) {
			if (pidfd >= 0)
				close(pidfd);
			return;
		}
	}
	if (p->levels == 0) {
		p->levels = who->levels;
		p->reaper = who->made_by;
	}
	begin(p, log, &seen, pidfd);
}

pid_t processes_notice(struct processes *p, struct event_log *log, pid_t thread,
	const char *command, int64_t time_ns)
{
	struct process *known = find_outside(p, thread);
	struct identity who;

	if (known && command)
		notice_program(known, log, command, time_ns);
	if (known || !identify(thread, &who))
		return thread;
	if (who.process != thread) {
		pid_t process = who.process;

		command = NULL;
		if (find_outside(p, process) || !identify(process, &who))
			return process;
	}
	add_parent(p, &who);
	learn(p, log, &who, command, time_ns);
	return who.outside;
}

/*
 * An event of the view may be read when its process is gone and another one of the host has the
 * number: what is taken up is a child of a known one, or of PID 1 as deep as the first.
 */
void processes_asked(struct processes *p, struct event_log *log, pid_t process, int64_t time_ns)
{
	struct identity who;

	if (p->count == 0 || find_outside(p, process) || !identify(process, &who) ||
		who.levels != p->levels)
		return;
	add_parent(p, &who);
	if (who.is_of_init || find_outside(p, who.made_by))
		learn(p, log, &who, NULL, time_ns);
}

/* The number on the host of a process that PID 1 holds, or 0: pidfd_open(2) on fdinfo. */
static pid_t outside_of(int pidfd, unsigned *levels)
{
	char path[40], text[1024];
	long number;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	if (pidfd < 0 || proc_file_read(path, text, sizeof text) <= 0)
		return 0;
	number = number_after(text, "\nPid:");
	proc_status_innermost(text, levels);
	return number > 0 ? (pid_t)number : 0;
}

void processes_reported(
	struct processes *p, struct event_log *log, const struct report *r, int pidfd)
{
	unsigned levels = 0;
	struct process *known = find(p, (pid_t)r->pid);
	struct process_seen seen = {
		.time_ns = r->time_ns,
		.outside = outside_of(pidfd, &levels),
		.inside = (pid_t)r->pid,
		.parent = (pid_t)r->parent,
		.command = r->context,
	};
	bool has_start = known || is_late(p, seen.inside, seen.outside);

	if (known && r->context[0])
		notice_program(known, log, r->context, r->time_ns);
	if (pidfd >= 0 && (has_start || r->count == 1)) {
		close(pidfd);
		pidfd = -1;
	}
	if (has_start)
		return;
	if (p->levels == 0) {
		p->levels = levels;
		p->reaper = seen.parent; /* the same number where there is no namespace */
	}
	begin(p, log, &seen, pidfd);
}

/* Time 0 is now. */
static void end(struct processes *p, struct event_log *log, struct process *gone, bool is_known,
	int status, int64_t time_ns)
{
	const struct process_seen seen = { time_ns, gone->outside, gone->inside, 0, NULL };

	release(gone, log);
	if (p->before_end)
		p->before_end(p->context, gone->outside);
	event_log_gone(log, &seen, is_known, status);
	let_go(p, gone->pidfd);
	free(gone->command);
	p->gone[p->next_gone].inside = gone->inside;
	p->gone[p->next_gone].outside = gone->outside;
	p->next_gone = (p->next_gone + 1) % PROCESSES_GONE;
	*gone = p->live[--p->count];
}

void processes_report_gone(struct processes *p, struct event_log *log, const struct report *r)
{
	struct process *known = find(p, (pid_t)r->pid);

	if (known && (r->count == 1 || known->pidfd < 0))
		end(p, log, known, r->count == 1, r->status, r->time_ns);
}

/*
 * A process has ended, and was collected or not. One that does not say how is waited for until it
 * is collected: the pidfd hangs up then (6.9), and says it then from Linux 6.15 on.
 */
static void on_end(
	struct processes *p, struct event_log *log, struct process *gone, bool is_collected)
{
	struct epoll_event event = { .events = 0, .data.fd = gone->pidfd };
	int status = 0;
	bool says_how = read_zombie(gone->outside, gone->pidfd, &status) ||
		read_collected(gone->pidfd, &status);

	if (says_how || is_collected || !is_held(gone->pidfd) ||
		epoll_ctl(p->epoll, EPOLL_CTL_MOD, gone->pidfd, &event) != 0)
		end(p, log, gone, says_how, status, 0);
}

void processes_ended(struct processes *p, struct event_log *log)
{
	struct epoll_event events[AT_ONCE];
	int count = p->held > 0 ? epoll_wait(p->epoll, events, AT_ONCE, 0) : 0;

	for (int i = 0; i < count; i++)
		for (unsigned at = 0; at < p->count; at++)
			if (p->live[at].pidfd == events[i].data.fd) {
				on_end(p, log, &p->live[at], events[i].events & EPOLLHUP);
				break;
			}
}

void processes_close(struct processes *p, struct event_log *log)
{
	unsigned before;

	do {
		before = p->count;
		processes_ended(p, log);
	} while (p->count < before);
	while (p->count > 0)
		end(p, log, &p->live[0], false, 0, 0);
	if (p->epoll >= 0)
		close(p->epoll);
	p->epoll = -1;
	free(p->live);
	p->live = NULL;
	p->room = 0;
}
