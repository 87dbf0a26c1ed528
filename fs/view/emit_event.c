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
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/view/view.h"
#include "isolate/base/proc_file.h"

#define NAME_AGE_NS INT64_C(100000000)

/* proc_pid_comm(5), proc_pid_status(5). The kernel says which thread asks; it is told of as the process it belongs to. */
static const struct asker *who_is(struct view *v, int32_t thread, int64_t now_ns)
{
	static const struct asker NOBODY = { .comm = "" };
	struct asker *slot = &v->askers[(uint32_t)thread % (sizeof v->askers / sizeof *v->askers)];
	char status[512], *line;

	if (thread <= 0)
		return &NOBODY;
	if (slot->thread == thread && now_ns < slot->until_ns)
		return slot;
	proc_file_read_below(v->proc, thread, "comm", slot->comm, sizeof slot->comm);
	slot->comm[strcspn(slot->comm, "\n")] = '\0';
	proc_file_read_below(v->proc, thread, "status", status, sizeof status);
	line = strstr(status, "\nTgid:");
	slot->process = line ? (int32_t)strtol(line + strlen("\nTgid:"), NULL, 10) : thread;
	slot->thread = thread;
	slot->until_ns = now_ns + NAME_AGE_NS;
	return slot;
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
	const struct asker *asker;
	int64_t now_ns;
	struct timespec now;

	if (event_counts(v->events, kind))
		return;
	now_ns = view_now_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	h.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	asker = who_is(v, fuse_req_ctx(req)->pid, now_ns);
	h.pid = asker->process;
	memcpy(h.comm, asker->comm, sizeof h.comm);
	if (!path)
		path = v->full;
	event_put(v->events, &h, path, strlen(path), now_ns);
}
