/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over a sandbox's processes. See usage.h.
 *
 * Everything is read into small fixed buffers with plain system calls: this runs in PID 1, also in
 * one that was forked from a Python interpreter, where no allocation is wanted. A process that
 * vanishes between two reads counts as nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"

#define MOST_DESCENDANTS 4096

struct visit {
	void (*act)(struct visit *, pid_t);
	uint64_t bytes, shared;
	uint32_t count;
	int number; /* the signal to send */
	void (*callback)(void *context, pid_t pid);
	void *context;
};

static int visit_namespace(struct visit *v)
{
	struct proc_entries entries;
	pid_t pid;

	if (!proc_entries_open(&entries, "/proc"))
		return -1;
	while ((pid = proc_entries_next(&entries)) > 0)
		if (pid > 1)
			v->act(v, pid);
	proc_entries_close(&entries);
	return pid;
}

/*
 * The children of one process, whichever of its threads forked them. Appended to list from *count
 * on.
 */
static void add_children(pid_t pid, pid_t *list, unsigned *count)
{
	struct proc_entries entries;
	char path[64];
	pid_t thread;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (!proc_entries_open(&entries, path))
		return;
	while ((thread = proc_entries_next(&entries)) > 0) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
		proc_file_children(path, list, count, MOST_DESCENDANTS);
	}
	proc_entries_close(&entries);
}

static int visit_descendants(struct visit *v)
{
	static pid_t list[MOST_DESCENDANTS];
	unsigned count = 0;

	add_children(getpid(), list, &count);
	for (unsigned i = 0; i < count; i++)
		add_children(list[i], list, &count);
	for (unsigned i = 0; i < count; i++)
		v->act(v, list[i]);
	return 0;
}

static int visit_all(bool whole_namespace, struct visit *v)
{
	return whole_namespace ? visit_namespace(v) : visit_descendants(v);
}

static void add_bytes(struct visit *v, uint64_t bytes)
{
	v->bytes = bytes > UINT64_MAX - v->bytes ? UINT64_MAX : v->bytes + bytes;
}

/* Threads count as processes: so does the limit, RLIMIT_NPROC. */
static void add_memory(struct visit *v, pid_t pid)
{
	struct process_memory memory;

	process_memory_read(pid, &memory);
	add_bytes(v, memory.bytes);
	v->count += memory.threads;
}

static void add_share(struct visit *v, pid_t pid)
{
	add_bytes(v, process_memory_share(pid, &v->shared));
}

static void kill_one(struct visit *v, pid_t pid)
{
	if (kill(pid, SIGKILL) == 0)
		v->count++;
}

static void signal_one(struct visit *v, pid_t pid)
{
	kill(pid, v->number);
}

static void call_back(struct visit *v, pid_t pid)
{
	v->callback(v->context, pid);
}

int usage_each_process(bool whole_namespace, void (*act)(void *context, pid_t pid), void *context)
{
	struct visit v = { .act = call_back, .callback = act, .context = context };

	return visit_all(whole_namespace, &v);
}

void usage_signal_all(bool whole_namespace, int number)
{
	struct visit v = { .act = signal_one, .number = number };

	if (whole_namespace)
		kill(-1, number);
	else
		visit_all(false, &v);
}

int usage_read(bool whole_namespace, struct usage_totals *totals)
{
	struct visit v = { .act = add_memory };
	int status = visit_all(whole_namespace, &v);

	if (whole_namespace)
		add_bytes(&v, process_memory_ipc(v.count));
	totals->bytes = v.bytes;
	totals->processes = v.count;
	return status;
}

uint64_t usage_exact_memory(bool whole_namespace, uint32_t processes)
{
	struct visit v = { .act = add_share };
	uint64_t ipc;

	if (visit_all(whole_namespace, &v) != 0)
		return UINT64_MAX;
	ipc = whole_namespace ? process_memory_ipc(processes) : 0;
	add_bytes(&v, ipc > v.shared ? ipc - v.shared : 0);
	return v.bytes;
}

unsigned usage_kill_all(bool whole_namespace)
{
	struct visit v = { .act = kill_one };

	/* In a process namespace of our own -1 means exactly all the others, at once. */
	if (whole_namespace)
		return kill(-1, SIGKILL) == 0;
	visit_all(false, &v);
	return v.count;
}

/* ---- process memory ---- */

/*
 * Memory of processes.
 *
 * The kernel shows a process's memory through one of its threads, and shows none through a thread
 * that has ended: a process whose first thread has is asked through another. Memory that several
 * processes share counts for each of them here; the proportional size is asked before anything is
 * ended for it. Nothing is allocated: this runs in PID 1, also in one that was forked from an
 * interpreter.
 */

#define STATUS_BYTES 3072
/* threads on their way out that are passed over in search of one that is not */
#define ENDING_MOST 64
#define IPC_BYTES 262144
#define SEMAPHORE_BYTES 64 /* struct sem fills a cache line */
#define UNDO_BYTES 2       /* of one semaphore, for one process */
#define QUEUE_BYTES 256    /* a queue or set by itself, roughly */
#define MESSAGE_BYTES 64   /* a message beside its text */

/* The number behind a key of a status file, 0 where there is none. */
static uint64_t value_of(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static bool read_status(pid_t thread, char text[STATUS_BYTES])
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	return proc_file_read(path, text, STATUS_BYTES) > 0;
}

static bool has_memory(const char *status)
{
	return strstr(status, "\nVmRSS:") != NULL;
}

static bool has_ended(const char *status)
{
	return strstr(status, "\nState:\tZ") || strstr(status, "\nState:\tX");
}

