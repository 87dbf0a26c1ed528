/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of processes, from inside to outside. See outside.h. It goes down from the sandbox's own first process, so no process of anybody else is looked at. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/outside.h"

#include <dirent.h>
#include <stdio.h>

#include "isolate/base/proc_file.h"
#include "isolate/base/clock.h"

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
			proc_file_children(path, list, count, OUTSIDE_MOST);
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

/* A body's process namespace lies below that of its fork server: the deepest match is meant. */
static pid_t find(const struct outside *o, pid_t inside)
{
	unsigned deepest = 0, levels;
	pid_t found = 0;

	for (unsigned i = 0; i < o->count; i++)
		if (o->known[i].inside == inside && o->known[i].level > deepest) {
			found = o->known[i].outside;
			deepest = o->known[i].level;
		}
	/* The number may have become another's. */
	return found > 0 && innermost(found, &levels) == inside && levels == deepest ? found : 0;
}

static void look(struct outside *o, pid_t top)
{
	pid_t list[OUTSIDE_MOST] = { top };
	unsigned count = 1;

	o->looked_us = clock_now_us();
	o->count = 0;
	for (unsigned i = 0; i < count; i++) {
		unsigned level = 0;

		add_children(list[i], list, &count);
		o->known[o->count].outside = list[i];
		o->known[o->count].inside = innermost(list[i], &level);
		o->known[o->count++].level = level;
	}
	o->took_us = clock_now_us() - o->looked_us;
}

pid_t outside_pid(struct outside *o, pid_t top, pid_t inside)
{
	pid_t found = find(o, inside);

	if (found > 0 || clock_now_us() - o->looked_us < 10 * o->took_us)
		return found;
	look(o, top);
	return find(o, inside);
}
