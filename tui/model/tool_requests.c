/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about tools, and events of decisions.
 *
 * An event of a tool makes the console ask for the lists anew, so two consoles show the same; so
 * does opening one of their views, since a command without the daemon may have changed the library.
 * One request at a time, at most two a second, and after a slow answer fewer, however fast events
 * come. A long answer is read in slices, between which keys are answered. A decision goes out with
 * the hash that was shown; the daemon refuses it when the library has another one by then, and the
 * console shows that one.
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

#define ASK_PAUSE_MS 500
#define ASK_SHARE 4 /* times as long as an answer took, nothing is asked */
#define USER_COLUMNS 24
#define SLICE (256u << 10) /* bytes of a list that are taken at once */
#define BELL_PAUSE_MS 2000 /* a flood rings once */

void console_error_text(struct json_slice error, struct buffer *out)
{
	struct json_slice failure = json_get(json_get(error, "data"), "failure");

	if (!error.text) {
		buffer_add_text(out, "the daemon is gone");
	} else if (json_get(failure, "tried").text) {
		/* The short name first: it is what must not be cut. */
		json_visible(json_get(failure, "code"), out);
		buffer_add_text(out, ": ");
		json_visible(json_get(failure, "tried"), out);
	} else {
		json_visible(json_get(error, "message"), out);
	}
}

/* The libraries that cannot be read, in one line: what is listed is not all there is. */
static void notice_broken(struct tool_list *list, struct json_slice broken)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT, user = BUFFER_INIT;
	struct json_slice item;
	char shown[USER_COLUMNS * 8];
	size_t count = 0;

	list->notice[0] = '\0';
	for (size_t at = 0; json_item(broken, &at, &item); count++) {
		buffer_add_text(&text, count ? "; " : "");
		user.length = 0;
		json_visible(json_get(item, "user"), &user);
		/* Which one and how it is broken stand before what cannot have room. */
		buffer_add_text(&text,
			cells_middle(
				shown, sizeof shown, user.length ? user.data : "?", USER_COLUMNS));
		buffer_add_text(&text, ": ");
		json_visible(json_get(item, "code"), &text);
		buffer_add_text(&text, ": ");
		json_visible(json_get(item, "error"), &text);
	}
	if (count)
		snprintf(list->notice, sizeof list->notice, "%zu %s cannot be read: %s", count,
			count == 1 ? "library" : "libraries", text.length ? text.data : "");
}

static void on_items(struct console *c, struct tool_list *list, struct json_slice items,
	struct json_slice result, struct json_slice error)
{
	struct buffer text = BUFFER_INIT;

	c->tools_asked = false;
	c->tools_took_ms = console_now_ms() - c->tools_begun_ms;
	c->dirty = true;
	if (items.text) {
		notice_broken(list, json_get(result, "broken"));
		tools_begin(&c->tools, list, items);
		return;
	}
	if (!error.text)
		return;
	console_error_text(error, &text);
	snprintf(list->notice, sizeof list->notice, "The daemon gives no list: %s",
		text.length ? text.data : "");
	list->known = true;
	buffer_free(&text);
}

static void on_pending(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)about;
	on_items(c, &c->tools.pending, json_get(result, "pending"), result, error);
}

static void on_current(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)about;
	on_items(c, &c->tools.current, json_get(result, "tools"), result, error);
}

void console_ask_tools(struct console *c)
{
	/* A console that watches one run has no libraries to show. */
	if (c->options->request)
		return;
	c->pending_wanted = true;
	/* The view Tools asks for it when it is opened. */
	c->current_wanted |= console_base(c) == VIEW_TOOLS || !c->tools.current.known;
}

static bool is_wanted(const struct console *c)
{
	return (c->pending_wanted || c->current_wanted) && !c->tools_asked &&
		!tools_is_taking(&c->tools);
}

/* A script waits for no answer. */
static int64_t ask_at(const struct console *c)
{
	int64_t pause = c->tools_took_ms * ASK_SHARE > ASK_PAUSE_MS ? c->tools_took_ms * ASK_SHARE
								    : ASK_PAUSE_MS;

	return c->options->script   ? 0
		: c->tools_begun_ms ? c->tools_begun_ms + c->tools_took_ms + pause
				    : 0;
}

static void ask_tools(struct console *c, int64_t now_ms)
{
	bool current = c->current_wanted && (!c->pending_wanted || console_base(c) == VIEW_TOOLS);
	bool *wanted = current ? &c->current_wanted : &c->pending_wanted;

	c->tools_begun_ms = now_ms;
	c->tools_took_ms = 0;
	c->tools_asked = link_request(&c->link, current ? "tool.list" : "tool.pending",
		"{\"user\":\"*\"}", current ? on_current : on_pending, "");
	*wanted = !c->tools_asked;
}

static int64_t show_at(const struct console *c)
{
	return console_view(c) != VIEW_TOOL || !c->tool.stale || c->tool.asked ? -1
		: c->options->script                                           ? 0
				     : c->tool.asked_ms + ASK_PAUSE_MS;
}

