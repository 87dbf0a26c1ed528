/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who lives in a sandbox. See processes.h.
 *
 * Each known process is held by a pidfd, so its end is heard of at once and its number cannot be mistaken for another's.
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"
#include "isolate/base/clock.h"
#include "isolate/monitor/process_end.h"

#define WINDOW_US INT64_C(1000000)
#define EXECUTED_MOST 16 /* programs that a process becomes, told one by one, in a window */
#define NUMBERS_MOST 512 /* that are looked at in one go */
#define LOOK_US 200000   /* for which they are; the rest the next time, since somebody must hold to the limits */
#define AWAITED_US INT64_C(20000) /* after which a number that was given belongs to nobody any more */

static long number_after(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtol(line + strlen(key), NULL, 10) : 0;
}

static ssize_t read_status(pid_t pid, char *text, size_t size)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	return proc_file_read(path, text, size);
}

static struct process *find(struct processes *p, pid_t inside)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].inside == inside)
			return &p->live[i];
	return NULL;
}

bool processes_know(struct processes *p, pid_t inside)
{
	return find(p, inside) != NULL;
}

static unsigned most_held(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < PROCESSES_HELD ? (unsigned)(limit.rlim_cur / 2) : PROCESSES_HELD;
}

/* Returns -1 with errno: EINVAL, ENOENT or ESRCH where the number is a thread's, or nobody's. */
static int hold(struct processes *p, pid_t outside)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = (int)syscall(SYS_pidfd_open, outside, 0);

	if (fd < 0)
		return -1;
	if (p->epoll < 0) {
		p->epoll = epoll_create1(EPOLL_CLOEXEC);
		p->most_held = most_held();
	}
	event.data.fd = fd;
	if (p->held >= p->most_held || p->epoll < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	p->held++;
	return fd;
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

/* Without memory to keep it in, a process is not told of: its end could not be, either. */
static void begin(struct processes *p, struct event_log *log, const struct process_seen *seen, int pidfd, bool is_of_init)
{
	char *command = strdup(seen->command);

	if (!command || !make_room(p)) {
		free(command);
		let_go(p, pidfd);
		return;
	}
	p->live[p->count++] = (struct process){
		.inside = seen->inside, .outside = seen->outside, .pidfd = pidfd, .command = command, .is_of_init = is_of_init
	};
	event_log_process(log, seen);
}

static void tell_program(struct process *known, struct event_log *log, uint64_t count)
{
	struct process_seen seen = {
		.time_ns = known->time_ns, .outside = known->outside, .inside = known->inside,
		.command = known->command,
	};

	event_log_became(log, &seen, count);
}

static void release(struct process *known, struct event_log *log)
{
	if (known->held > 0)
		tell_program(known, log, known->held);
	known->held = 0;
}

/*
 * A known one calls again what a program begins with: it is another program now, or says so, since its command line is its own to write. After some in a second the others are counted, and the
 * last is told with their number.
 */
static void notice_program(struct processes *p, struct process *known, struct event_log *log,
			   int64_t time_ns)
{
	const int64_t now_us = clock_now_us();
	char command[WITNESS_COMMAND], *copy;

	if (!witness_command(p->witness, known->outside, command) || strcmp(command, known->command) == 0 || (known->pidfd >= 0 && !process_end_is_held(known->pidfd)))
		return;
	copy = strdup(command);
	if (!copy)
		return;
	if (now_us - known->since_us >= WINDOW_US) {
		release(known, log);
		known->since_us = now_us;
		known->told = 0;
	}
	free(known->command);
	known->command = copy;
	known->time_ns = time_ns;
	if (known->told++ < EXECUTED_MOST)
		tell_program(known, log, 1);
	else
		known->held++;
}

void processes_flush(struct processes *p, struct event_log *log, int64_t now_us)
{
	event_log_unseen(log, witness_lost(p->witness));
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].held > 0 && now_us - p->live[i].since_us >= WINDOW_US)
			release(&p->live[i], log);
}

/* Whether a process was told to be gone: PID 1 may have seen it a moment before, and it is its parent's child for as long as that has not collected it. */
static bool is_late(const struct processes *p, pid_t inside, pid_t outside)
{
	for (unsigned i = 0; i < PROCESSES_GONE; i++)
		if (p->gone[i].inside == inside && (outside == 0 || p->gone[i].outside == outside))
			return true;
	return false;
}

static struct process *find_outside(const struct processes *p, pid_t outside)
{
	for (unsigned i = 0; i < p->count; i++)
		if (p->live[i].outside == outside)
			return &p->live[i];
	return NULL;
}

