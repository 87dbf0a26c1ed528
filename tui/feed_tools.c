/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about tools, and what is told of decisions.
 *
 * The lists are asked for anew whenever an event of a tool came, from whichever console or command it was caused: so two consoles show the same. A decision goes out with the hash that was
 * shown; when the library has something else by then the daemon refuses it, and what it has is shown instead.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>

#include "isolate/text.h"
#include "tui/console.h"
#include "tui/value.h"

#define ASK_PAUSE_MS 200
#define BELL_PAUSE_MS 2000 /* a flood rings once */

void feed_error(struct json_slice error, struct buffer *out)
{
	struct json_slice failure = value_of(value_of(error, "data"), "failure");

	if (!error.text) {
		buffer_add_text(out, "the daemon is gone");
	} else if (value_of(failure, "tried").text) {
		/* The short name first: it is what must not be cut. */
		value_shown(value_of(failure, "code"), out);
		buffer_add_text(out, ": ");
		value_shown(value_of(failure, "tried"), out);
	} else {
		value_shown(value_of(error, "message"), out);
	}
}

static void on_items(struct console *c, struct tool_list *list, struct json_slice items, struct json_slice error)
{
	struct buffer text = BUFFER_INIT;

	c->dirty = true;
	if (items.text) {
		c->tools.problem[0] = '\0';
		tools_take(list, items);
		return;
	}
	if (!error.text)
		return;
	feed_error(error, &text);
	snprintf(c->tools.problem, sizeof c->tools.problem, "%s", text.length ? text.data : "");
	buffer_free(&text);
}

static void on_pending(void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)about;
	c->tools_asked = false;
	on_items(c, &c->tools.pending, value_of(result, "pending"), error);
}

static void on_current(void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;

	(void)about;
	on_items(c, &c->tools.current, value_of(result, "tools"), error);
}

void feed_ask_tools(struct console *c)
{
	if (c->tools_asked)
		return;
	c->tools_wanted = false;
	c->tools_at_ms = console_now_ms() + ASK_PAUSE_MS;
	if (c->options->request)
		return;
	c->tools_asked = link_request(&c->link, "tool.pending", "{\"user\":\"*\"}", on_pending, "");
	link_request(&c->link, "tool.list", "{\"user\":\"*\"}", on_current, "");
}

void feed_tool_event(struct console *c, struct json_slice type, bool is_news)
{
	char name[40] = "";

	if (!json_slice_copy(type, name, sizeof name) || strncmp(name, "tool.", 5) != 0)
		return;
	c->tools_wanted = true;
	c->tool.stale = true;
	/* What is replayed rang when it happened. */
	if (is_news && strcmp(name, "tool.promotion_pending") == 0 && c->has_screen && !c->options->quiet && console_now_ms() - c->rang_ms > BELL_PAUSE_MS) {
		c->rang_ms = console_now_ms();
		screen_bell();
	}
}

/* ---- one tool ---- */

static void on_shown(void *owner, const char *about, struct json_slice result, struct json_slice error)
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
	feed_error(error, &text);
	console_say(c, STYLE_DENY, "%s: %s", c->tool.item.name, text.length ? text.data : "");
	buffer_free(&text);
}

static void on_history(void *owner, const char *about, struct json_slice result, struct json_slice error)
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

void feed_ask_tool(struct console *c)
{
	char params[TOOL_KEY_MAX + 8], *hash;

	if (c->tool.asked)
		return;
	c->tool.stale = false;
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

static void on_decided(void *owner, const char *about, struct json_slice result, struct json_slice error)
{
	struct console *c = owner;
	struct buffer text = BUFFER_INIT;

	c->tools_wanted = true;
	c->tool.stale = true;
	if (result.text) {
		value_shown(value_of(result, "state"), &text);
		console_say(c, STYLE_GOOD, "%s: %s", about, text.length ? text.data : "done");
	} else {
		feed_error(error, &text);
		console_say(c, STYLE_DENY, "%s: not done: %s", about, text.length ? text.data : "");
	}
	buffer_free(&text);
}

void feed_decide(struct console *c, const char *method, const struct tool *tool, const char *reason)
{
	struct buffer params = BUFFER_INIT;
	char about[LINK_ABOUT_MAX];
	struct json_writer w;

	snprintf(about, sizeof about, "%s %.60s version %d", strchr(method, '.') + 1, tool->name, (int)tool->version);
	buffer_printf(&params, "{%s,\"reason\":", tool->key);
	json_begin(&w, &params);
	json_string(&w, reason);
	buffer_add_text(&params, "}");
	if (params.failed || !link_request(&c->link, method, params.data, on_decided, about))
		console_say(c, STYLE_DENY, "%s: not done: there is no connection to the daemon, or too much is asked at once", about);
	buffer_free(&params);
}
