/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the daemon about runs, and its events.
 *
 * After connecting, the console asks how far back the daemon's log goes and subscribes from there;
 * after a lost connection, from the last event that it has. Numbers of events go on after a restart
 * of the daemon, so no event is taken twice. A request names its run by id, since the run may be
 * gone when the answer comes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"
#include "tui/model/console.h"
#include "isolate/base/json_read.h"

#define LIST_PAUSE_MS 500

static void say_error(struct console *c, const char *what, struct json_slice error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	console_error_text(error, &text);
	console_say(c, STYLE_DENY, "%s: %s", what, text.length ? text.data : "");
}

static void on_subscribed(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	(void)about;
	if (!result.text)
		say_error(owner, "events", error);
}

static void on_info(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	uint64_t next = (uint64_t)json_int(json_get(result, "next"), 1),
		 oldest = (uint64_t)json_int(json_get(result, "oldest"), 1);
	char params[64];

	(void)about;
	if (!result.text) {
		if (error.text)
			say_error(c, "daemon.info", error);
		return;
	}
	/* A log that ends before what we know of is another one. */
	if (c->last_sequence == 0 || c->last_sequence >= next)
		c->last_sequence = oldest > 0 ? oldest - 1 : 0;
	if (c->replayed == 0)
		c->replayed = next - 1;
	snprintf(params, sizeof params, "{\"since\":%" PRIu64 "}", c->last_sequence);
	link_request(&c->link, "events.subscribe", params, on_subscribed, "");
	console_ask_list(c);
	console_ask_tools(c);
	c->tool.stale = true;
	if (c->was_lost)
		console_say(c, STYLE_GOOD,
			"connected again, to the daemon with process id %" PRId64,
			json_int(json_get(result, "pid"), 0));
}

static void on_request_answered(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	struct json_slice status = json_get(result, "status");

	(void)about;
	if (!result.text && !error.text)
		return;
	c->answered = true;
	if (result.text)
		buffer_printf(c->answer, "{\"result\":%.*s}", (int)result.length, result.text);
	else if (error.text)
		buffer_printf(c->answer, "{\"error\":%.*s}", (int)error.length, error.text);
	console_say(c, STYLE_GOOD,
		status.text ? "The program has ended, exit status %" PRId64 ". q leaves."
			    : "The run has ended. q leaves.",
		json_int(status, 0));
	c->quit |= c->leaving;
}

void console_connected(void *owner)
{
	struct console *c = owner;

	c->lost = false;
	c->dirty = true;
	if (!c->options->request) {
		link_request(&c->link, "daemon.info", "{}", on_info, "");
		return;
	}
	link_request(&c->link, "events.subscribe", "{\"since\":0}", on_subscribed, "");
	link_send_line(
		&c->link, c->options->request, c->options->request_length, on_request_answered, "");
}

static void on_list(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)about;
	(void)error;
	c->list_asked = false;
	if (!result.text)
		return;
	runs_apply_list(c->runs, result);
	c->dirty = true;
}

void console_ask_list(struct console *c)
{
	if (c->list_asked)
		return;
	c->list_wanted = false;
	c->list_at_ms = console_now_ms() + LIST_PAUSE_MS;
	c->list_asked = link_request(&c->link, "sandbox.list", "{}", on_list, "");
}

void console_ask_wanted(struct console *c, int64_t now_ms)
{
	if (c->list_wanted && !c->list_asked && c->list_at_ms <= now_ms)
		console_ask_list(c);
	console_step_tools(c, now_ms);
}

int console_due_ms(const struct console *c, int64_t now_ms)
{
	const int64_t at[2] = { c->list_wanted && !c->list_asked ? c->list_at_ms : -1,
		console_tools_due_ms(c) };
	int least = -1;

	for (int i = 0; i < 2 && c->link.fd >= 0; i++)
		if (at[i] >= 0 && (least < 0 || at[i] - now_ms < least))
			least = at[i] <= now_ms ? 0 : (int)(at[i] - now_ms);
	return least;
}

void console_event(void *owner, struct json_slice event)
{
	struct console *c = owner;
	uint64_t sequence = (uint64_t)json_int(json_get(event, "sequence"), 0);
	struct json_slice type = json_get(event, "type");
	struct run *run;

	if (sequence <= c->last_sequence)
		return;
	c->last_sequence = sequence;
	if (c->options->on_event)
		c->options->on_event(c->options->on_event_argument, event);
	c->dirty = true;
	log_add(c->log, event);
	c->newest_ns =
		json_get(event, "time").text ? json_time(json_get(event, "time")) : c->newest_ns;
	run = runs_apply(c->runs, event);
	console_tool_event(c, type, sequence > c->replayed);
	if (run && strcmp(run->id, c->detail.id) == 0)
		c->detail.stale = true;
	c->list_wanted |= json_is(type, "sandbox.queued") || json_is(type, "sandbox.started") ||
		json_is(type, "sandbox.executed") || json_is(type, "events.dropped");
}

static void on_program(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	struct run *run = runs_find(c->runs, about);

	(void)error;
	if (!run)
		return;
	run->answers++;
	if (result.text) {
		buffer_free(&run->shown);
		buffer_add(&run->shown, result.text, result.length);
	}
	if (strcmp(run->id, c->detail.id) == 0)
		c->detail.stale = true;
	c->dirty = true;
}

/* The user of the console is an operator. */
static bool name_run(char *params, size_t size, const char *id, bool ends)
{
	/* Ids are the daemon's, plain words; what is none is not sent. */
	return strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") ==
		strlen(id) &&
		snprintf(params, size, "{\"execution_id\":\"%s\"%s}", id,
			ends ? ",\"by\":\"operator\"" : "") < (int)size;
}

void console_ask_program(struct console *c, struct run *run)
{
	bool ended = !run_is_live(run);
	char params[RUN_ID_MAX + 32];

	if (run->asked && (run->asked_at_end || !ended))
		return;
	if (!name_run(params, sizeof params, run->id, false) ||
		!link_request(&c->link, "sandbox.show", params, on_program, run->id))
		return;
	run->asked = true;
	run->asked_at_end = ended;
}

static void on_control(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	if (!result.text)
		say_error(c, about, error);
	else
		console_say(c, STYLE_PLAIN, "%s: done", about);
}

void console_control_run(struct console *c, const char *method, const char *id)
{
	char params[RUN_ID_MAX + 64], about[LINK_ABOUT_MAX];

	snprintf(about, sizeof about, "%s %.6s",
		strchr(method, '.') ? strchr(method, '.') + 1 : method, id);
	if (!name_run(params, sizeof params, id, strcmp(method, "sandbox.kill") == 0) ||
		!link_request(&c->link, method, params, on_control, about))
		console_say(c, STYLE_DENY, "%s: there is no connection to the daemon", about);
}