/*
 * A thread of a process whose first thread shows no memory. Returns 0 when each has ended or is
 * about to, and -1 when that cannot be said.
 */
static pid_t other_thread(pid_t pid, char status[STATUS_BYTES])
{
	char path[32];
	struct proc_entries entries;
	pid_t thread, found = 0;
	int ending = 0;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (!proc_entries_open(&entries, path))
		return 0;
	while (found == 0 && (thread = proc_entries_next(&entries)) > 0) {
		if (thread == pid || !read_status(thread, status))
			continue;
		if (has_memory(status))
			found = thread;
		else if (!has_ended(status) && ++ending > ENDING_MOST)
			found = -1;
	}
	proc_entries_close(&entries);
	return found;
}

/* Whether a process runs on its parent's memory, as between vfork(2) and execve(2). */
static bool on_parents_memory(pid_t pid, pid_t parent)
{
	return parent > 1 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

/*
 * Returns the thread whose status was read into text, 0 for nothing to count, -1 for what cannot be
 * read. Again: a process may have left its parent's memory between the two questions, and then the
 * first answer was about the parent's. It never comes back to it, so one more look is right.
 */
static pid_t find_memory(pid_t pid, char status[STATUS_BYTES], uint32_t *threads, bool again)
{
	pid_t parent;

	if (!read_status(pid, status))
		return 0;
	*threads = (uint32_t)value_of(status, "\nThreads:");
	if (!has_memory(status))
		return has_ended(status) && *threads <= 1 ? 0 : other_thread(pid, status);
	/*
	 * Without the first thread's memory kcmp(2) compares nothing with nothing, and finds it
	 * equal.
	 */
	parent = (pid_t)value_of(status, "\nPPid:");
	if (on_parents_memory(pid, parent))
		return 0;
	return parent <= 1 || !again || (read_status(pid, status) && has_memory(status)) ? pid : 0;
}

/*
 * Pages of mapped files (RssFile) are not in it: the kernel drops them when it needs room, and what
 * a program can write to is shared memory or, copied, anonymous.
 */
static uint64_t sum_of(const char *status)
{
	return 1024 *
		(value_of(status, "\nRssAnon:") + value_of(status, "\nRssShmem:") +
			value_of(status, "\nVmPTE:") + value_of(status, "\nVmSwap:") +
			value_of(status, "\nHugetlbPages:"));
}

void process_memory_read(pid_t pid, struct process_memory *memory)
{
	char status[STATUS_BYTES];
	pid_t thread;

	*memory = (struct process_memory){ 0, 0 };
	thread = find_memory(pid, status, &memory->threads, false);
	if (thread != 0)
		memory->bytes = thread < 0 ? UINT64_MAX : sum_of(status);
}

uint64_t process_memory_share(pid_t pid, uint64_t *shared)
{
	char status[STATUS_BYTES], rollup[2048], path[40];
	uint32_t threads;
	pid_t thread = find_memory(pid, status, &threads, true);

	if (thread <= 0)
		return thread < 0 ? UINT64_MAX : 0;
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)thread);
	/*
	 * A process that made itself undumpable gains nothing by it; one that has ended meanwhile
	 * holds nothing.
	 */
	if (proc_file_read(path, rollup, sizeof rollup) <= 0 || !strstr(rollup, "\nPss_Anon:"))
		return read_status(thread, status) && has_memory(status) ? sum_of(status) : 0;
	*shared += 1024 * value_of(rollup, "\nPss_Shmem:");
	return 1024 *
		(value_of(rollup, "\nPss_Anon:") + value_of(rollup, "\nPss_Shmem:") +
			value_of(rollup, "\nSwapPss:") + value_of(status, "\nVmPTE:") +
			value_of(status, "\nHugetlbPages:"));
}

/*
 * Calls add with the numbers of each line but the first, which has the columns' names. False: too
 * long.
 */
static bool each_object(const char *path,
	uint64_t (*add)(const uint64_t *column, uint32_t processes), uint32_t processes,
	uint64_t *sum)
{
	static char text[IPC_BYTES];
	ssize_t length = proc_file_read(path, text, sizeof text);

	if (length >= (ssize_t)sizeof text - 1)
		return false;
	for (char *line = length > 0 ? strchr(text, '\n') : NULL; line && line[1];
		line = strchr(line + 1, '\n')) {
		uint64_t column[16] = { 0 };
		char *at = line + 1;

		for (size_t i = 0; i < sizeof column / sizeof *column && *at && *at != '\n'; i++) {
			column[i] = strtoull(at, &at, 10);
			at += strspn(at, " ");
		}
		*sum += add(column, processes);
	}
	return true;
}

/* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
static uint64_t segment(const uint64_t *column, uint32_t processes)
{
	(void)processes;
	return column[14] + column[15] + QUEUE_BYTES;
}

/* key semid perms nsems ... */
static uint64_t semaphores(const uint64_t *column, uint32_t processes)
{
	return column[3] * (SEMAPHORE_BYTES + (uint64_t)UNDO_BYTES * processes) + QUEUE_BYTES;
}

/* key msqid perms cbytes qnum ... */
static uint64_t queue(const uint64_t *column, uint32_t processes)
{
	(void)processes;
	return column[3] + column[4] * MESSAGE_BYTES + QUEUE_BYTES;
}

uint64_t process_memory_ipc(uint32_t processes)
{
	uint64_t sum = 0;

	return each_object("/proc/sysvipc/shm", segment, processes, &sum) &&
			each_object("/proc/sysvipc/sem", semaphores, processes, &sum) &&
			each_object("/proc/sysvipc/msg", queue, processes, &sum)
		? sum
		: UINT64_MAX;
}
