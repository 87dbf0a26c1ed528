/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console's end of the control socket: never waits, and connects again when the daemon went
 * away.
 *
 * JSON-RPC, one object a line. What comes in is bounded, passes the strict gate before anything is
 * made of it, and is dispatched: an event to the owner's on_event, an answer to the function that
 * was named with the request. Requests that a lost connection left open are answered with no
 * result.
 */
#ifndef CORDON_TUI_MODEL_LINK_H
#define CORDON_TUI_MODEL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

#define LINK_OPEN_REQUESTS 64
#define LINK_ABOUT_MAX 128

/*
 * The answer to a request. result or error has text NULL; both have when the connection was lost.
 * about: as given to link_request.
 */
typedef void link_answer(
	void *owner, const char *about, struct json_slice result, struct json_slice error);

struct link {
	int fd;           /* -1: not connected */
	const char *path; /* NULL: never connects again */
	void *owner;
	void (*on_connected)(void *owner);
	void (*on_event)(void *owner, struct json_slice event);
	char *in; /* owned */
	size_t start, end, looked, capacity;
	struct buffer out;
	size_t sent;
	int64_t next_id, retry_ms, retry_at_ms;
	uint64_t malformed; /* lines that are not of the protocol */
	bool more;          /* there may be more to read at once */
	struct link_request {
		int64_t id; /* 0: free */
		link_answer *answer;
		char about[LINK_ABOUT_MAX];
	} open[LINK_OPEN_REQUESTS];
};

/*
 * Connects. Returns 0, or -1 with DAEMON_MISSING. owner and the functions are set by the caller
 * before.
 */
int link_open(struct link *l, const char *path, struct error *err);

/* Takes a socket that is connected already. */
void link_adopt(struct link *l, int fd);
void link_close(struct link *l);

/*
 * The poll(2) events of l->fd, and the timeout in milliseconds (-1: none).
 */
short link_wants(const struct link *l);
int link_timeout(const struct link *l, int64_t now_ms);

/* Connects again, writes, reads once, without waiting. Returns whether anything changed. */
bool link_step(struct link *l, int64_t now_ms);

/*
 * Sends a request, params being a JSON object. answer may be NULL. Returns false, having called
 * nothing, when there is no connection, no memory, or too much is open.
 */
bool link_request(struct link *l, const char *method, const char *params, link_answer *answer,
	const char *about);

/* Whether an answer is waited for. */
bool link_is_asking(const struct link *l);

/*
 * Sends a line that is complete but for its id, which must be its first member and missing:
 * {"jsonrpc":... becomes {"id":N,"jsonrpc":...
 */
bool link_send_line(
	struct link *l, const char *line, size_t length, link_answer *answer, const char *about);

#endif
