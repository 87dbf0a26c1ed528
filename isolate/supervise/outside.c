/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of processes, from inside to outside. See outside.h. It goes down from the sandbox's own first process, so no process of anybody else is looked at. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/outside.h"

#include <dirent.h>
#include <stdio.h>

#include "isolate/confine/proc_file.h"

#define MOST 1024

static void add_children(pid_t pid, pid_t *list, unsigned *count)
{
	char path[320];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			proc_file_children(path, list, count, MOST);
	}
	if (tasks)
		closedir(tasks);
}

static pid_t innermost(pid_t pid, unsigned *levels)
{
	char path[40], text[4096];

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	proc_file_read(path, text, sizeof text);
	return proc_status_innermost(text, levels);
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