static bool is_known(const struct processes *p, pid_t outside)
{
	return find_outside(p, outside) != NULL;
}

/* A process that was just made runs its maker's program still; where its memory could not be read in time that is what is told. */
static void read_command(struct processes *p, pid_t outside, pid_t made_by, char command[WITNESS_COMMAND])
{
	const struct process *maker = find_outside(p, made_by);

	if (!witness_command(p->witness, outside, command) && maker)
		snprintf(command, WITNESS_COMMAND, "%s", maker->command);
}

/* Takes up a process by its main thread, whose status was read. */
static void learn(struct processes *p, struct event_log *log, pid_t outside, const char *status,
		  int64_t time_ns)
{
	char parent[4096], command[WITNESS_COMMAND];
	struct process_seen seen = { .time_ns = time_ns, .outside = outside, .command = command };
	pid_t made_by = (pid_t)number_after(status, "\nPPid:");
	int pidfd = hold(p, outside);

	if (pidfd < 0 && errno != EMFILE && errno != ENFILE)
		return;
	seen.inside = proc_status_innermost(status, NULL);
	if (seen.inside == 1 || (strstr(status, "\nState:\tZ") && is_late(p, seen.inside, outside))) {
		let_go(p, pidfd);
		return;
	}
	if (read_status(made_by, parent, sizeof parent) > 0)
		seen.parent = proc_status_innermost(parent, NULL);
	read_command(p, outside, made_by, command);
	/* What was read is of this process if it still holds the number. */
	if (seen.inside <= 0 || find(p, seen.inside) || (pidfd >= 0 && !process_end_is_held(pidfd))) {
		let_go(p, pidfd);
		return;
	}
	begin(p, log, &seen, pidfd, seen.parent == 1 || made_by == p->first);
}

pid_t processes_notice(struct processes *p, struct event_log *log, pid_t thread, int64_t time_ns)
{
	char status[4096];
	pid_t process;

	if (is_known(p, thread))
		return thread;
	if (read_status(thread, status, sizeof status) <= 0)
		return thread;
	process = (pid_t)number_after(status, "\nTgid:");
	if (process != thread && (is_known(p, process) || read_status(process, status, sizeof status) <= 0))
		return process;
	learn(p, log, process, status, time_ns);
	return process;
}

void processes_begins(struct processes *p, struct event_log *log, pid_t thread, int64_t time_ns)
{
	struct process *known = find_outside(p, thread);

	if (known)
		notice_program(p, known, log, time_ns);
	else
		processes_notice(p, log, thread, time_ns);
}

/* proc_loadavg(5), of this process's namespace. */
pid_t processes_newest(void)
{
	char text[128];
	int running;
	pid_t newest;

	return proc_file_read("/proc/loadavg", text, sizeof text) > 0 && proc_loadavg(text, &running, &newest) ? newest : -1;
}

/* Takes up a process with this number that one of ours has made. Returns false when there is none: the kernel gives a number a moment before the process is there. */
static bool find_made(struct processes *p, struct event_log *log, pid_t number)
{
	char status[4096];
	pid_t made_by;
	int pidfd;

	if (is_known(p, number))
		return true;
	/* Threads have numbers, too, and there may be many of strangers: they cannot be held, and nothing is read of them. */
	pidfd = (int)syscall(SYS_pidfd_open, number, 0);
	if (pidfd < 0)
		return errno != ESRCH;
	close(pidfd);
	if (read_status(number, status, sizeof status) <= 0)
		return true;
	made_by = (pid_t)number_after(status, "\nPPid:");
	if (number_after(status, "\nTgid:") == number && (made_by == p->first || is_known(p, made_by)))
		learn(p, log, number, status, 0);
	return true;
}

/* Numbers that were given, and that nobody had when they were looked at. */
static void look_again(struct processes *p, struct event_log *log)
{
	int64_t now_us = p->awaited_count > 0 ? clock_now_us() : 0;
	unsigned count = 0;

	for (unsigned i = 0; i < p->awaited_count; i++)
		if (!find_made(p, log, p->awaited[i].number) && now_us < p->awaited[i].until_us)
			p->awaited[count++] = p->awaited[i];
	p->awaited_count = count;
}

/* Numbers are given one after the other, so whoever is new has one between the newest of the last time and that of now. Whom this misses, others find. */
static void look_between(struct processes *p, struct event_log *log, pid_t newest)
{
	const int64_t began_us = clock_now_us();

	while (p->newest < newest && clock_now_us() - began_us < LOOK_US) {
		pid_t number = ++p->newest;

		if (number > 0 && !find_made(p, log, number) && p->awaited_count < PROCESSES_AWAITED) {
			p->awaited[p->awaited_count].number = number;
			p->awaited[p->awaited_count++].until_us = clock_now_us() + AWAITED_US;
		}
	}
}

