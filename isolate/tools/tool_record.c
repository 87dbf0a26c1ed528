/* SPDX-License-Identifier: Apache-2.0 */
/* Items. See tool_record.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/tool_record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "isolate/monitor/emitter.h"

enum column {
	AT_ID,
	AT_NAME,
	AT_VERSION,
	AT_HASH,
	AT_STATE,
	AT_POLICY,
	AT_THRESHOLD,
	AT_SUCCESSES,
	AT_FAILURES,
	AT_CREATED,
	AT_DUE,
	AT_DECIDED,
	AT_DECIDED_BY,
	AT_REASON,
	AT_SESSION,
	AT_AGENT,
	AT_LINES,
	AT_DESCRIPTION
};

static const char *text_of(sqlite3_stmt *row, enum column column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

int item_take(struct store *s, sqlite3_stmt *row, struct item *item, struct error *err)
{
	*item = (struct item){ .id = sqlite3_column_int64(row, AT_ID),
		.version = sqlite3_column_int64(row, AT_VERSION),
		.threshold = sqlite3_column_int64(row, AT_THRESHOLD),
		.successes = sqlite3_column_int64(row, AT_SUCCESSES),
		.failures = sqlite3_column_int64(row, AT_FAILURES),
		.lines = sqlite3_column_int64(row, AT_LINES) };
	item->state = promotion_state_of(text_of(row, AT_STATE));
	item->policy = promotion_policy_of(text_of(row, AT_POLICY));
	if (item->state == STATE_COUNT || item->policy == POLICY_COUNT ||
		strlen(text_of(row, AT_NAME)) > IDENTITY_MAX ||
		strlen(text_of(row, AT_HASH)) != SPEC_HASH_ROOM - 1)
		return error_set(err, FAILURE_LIBRARY_BROKEN, 0,
			"a row of %.200s holds what no cordon wrote", s->path);
	snprintf(item->name, sizeof item->name, "%s", text_of(row, AT_NAME));
	snprintf(item->hash, sizeof item->hash, "%s", text_of(row, AT_HASH));
	return 0;
}

int item_first(struct store *s, sqlite3_stmt *query, struct item *item, struct error *err)
{
	int status = query ? store_step(s, query, err) : -1;

	item->id = 0;
	if (status > 0 && item_take(s, query, item, err) < 0)
		status = -1;
	sqlite3_finalize(query);
	return status;
}

int item_of_id(struct store *s, int64_t id, struct item *item, struct error *err)
{
	return item_first(s, store_query(s, err, ITEM_SELECT "WHERE v.id = ?", "i", id), item, err);
}

int item_newest(struct store *s, const char *name, struct item *item, struct error *err)
{
	return item_first(s,
		store_query(s, err, ITEM_SELECT "WHERE v.name = ? ORDER BY v.version DESC LIMIT 1",
			"t", name),
		item, err);
}

void item_write_time(struct json_writer *w, int64_t us)
{
	time_t second = (time_t)(us / 1000000);
	char text[40], whole[64];
	struct tm utc;

	gmtime_r(&second, &utc);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(whole, sizeof whole, "%s.%06dZ", text, (int)(us % 1000000));
	json_string(w, whole);
}

static void write_text(
	struct json_writer *w, sqlite3_stmt *row, const char *key, enum column column)
{
	json_key(w, key);
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		json_null(w);
	else
		json_bytes(w, sqlite3_column_text(row, column),
			(size_t)sqlite3_column_bytes(row, column));
}

static void write_number(
	struct json_writer *w, sqlite3_stmt *row, const char *key, enum column column)
{
	json_key(w, key);
	json_integer(w, sqlite3_column_int64(row, column));
}

static void write_moment(
	struct json_writer *w, sqlite3_stmt *row, const char *key, enum column column)
{
	json_key(w, key);
	if (sqlite3_column_type(row, column) == SQLITE_NULL)
		json_null(w);
	else
		item_write_time(w, sqlite3_column_int64(row, column));
}

void item_write_row(const struct store *s, sqlite3_stmt *row, struct json_writer *w)
{
	static const struct {
		const char *key;
		enum column column;
		void (*write)(struct json_writer *, sqlite3_stmt *, const char *, enum column);
	} MEMBERS[] = {
		{ "name", AT_NAME, write_text },
		{ "version", AT_VERSION, write_number },
		{ "hash", AT_HASH, write_text },
		{ "state", AT_STATE, write_text },
		{ "policy", AT_POLICY, write_text },
		{ "threshold", AT_THRESHOLD, write_number },
		{ "successes", AT_SUCCESSES, write_number },
		{ "failures", AT_FAILURES, write_number },
		{ "description", AT_DESCRIPTION, write_text },
		{ "created", AT_CREATED, write_moment },
		{ "due", AT_DUE, write_moment },
		{ "decided", AT_DECIDED, write_moment },
		{ "decided_by", AT_DECIDED_BY, write_text },
		{ "reason", AT_REASON, write_text },
		{ "session", AT_SESSION, write_text },
		{ "agent", AT_AGENT, write_text },
		{ "implementation_lines", AT_LINES, write_number },
	};

	json_key(w, "user");
	json_string(w, s->user);
	for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
		MEMBERS[i].write(w, row, MEMBERS[i].key, MEMBERS[i].column);
}

int item_write(struct store *s, int64_t id, struct json_writer *w, struct error *err)
{
	sqlite3_stmt *row = store_query(s, err, ITEM_SELECT "WHERE v.id = ?", "i", id);
	int status = row ? store_step(s, row, err) : -1;

	if (status > 0)
		item_write_row(s, row, w);
	sqlite3_finalize(row);
	return status < 0 ? -1 : 0;
}

/* ---- tool events ---- */

