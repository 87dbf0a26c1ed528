/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files of /proc. See proc_file.h. Some are given in pieces of a page, so reading goes on to
 * the end. Nothing is allocated: PID 1 reads them, too, in a process that may have been forked from
 * an interpreter.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"

ssize_t proc_file_read(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = fd < 0 ? -1 : 0;

	while (fd >= 0 && length < size - 1 &&
		(got = read(fd, text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	return got < 0 ? -1 : (ssize_t)length;
}

void proc_file_read_below(int proc, pid_t process, const char *name, char *text, size_t size)
{
	char path[32];
	_cleanup_close_ int fd = -1;
	ssize_t length;

	snprintf(path, sizeof path, "%d/%s", (int)process, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
}

ssize_t proc_file_command(pid_t pid, char *text, size_t size)
{
	char path[40];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	length = proc_file_read(path, text, size);
	for (ssize_t i = 0; i + 1 < length; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return length;
}

/* A directory entry as getdents64(2) gives it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

bool proc_entries_open(struct proc_entries *e, const char *path)
{
	e->length = e->at = 0;
	e->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return e->fd >= 0;
}

pid_t proc_entries_next(struct proc_entries *e)
{
	for (;;) {
		const struct entry *entry;

		if (e->at >= e->length) {
			e->length = syscall(SYS_getdents64, e->fd, e->block, sizeof e->block);
			e->at = 0;
			if (e->length <= 0)
				return (pid_t)e->length;
		}
		entry = (const struct entry *)(const void *)(e->block + e->at);
		e->at += entry->length;
		if (entry->name[0] >= '1' && entry->name[0] <= '9')
			return (pid_t)strtol(entry->name, NULL, 10);
	}
}

void proc_entries_close(struct proc_entries *e)
{
	close(e->fd);
}

void proc_file_children(const char *path, pid_t *list, unsigned *count, unsigned most)
{
	char text[8192];

	if (proc_file_read(path, text, sizeof text) <= 0)
		return;
	for (char *next = text, *end; *count < most; next = end) {
		long child = strtol(next, &end, 10);

		if (end == next)
			break;
		list[(*count)++] = (pid_t)child;
	}
}

uint64_t proc_stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

bool proc_loadavg(const char *text, int *running, pid_t *newest)
{
	int numbers[2];

	/* "0.20 0.18 0.12 1/80 11206" */
	if (sscanf(text, "%*s %*s %*s %9d/%*d %9d", &numbers[0], &numbers[1]) != 2 ||
		numbers[1] < 0)
		return false;
	*running = numbers[0];
	*newest = (pid_t)numbers[1];
	return true;
}

pid_t proc_status_innermost(const char *text, unsigned *levels)
{
	const char *line = strstr(text, "\nNSpid:"),
		   *next = line ? line + strlen("\nNSpid:") : NULL;
	unsigned count = 0;
	long number = 0;

	for (char *end; next && *next != '\n'; next = end) {
		long value = strtol(next, &end, 10);

		if (end == next)
			break;
		number = value;
		count++;
	}
	if (levels)
		*levels = count;
	return (pid_t)number;
}