void console_step_tools(struct console *c, int64_t now_ms)
{
	if (show_at(c) >= 0 && show_at(c) <= now_ms)
		console_ask_tool(c);
	if (tools_is_taking(&c->tools)) {
		if (tools_step(&c->tools, SLICE)) {
			c->dirty = true;
			c->tools_took_ms = now_ms - c->tools_begun_ms;
		}
	} else if (is_wanted(c) && ask_at(c) <= now_ms) {
		ask_tools(c, now_ms);
	}
}

int64_t console_tools_due_ms(const struct console *c)
{
	int64_t lists = tools_is_taking(&c->tools) ? 0
		: is_wanted(c)                     ? ask_at(c)
						   : -1,
		one = show_at(c);

	return lists < 0 || (one >= 0 && one < lists) ? one : lists;
}

bool console_has_tools(const struct console *c)
{
	return show_at(c) < 0 && !c->tools_asked && !c->pending_wanted && !c->current_wanted &&
		!tools_is_taking(&c->tools);
}

void console_tool_event(struct console *c, struct json_slice type, bool is_new)
{
	char name[40] = "";

	if (!json_copy(type, name, sizeof name) || strncmp(name, "tool.", 5) != 0)
		return;
	console_ask_tools(c);
	c->tool.stale = true;
	/* What is replayed rang when it happened. */
	if (is_new && strcmp(name, "tool.promotion_pending") == 0 && c->has_screen &&
		!c->options->quiet && console_now_ms() - c->rang_ms > BELL_PAUSE_MS) {
		c->rang_ms = console_now_ms();
		screen_bell();
	}
}

/* ---- one tool ---- */

static void on_shown(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	struct buffer text = BUFFER_INIT;

	/* An answer for another than the one that is looked at by now. */
	if (strcmp(about, c->tool.about) != 0)
		return;
	c->tool.asked = false;
	c->dirty = true;
	if (result.text) {
		buffer_free(&c->tool.shown);
		buffer_add(&c->tool.shown, result.text, result.length);
		c->tool.made = false;
		return;
	}
	console_error_text(error, &text);
	console_say(c, STYLE_DENY, "%s: %s", c->tool.item.name, text.length ? text.data : "");
	buffer_free(&text);
}

static void on_history(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)error;
	if (strcmp(about, c->tool.about) != 0 || !result.text)
		return;
	buffer_free(&c->tool.history);
	buffer_add(&c->tool.history, result.text, result.length);
	c->tool.made = false;
	c->dirty = true;
}

void console_ask_tool(struct console *c)
{
	char params[TOOL_KEY_MAX + 8], *hash;

	if (c->tool.asked)
		return;
	c->tool.stale = false;
	c->tool.asked_ms = console_now_ms();
	snprintf(c->tool.about, sizeof c->tool.about, "%u", ++c->tool.number);
	snprintf(params, sizeof params, "{%s}", c->tool.item.key);
	c->tool.asked = link_request(&c->link, "tool.show", params, on_shown, c->tool.about);
	/* Its history is that of the name. */
	hash = strstr(params, ",\"hash\":");
	if (hash) {
		snprintf(hash, 2, "}");
		link_request(&c->link, "tool.history", params, on_history, c->tool.about);
	}
}

/* ---- decisions ---- */

/* What came of one, or of all so far: a refusal is not lost behind what was done after it. */
static void say_outcome(struct console *c, const char *about, const char *outcome, bool good)
{
	size_t used = strlen(c->decision.outcomes);

	c->decision.done += good;
	c->decision.refused += !good;
	if (!good)
		snprintf(c->decision.outcomes + used, sizeof c->decision.outcomes - used,
			"%s%s: %s", used ? "; " : ": ", about, outcome);
	if (c->decision.asked == 1)
		console_say(c, good ? STYLE_GOOD : STYLE_DENY, "%s: %s%s", about,
			good ? "" : "not done: ", outcome);
	else
		console_say(c, c->decision.refused ? STYLE_DENY : STYLE_GOOD,
			"%zu of %zu done, %zu not done%s", c->decision.done, c->decision.asked,
			c->decision.refused, c->decision.outcomes);
}

static void on_decided(
	void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	console_ask_tools(c);
	c->tool.stale = true;
	if (result.text)
		json_visible(json_get(result, "state"), &text);
	else
		console_error_text(error, &text);
	say_outcome(c, about, text.length ? text.data : "", result.text != NULL);
}

void console_begin_decisions(struct console *c)
{
	c->decision.asked = c->decision.done = c->decision.refused = 0;
	c->decision.outcomes[0] = '\0';
}

void console_decide(
	struct console *c, const char *method, const struct tool *tool, const char *reason)
{
	_cleanup_buffer_ struct buffer params = BUFFER_INIT;
	char about[LINK_ABOUT_MAX];
	struct json_writer w;

	c->decision.asked++;
	snprintf(about, sizeof about, "%s %s version %" PRId64, strchr(method, '.') + 1, tool->name,
		tool->version);
	buffer_printf(&params, "{%s,\"reason\":", tool->key);
	json_begin(&w, &params);
	json_string(&w, reason);
	buffer_add_text(&params, "}");
	if (params.failed || !link_request(&c->link, method, params.data, on_decided, about))
		say_outcome(c, about,
			"there is no connection to the daemon, or too much is asked at once",
			false);
}
