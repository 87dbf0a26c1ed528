/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling what was opened and what was refused, and by whom. See view.h.
 *
 * A process is told by its number and its name; names are kept for a moment, since a program opens many files in a row. Nothing here waits: the name is read from a place that
 * needs no lock of the process, and the sink never blocks.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/view.h"

#define NAME_AGE_NS INT64_C(100000000)

/* proc_pid_comm(5): taking a name needs no lock that a stopped or waiting process could hold. */
static const char *name_of(struct view *v, int32_t pid, int64_t now_ns)
{
	size_t slot = (uint32_t)pid % (sizeof v->names / sizeof *v->names);
	char path[32];
	ssize_t length;
	int fd;

	if (pid <= 0 || v->proc < 0)
		return "";
	if (v->names[slot].pid == pid && now_ns < v->names[slot].until_ns)
		return v->names[slot].comm;
	snprintf(path, sizeof path, "%d/comm", pid);
	fd = openat(v->proc, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, v->names[slot].comm, sizeof v->names[slot].comm - 1);
	if (fd >= 0)
		close(fd);
	v->names[slot].comm[length > 0 ? length : 0] = '\0';
	v->names[slot].comm[strcspn(v->names[slot].comm, "\n")] = '\0';
	v->names[slot].pid = pid;
	v->names[slot].until_ns = now_ns + NAME_AGE_NS;
	return v->names[slot].comm;
}

int view_spare(struct view *v, fuse_req_t req, int fd, uint32_t flags)
{
	if (fd < 0 ? errno != EMFILE && errno != ENFILE : fd < v->most_descriptors)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = view_full(v, req, flags);
	return -1;
}

int view_full(struct view *v, fuse_req_t req, uint32_t flags)
{
	view_tell(v, req, EVENT_DENIED, flags, EVENT_RULE_DESCRIPTORS, NULL);
	return ENFILE; /* EMFILE would say that the program itself has too many open */
}

void view_tell(struct view *v, fuse_req_t req, enum event_kind kind, uint32_t flags, int rule, const char *path)
{
	struct event_head h = { .kind = (uint16_t)kind, .flags = flags, .rule = policy_rule_told(v->policy, rule), .count = 1 };
	int64_t now_ns;
	struct timespec now;

	if (event_counts(v->events, kind))
		return;
	now_ns = view_now_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	h.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	h.is_placed = kind == EVENT_DENIED && written_look(&v->written, h.written);
	h.pid = fuse_req_ctx(req)->pid;
	snprintf(h.comm, sizeof h.comm, "%s", name_of(v, h.pid, now_ns));
	if (!path)
		path = v->full;
	event_put(v->events, &h, path, strlen(path), now_ns);
}
