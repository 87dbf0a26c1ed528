/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened in the view, on its way out: a small record for each kind of thing, repeats counted
 * instead of repeated.
 *
 * The server must never wait for the reader: records are gathered in a buffer of fixed size and
 * sent as datagrams on a non-blocking socket; what does not fit is counted, and the count is sent
 * when there is room. The same record that was sent less than a second ago is held back and sent
 * once with the number of its repeats. Reading is pure and strict, since the supervisor does not
 * trust the server.
 */
#ifndef CORDON_FS_VIEW_VIEW_EVENT_H
#define CORDON_FS_VIEW_VIEW_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum event_kind {
	EVENT_OPENED = 1, /* fs.opened */
	EVENT_DENIED,     /* fs.denied */
	EVENT_DROPPED,    /* events.dropped: count of those that found no room */
	EVENT_SUMMARY     /* the last one: count says how many opens there were in all */
};

enum event_flags {
	EVENT_DIRECTORY = 1,
	EVENT_WRITE = 2 /* refused because it would write */,
	EVENT_CREATE = 4,
	EVENT_EXECUTE = 8,
	EVENT_TRUNCATE = 16,
	EVENT_APPEND = 32,
	EVENT_READ = 64,
	EVENT_REMOVE = 128,
	EVENT_CHANGE = 256 /* mode, owner, times, attributes */,
	EVENT_LIST = 512 /* left out of a listing */,
	EVENT_KNOWN_FLAGS = 1023
};

#define EVENT_PATH_MAX 4096
#define EVENT_BATCH 32768
#define EVENT_RULE_READ_ONLY (-2) /* no rule of the policy: everything here is read-only */
#define EVENT_RULE_KERNEL (-3)    /* the kernel's own file systems are never shown */
/* the server has as many files open for the program as the caller's limit lets it */
#define EVENT_RULE_DESCRIPTORS (-4)
#define EVENT_RULE_LEAST EVENT_RULE_DESCRIPTORS

struct event_head {
	uint32_t magic;
	uint16_t kind, path_length; /* the path follows, without a NUL; cut at EVENT_PATH_MAX */
	uint32_t flags;
	/* index in the policy, or one of the above, or -1: never named */
	int32_t rule;
	int32_t pid; /* in the supervisor's PID namespace; 0 when not known */
	uint32_t reserved;
	uint64_t count;
	int64_t time_ns; /* CLOCK_REALTIME of the first of them */
	char comm[16];   /* NUL-terminated; "" when not known */
};

struct event {
	struct event_head head;
	const char *path; /* head.path_length bytes */
};

struct event_sink;

/*
 * A sink that sends to socket, which stays the caller's; -1 only counts. opens: send EVENT_OPENED,
 * too. NULL without memory.
 */
struct event_sink *event_sink_new(int socket, bool opens);
void event_sink_free(struct event_sink *s);

/* Whether opens are only counted: then this one is, and need not be made a record of. */
bool event_counts(struct event_sink *s, enum event_kind kind);

/* Takes one event at a time (now_ns of CLOCK_MONOTONIC). Never blocks. */
void event_put(struct event_sink *s, const struct event_head *head, const char *path,
	size_t path_length, int64_t now_ns);

/* Sends what is due. Returns in how many milliseconds to call again, or -1 when nothing waits. */
int event_flush(struct event_sink *s, int64_t now_ns);

/*
 * Sends everything, held-back repeats too, and the summary. Waits for room for as long as the other
 * end is open.
 */
void event_finish(struct event_sink *s);

/*
 * Takes the next event out of a datagram at *at. Returns 1, 0 at its end, -1 when it is malformed.
 */
int event_parse(const char *bytes, size_t length, size_t *at, struct event *out);

#endif