void processes_look_until(struct processes *p, struct event_log *log, pid_t newest)
{
	look_again(p, log);
	if (newest < 0)
		return;
	if (p->newest == 0)
		p->newest = newest; /* the first time: whoever is there was not made by one of ours */
	if (newest - p->newest > NUMBERS_MOST)
		p->newest = newest - NUMBERS_MOST; /* too many to look at */
	look_between(p, log, newest);
}

void processes_look(struct processes *p, struct event_log *log, pid_t newest)
{
	/* A little less is what a refusal was ahead of it; where it is much the numbers have begun again. */
	if (newest >= 0 && p->newest - newest > NUMBERS_MOST)
		p->newest = newest > NUMBERS_MOST ? newest - NUMBERS_MOST : 1;
	processes_look_until(p, log, newest);
}

void processes_reported(struct processes *p, struct event_log *log, const struct report *r, pid_t outside)
{
	struct process_seen seen = {
		.time_ns = r->time_ns, .outside = outside, .inside = (pid_t)r->pid,
		.parent = (pid_t)r->parent, .command = r->context,
	};

	/* Where there is no namespace of processes the numbers are the host's. */
	bool is_of_init = r->parent == 1 || (outside == (pid_t)r->pid && (pid_t)r->parent == p->first);

	if (log && !find(p, seen.inside) && !is_late(p, seen.inside, outside))
		begin(p, log, &seen, outside > 0 ? hold(p, outside) : -1, is_of_init);
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

/* PID 1 is believed where nobody else can say: a descriptor of the process says when it is gone, and may be asked how when it was collected. */
void processes_report_gone(struct processes *p, struct event_log *log, const struct report *r)
{
	struct process *known = find(p, (pid_t)r->pid);
	int status = r->status;
	bool says_how;

	if (!known)
		return;
	says_how = r->count == 1 || process_end_read(known->outside, known->pidfd, &status);
	if (known->pidfd < 0 || says_how || !process_end_is_held(known->pidfd))
		end(p, log, known, says_how, status, r->time_ns);
}

/*
 * A process has ended, and was collected or not. One that does not say how is waited for until it is collected: the
 * pidfd hangs up then (6.9). Before Linux 6.15 it is too late to ask by then, and for its own children PID 1 tells.
 */
static void on_end(struct processes *p, struct event_log *log, struct process *gone, bool is_collected)
{
	struct epoll_event event = { .events = 0, .data.fd = gone->pidfd };
	int status = 0;
	bool says_how = process_end_read(gone->outside, gone->pidfd, &status);
	bool is_over = says_how || is_collected || !process_end_is_held(gone->pidfd);

	if (is_over && !says_how && gone->is_of_init) {
		let_go(p, gone->pidfd);
		gone->pidfd = -1;
		return;
	}
	if (is_over || epoll_ctl(p->epoll, EPOLL_CTL_MOD, gone->pidfd, &event) != 0)
		end(p, log, gone, says_how, status, 0);
}

unsigned processes_collect(struct processes *p)
{
	struct epoll_event events[PROCESSES_AT_ONCE];
	int count = p->held > 0 ? epoll_wait(p->epoll, events, PROCESSES_AT_ONCE, 0) : 0;

	p->ended_count = 0;
	for (int i = 0; i < count; i++) {
		p->ended[p->ended_count].pidfd = events[i].data.fd;
		p->ended[p->ended_count++].is_collected = events[i].events & EPOLLHUP;
	}
	return p->ended_count;
}

void processes_tell_ended(struct processes *p, struct event_log *log)
{
	for (unsigned i = 0; i < p->ended_count; i++)
		for (unsigned at = 0; at < p->count; at++)
			if (p->live[at].pidfd == p->ended[i].pidfd) {
				on_end(p, log, &p->live[at], p->ended[i].is_collected);
				break;
			}
	p->ended_count = 0;
}

void processes_close(struct processes *p, struct event_log *log)
{
	unsigned before;

	do {
		before = p->count;
		processes_collect(p);
		processes_tell_ended(p, log);
	} while (p->count < before);
	while (p->count > 0)
		end(p, log, &p->live[0], false, 0, 0);
	if (p->epoll >= 0)
		close(p->epoll);
	p->epoll = -1;
	free(p->live);
	p->live = NULL;
	p->room = 0;
	event_log_unseen(log, witness_lost(p->witness));
	witness_free(p->witness);
	p->witness = NULL;
}
