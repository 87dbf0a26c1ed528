/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over a sandbox's processes. See usage.h.
 *
 * Everything is read into small fixed buffers with plain system calls: this runs in PID 1, also in one that was forked from a Python interpreter, where no
 * allocation is wanted. A process that vanishes between two reads counts as nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"
#include "isolate/init/process_memory.h"

#define MOST_DESCENDANTS 4096

struct visit {
	void (*act)(struct visit *, pid_t);
	uint64_t bytes, shared;
	uint32_t count;
	int number;                               /* the signal to send */
	void (*told)(void *context, pid_t pid);
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

/* The children of one process, whichever of its threads forked them. Appended to list from *count on. */
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

static void tell_one(struct visit *v, pid_t pid)
{
	v->told(v->context, pid);
}

int watch_each(bool whole_namespace, void (*act)(void *context, pid_t pid), void *context)
{
	struct visit v = { .act = tell_one, .told = act, .context = context };

	return visit_all(whole_namespace, &v);
}

void watch_signal_all(bool whole_namespace, int number)
{
	struct visit v = { .act = signal_one, .number = number };

	if (whole_namespace)
		kill(-1, number);
	else
		visit_all(false, &v);
}

int watch_look(bool whole_namespace, struct watch_totals *totals)
{
	struct visit v = { .act = add_memory };
	int status = visit_all(whole_namespace, &v);

	if (whole_namespace)
		add_bytes(&v, process_memory_ipc(v.count));
	totals->bytes = v.bytes;
	totals->processes = v.count;
	return status;
}

uint64_t watch_exact(bool whole_namespace, uint32_t processes)
{
	struct visit v = { .act = add_share };
	uint64_t ipc;

	if (visit_all(whole_namespace, &v) != 0)
		return UINT64_MAX;
	ipc = whole_namespace ? process_memory_ipc(processes) : 0;
	add_bytes(&v, ipc > v.shared ? ipc - v.shared : 0);
	return v.bytes;
}

unsigned watch_kill_all(bool whole_namespace)
{
	struct visit v = { .act = kill_one };

	/* In a process namespace of our own -1 means exactly all the others, at once. */
	if (whole_namespace)
		return kill(-1, SIGKILL) == 0;
	visit_all(false, &v);
	return v.count;
}
