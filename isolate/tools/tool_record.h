/* SPDX-License-Identifier: Apache-2.0 */
/* One version of a tool, as a row of the store and as an object of answers. */
#ifndef CORDON_ISOLATE_TOOLS_TOOL_RECORD_H
#define CORDON_ISOLATE_TOOLS_TOOL_RECORD_H

#include "isolate/base/json_write.h"
#include "isolate/monitor/event_table.h"
#include "isolate/tools/promotion.h"
#include "isolate/tools/spec.h"
#include "isolate/tools/store.h"

/*
 * What a statement selects to give items, and from where. Whatever follows (WHERE, ORDER BY) is the
 * caller's: v is the version, c its counts.
 */
#define ITEM_SELECT_WITH(description) \
	"SELECT v.id, v.name, v.version, v.hash, v.state, v.policy, v.threshold, " \
	"coalesce(c.successes, 0), coalesce(c.failures, 0), v.created, v.due, v.decided, " \
	"v.decided_by, v.reason," \
	" v.session, v.agent, v.lines, " description \
	" FROM versions v LEFT JOIN counts c ON c.name = v.name AND c.hash = v.hash AND" \
	" c.since = (SELECT max(since) FROM counts WHERE name = v.name AND hash = v.hash AND " \
	"since <= v.version) "

#define ITEM_SELECT ITEM_SELECT_WITH("v.description")

/* The same for lists, where a description is a line and not sixteen kilobytes. */
#define ITEM_SELECT_LISTED \
	ITEM_SELECT_WITH("CASE WHEN length(v.description) > 200 THEN substr(v.description, 1, " \
			 "197) || '...' ELSE v.description END")

struct item {
	int64_t id; /* 0: none */
	char name[IDENTITY_ROOM];
	int64_t version;
	char hash[SPEC_HASH_ROOM];
	enum tool_state state;
	enum tool_policy policy;
	int64_t threshold, successes, failures, lines;
};

/*
 * Takes a row of ITEM_SELECT. Returns 0, or -1 with LIBRARY_BROKEN when it holds words that are
 * none of ours.
 */
int item_take(struct store *s, sqlite3_stmt *row, struct item *item, struct error *err);

/*
 * The first item of a query that begins with ITEM_SELECT. Returns 1, 0 when there is none (item->id
 * is 0), or -1. Ends the statement; a NULL query is a failure that is in err already.
 */
int item_first(struct store *s, sqlite3_stmt *query, struct item *item, struct error *err);

/* The item of an id; and the newest version of a name. As item_first. */
int item_of_id(struct store *s, int64_t id, struct item *item, struct error *err);
int item_newest(struct store *s, const char *name, struct item *item, struct error *err);

/* Writes the members of an item into an object that is open, from a row of ITEM_SELECT. */
void item_write_row(const struct store *s, sqlite3_stmt *row, struct json_writer *w);

/* The same for an id: the members, or nothing when it is gone. Returns 0 or -1. */
int item_write(struct store *s, int64_t id, struct json_writer *w, struct error *err);

/* A time of the store as RFC 3339 in UTC. */
void item_write_time(struct json_writer *w, int64_t us);

/*
 * The events of tools. What an event has is the table's (isolate/monitor/events.def); here is only
 * where each field comes from.
 */

struct tool_event {
	const char *subject; /* NULL: tool:USER/NAME */
	const char *user, *name;
	const struct item *item;                           /* NULL where there is no version */
	const char *by, *reason, *error, *session, *agent; /* NULL: none */
	int64_t duration_us, count;
};

/*
 * Writes one event to a descriptor (-1: nothing is written). Waits at most a second for a slow
 * reader.
 */
void tool_event_emit(int out, enum event_type type, const struct tool_event *t);

#endif
