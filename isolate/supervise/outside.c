/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of processes, from inside to outside. See outside.h. It goes down from the sandbox's own first process, so no process of anybody else is looked at. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/outside.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/confine/proc_file.h"

#define MOST 1024

static void add_children(pid_t pid, pid_t *list, unsigned *count)
{
	char path[320], text[8192];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || proc_file_read(path, text, sizeof text) <= 0)
			continue;
		for (char *next = text, *end; *count < MOST; next = end) {
			long child = strtol(next, &end, 10);

			if (end == next)
				break;
			list[(*count)++] = (pid_t)child;
		}
	}
	if (tasks)
		closedir(tasks);
}

/* The last number of the NSpid line, and how many there are. */
static long innermost(pid_t pid, unsigned *levels)
{
	char path[40], text[4096], *line;
	long number = 0;

	*levels = 0;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	line = proc_file_read(path, text, sizeof text) > 0 ? strstr(text, "\nNSpid:") : NULL;
	for (char *next = line ? line + strlen("\nNSpid:") : NULL, *end; next && *next != '\n'; next = end) {
		long value = strtol(next, &end, 10);

		if (end == next)
			break;
		number = value;
		++*levels;
		if (*end == '\n')
			break;
	}
	return number;
}

pid_t outside_pid(pid_t top, pid_t inside)
{
	pid_t list[MOST] = { top }, found = 0;
	unsigned count = 1, deepest = 0;

	/* A body's process namespace lies below that of its fork server: the deepest match is meant. */
	for (unsigned i = 0; i < count; i++) {
		unsigned levels;

		add_children(list[i], list, &count);
		if (innermost(list[i], &levels) == inside && levels > deepest) {
			found = list[i];
			deepest = levels;
		}
	}
	return found;
}
