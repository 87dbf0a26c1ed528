/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over a sandbox's processes. See watch.h.
 *
 * Everything is read into small fixed buffers with plain system calls: this runs in PID 1, also in one that was forked from a Python interpreter, where no
 * allocation is wanted. A process that vanishes between two reads counts as nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/confine/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/confine/proc_file.h"

#define MOST_DESCENDANTS 4096

struct visit {
	void (*act)(struct visit *, pid_t);
	uint64_t bytes;
	uint32_t count;
	int number;                               /* the signal to send */
	void (*told)(void *context, pid_t pid);
	void *context;
};

/* A directory entry as getdents64(2) gives it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static int visit_namespace(struct visit *v)
{
	_Alignas(struct entry) char block[8192];
	long got;
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while ((got = syscall(SYS_getdents64, fd, block, sizeof block)) > 0)
		for (long at = 0; at < got; at += ((struct entry *)(void *)(block + at))->length) {
			const char *name = ((struct entry *)(void *)(block + at))->name;
			pid_t pid = name[0] >= '1' && name[0] <= '9' ? (pid_t)strtol(name, NULL, 10) : 0;

			if (pid > 1)
				v->act(v, pid);
		}
	close(fd);
	return got < 0 ? -1 : 0;
}

/* The children of one process, whichever of its threads forked them. Appended to list from *count on. */
static void add_children(pid_t pid, pid_t *list, unsigned *count)
{
	_Alignas(struct entry) char block[4096];
	char path[64];
	long got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((got = syscall(SYS_getdents64, fd, block, sizeof block)) > 0)
		for (long at = 0; at < got; at += ((struct entry *)(void *)(block + at))->length) {
			const char *name = ((struct entry *)(void *)(block + at))->name;

			if (name[0] < '1' || name[0] > '9')
				continue;
			snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, name);
			proc_file_children(path, list, count, MOST_DESCENDANTS);
		}
	close(fd);
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

#define FORKED_NO_EXEC 0x40 /* PF_FORKNOEXEC */

/*
 * Between vfork(2) and execve(2) a child is on its parent's memory, all of it, and would count it a second time. Only the kernel knows two such from a parent and
 * child that each changed their copy of everything: kcmp(2). Where it does not say, memory counts twice rather than not at all.
 */
static bool on_parents_memory(pid_t pid, const char *stat)
{
	pid_t parent = (pid_t)proc_stat_field(stat, PROC_STAT_PARENT);

	return (proc_stat_field(stat, PROC_STAT_FLAGS) & FORKED_NO_EXEC) && parent > 1 && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

/* Threads count as processes: so does the limit, RLIMIT_NPROC. */
static void add_resident(struct visit *v, pid_t pid)
{
	char path[32], text[1024];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	/* A child that the kernel says is not on its parent's memory may have left it between the two questions: then the first answer is of no use. */
	for (int look = 0; look < 2; look++) {
		if (proc_file_read(path, text, sizeof text) <= 0)
			return;
		if (on_parents_memory(pid, text)) {
			v->count += (uint32_t)proc_stat_field(text, PROC_STAT_THREADS);
			return;
		}
		if (!(proc_stat_field(text, PROC_STAT_FLAGS) & FORKED_NO_EXEC))
			break;
	}
	v->bytes += proc_stat_field(text, PROC_STAT_RESIDENT) * (uint64_t)sysconf(_SC_PAGESIZE);
	v->count += (uint32_t)proc_stat_field(text, PROC_STAT_THREADS);
}

static void add_proportional(struct visit *v, pid_t pid)
{
	char path[40], text[2048], *line;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (proc_file_read(path, text, sizeof text) <= 0 || on_parents_memory(pid, text))
		return;
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
	line = proc_file_read(path, text, sizeof text) > 0 ? strstr(text, "\nPss:") : NULL;
	if (line)
		v->bytes += strtoull(line + 5, NULL, 10) * 1024;
	else
		add_resident(v, pid); /* a process that made itself undumpable gains nothing by it */
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
	struct visit v = { .act = add_resident };
	int status = visit_all(whole_namespace, &v);

	totals->resident_bytes = v.bytes;
	totals->processes = v.count;
	return status;
}

bool watch_confirms(bool whole_namespace, uint64_t limit)
{
	struct visit v = { .act = add_proportional };

	return visit_all(whole_namespace, &v) == 0 && v.bytes > limit;
}

uint64_t watch_own_resident(void)
{
	char text[1024];

	return proc_file_read("/proc/self/stat", text, sizeof text) > 0 ? proc_stat_field(text, PROC_STAT_RESIDENT) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
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