#define TEXT_MOST 4096

/* Text of an event by field; NULL where it has none. */
static const char *event_text(const struct tool_event *t, enum event_field field)
{
	switch (field) {
	case EVENT_FIELD_TOOL_NAME:
		return t->name;
	case EVENT_FIELD_USER:
		return t->user;
	case EVENT_FIELD_CODE_HASH:
		return t->item ? t->item->hash : NULL;
	case EVENT_FIELD_STATE:
		return t->item ? promotion_state_word(t->item->state) : NULL;
	case EVENT_FIELD_PROMOTION_POLICY:
		return t->item ? promotion_policy_word(t->item->policy) : NULL;
	case EVENT_FIELD_BY:
		return t->by;
	case EVENT_FIELD_REASON:
		return t->reason;
	case EVENT_FIELD_ERROR:
		return t->error;
	case EVENT_FIELD_SESSION:
		return t->session;
	case EVENT_FIELD_AGENT:
		return t->agent;
	default:
		return NULL;
	}
}

static int64_t event_number(const struct tool_event *t, enum event_field field)
{
	switch (field) {
	case EVENT_FIELD_TOOL_VERSION:
		return t->item ? t->item->version : 0;
	case EVENT_FIELD_SUCCESSES:
		return t->item ? t->item->successes : 0;
	case EVENT_FIELD_FAILURES:
		return t->item ? t->item->failures : 0;
	default:
		return t->count;
	}
}

/*
 * A reader that went away is no reason to die: SIGPIPE is kept off while it is written, and taken
 * if it came.
 */
static void write_lines(int out, const char *text, size_t length)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t broken, before;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	while (length > 0) {
		ssize_t wrote = write(out, text, length);
		struct pollfd room = { out, POLLOUT, 0 };

		if (wrote < 0 &&
			(errno == EINTR ||
				(errno == EAGAIN && poll(&room, 1, EMITTER_PATIENCE_MS) > 0)))
			continue;
		if (wrote <= 0)
			break;
		text += wrote;
		length -= (size_t)wrote;
	}
	if (length > 0)
		sigtimedwait(&broken, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tool_event_emit(int out, enum event_type type, const struct tool_event *t)
{
	const char *at = event_types[type].fields, *lines;
	const struct event_field_text *row;
	char subject[EMITTER_SUBJECT_MAX], id[33];
	unsigned char random[16];
	struct emitter *e;
	size_t length;
	int optional;

	snprintf(subject, sizeof subject, "tool:%s/%s", t->user, t->name);
	e = out >= 0 && sodium_init() >= 0
		? emitter_new(-1, t->subject ? t->subject : subject, EMITTER_DROPS)
		: NULL;
	if (!e)
		return;
	randombytes_buf(random, sizeof random);
	emitter_identify(e, sodium_bin2hex(id, sizeof id, random, sizeof random));
	emit_begin(e, type, 0);
	while ((row = event_next_field(&at, &optional))) {
		enum event_field field = (enum event_field)(row - event_fields);
		const char *text = event_text(t, field);

		if (row->kind == EVENT_KIND_NUMBER)
			emit_number(e, field, event_number(t, field));
		else if (row->kind == EVENT_KIND_DURATION)
			emit_duration(e, field, t->duration_us);
		else if (text || !optional)
			emit_bytes(e, field, text ? text : "", text ? strnlen(text, TEXT_MOST) : 0);
	}
	emit_end(e);
	lines = emitter_lines(e, &length);
	write_lines(out, lines, length);
	emitter_close(e, NULL);
}
