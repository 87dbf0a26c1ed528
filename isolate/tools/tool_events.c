/* SPDX-License-Identifier: Apache-2.0 */
/* The events of tools. See tool_events.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/tool_events.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "isolate/monitor/emitter.h"

#define TEXT_MOST 4096

/* Text of an event by field; NULL where it has none. */
static const char *text_of(const struct tool_event *t, enum event_field field)
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

static int64_t number_of(const struct tool_event *t, enum event_field field)
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

/* A reader that went away is no reason to die: SIGPIPE is kept off while it is written, and taken if it came. */
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

		if (wrote < 0 && (errno == EINTR || (errno == EAGAIN && poll(&room, 1, EMITTER_PATIENCE_MS) > 0)))
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
	e = out >= 0 && sodium_init() >= 0 ? emitter_new(-1, t->subject ? t->subject : subject, EMITTER_DROPS) : NULL;
	if (!e)
		return;
	randombytes_buf(random, sizeof random);
	emitter_identify(e, sodium_bin2hex(id, sizeof id, random, sizeof random));
	emit_begin(e, type, 0);
	while ((row = event_next_field(&at, &optional))) {
		enum event_field field = (enum event_field)(row - event_fields);
		const char *text = text_of(t, field);

		if (row->kind == EVENT_KIND_NUMBER)
			emit_number(e, field, number_of(t, field));
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
