/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One version of a tool, for the decision on it: what it is, what it may do and touched beside the
 * version promoted before, what changed in its code, its decisions and runs, and at the end its
 * source, whole.
 *
 * What it says of itself and what changed in its code are quoted, so that neither can pass for
 * anything else on the page. Lines are broken and never cut, hidden characters are written out, and
 * where anything is missing there is no approval. Reaching the end is noted for the version that
 * the source belongs to, and void when another version is shown.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "tui/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "isolate/base/text.h"
#include "tui/draw/lines.h"
#include "isolate/base/json_read.h"

#define TITLE_MOST 5

void view_tool_choose(struct console *c, const struct tool *t)
{
	c->tool.item = *t;
	buffer_free(&c->tool.shown);
	buffer_free(&c->tool.history);
	lines_clear(&c->tool.head);
	lines_clear(&c->tool.source);
	c->tool.source_of[0] = '\0';
	c->tool.page = (struct page){ .parts = { &c->tool.head, &c->tool.source } };
	c->tool.asked = c->tool.made = c->tool.complete = false;
	console_ask_tool(c);
	console_open_view(c, VIEW_TOOL);
}

static void heading(struct lines *out, const char *text)
{
	lines_print(out, STYLE_PLAIN, "%s", "");
	lines_print(out, STYLE_KEY, "%s", text);
}

static void add_facts(struct lines *out, const struct tool *t)
{
	char date[FORMAT_MAX];

	lines_print(out, STYLE_PLAIN, "tool      %s", t->name);
	lines_print(out, STYLE_PLAIN, "user      %s", t->user);
	lines_print(out, strcmp(t->state, "pending") == 0 ? STYLE_WARN : STYLE_PLAIN,
		"version   %" PRId64 ", %s", t->version, t->state);
	lines_print(out, STYLE_PLAIN, "hash      %s", t->hash);
	lines_print(out, STYLE_PLAIN, "policy    %s, after %" PRId64 " successful calls", t->policy,
		t->threshold);
	lines_print(out, t->failures ? STYLE_WARN : STYLE_PLAIN,
		"calls     %" PRId64 " succeeded, %" PRId64 " failed", t->successes, t->failures);
	if (t->due_ns)
		lines_print(out, STYLE_PLAIN, "waits     since %s", format_date(t->due_ns, date));
	if (t->decided_ns)
		lines_print(out, STYLE_PLAIN, "decided   %s by %s: %s",
			format_date(t->decided_ns, date), t->decided_by, t->reason);
}

static void add_side(struct lines *out, const char *label, struct json_slice value)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	json_visible(value, &text);
	lines_print(out, STYLE_PLAIN, "    %s %s", label, text.length ? text.data : "(nothing)");
}

/* Those that changed come first. */
static void add_capabilities(struct lines *out, struct json_slice shown)
{
	struct json_slice list = json_get(shown, "capabilities"), item;
	bool has_previous = !json_is_null(json_get(shown, "previous"));

	heading(out,
		has_previous ? "What it may do and touched, beside the version promoted before"
			     : "What it may do and touched (no version was promoted before)");
	for (int changed = 1; changed >= 0; changed--)
		for (size_t at = 0; json_item(list, &at, &item);) {
			struct buffer what = BUFFER_INIT;

			if (json_is_true(json_get(item, "changed")) != changed)
				continue;
			json_visible(json_get(item, "what"), &what);
			if (changed && has_previous) {
				lines_print(out, STYLE_DENY, "! %s: CHANGED",
					what.length ? what.data : "?");
				add_side(out, "before:", json_get(item, "before"));
				add_side(out, "now:   ", json_get(item, "after"));
			} else {
				struct buffer after = BUFFER_INIT;

				json_visible(json_get(item, "after"), &after);
				lines_print(out, STYLE_PLAIN, "  %s: %s",
					what.length ? what.data : "?",
					after.length ? after.data : "(nothing)");
				buffer_free(&after);
			}
			buffer_free(&what);
		}
}

static void add_description(struct lines *out, struct json_slice shown)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	json_decode(json_get(shown, "description"), &text);
	heading(out, "What it says of itself");
	out->quoting = true;
	lines_foreign(out, STYLE_PLAIN, text.length ? text.data : "(nothing)",
		text.length ? text.length : 9, 0);
	out->quoting = false;
}

static void add_diff(struct lines *out, struct json_slice shown)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	json_decode(json_get(shown, "diff"), &text);
	if (text.length > 0)
		heading(out, "What changed in its code");
	out->quoting = true;
	for (size_t at = 0; at < text.length;) {
		const char *newline = memchr(text.data + at, '\n', text.length - at);
		size_t length = newline ? (size_t)(newline - text.data) - at : text.length - at;
		char first = length > 0 ? text.data[at] : ' ';

		lines_foreign(out,
			first == '+'           ? STYLE_GOOD
				: first == '-' ? STYLE_DENY
				: first == '@' ? STYLE_KEY
					       : STYLE_PLAIN,
			length ? text.data + at : " ", length ? length : 1, 0);
		at += length + 1;
	}
	out->quoting = false;
}

static void add_decisions(struct console *c, struct lines *out)
{
	struct json_slice list = json_get(json_slice(c->tool.history.data, c->tool.history.length),
				  "history"),
			  item;
	bool any = false;

	for (size_t at = 0; json_item(list, &at, &item); any = true) {
		struct buffer text = BUFFER_INIT;
		char date[FORMAT_MAX];

		if (!any)
			heading(out, "Decisions");
		buffer_printf(&text, "  %s version %" PRId64 " ",
			format_date(json_time(json_get(item, "time")), date),
			json_int(json_get(item, "version"), 0));
		json_visible(json_get(item, "decision"), &text);
		buffer_add_text(&text, " by ");
		json_visible(json_get(item, "by"), &text);
		if (!json_is_null(json_get(item, "reason"))) {
			buffer_add_text(&text, ": ");
			json_visible(json_get(item, "reason"), &text);
		}
		lines_print(out, STYLE_PLAIN, "%s", text.length ? text.data : "");
		buffer_free(&text);
	}
}

static void add_runs(struct lines *out, struct json_slice shown)
{
	struct json_slice list = json_get(shown, "runs"), item;

	heading(out, "Runs, the newest first");
	for (size_t at = 0; json_item(list, &at, &item);) {
		struct buffer text = BUFFER_INIT;
		char date[FORMAT_MAX], time[FORMAT_MAX];
		bool success = json_is_true(json_get(item, "success"));

		buffer_printf(&text, "  %s %8s  %s",
			format_date(json_time(json_get(item, "time")), date),
			format_duration(json_int(json_get(item, "duration_ms"), 0), time),
			success ? "good" : "BAD  ");
		if (!json_is_null(json_get(item, "error")))
			json_visible(json_get(item, "error"), &text);
		lines_print(out, success ? STYLE_PLAIN : STYLE_DENY, "%s",
			text.length ? text.data : "");
		buffer_free(&text);
	}
}

/* Makes the source lines anew when the version has changed. */
static void make_source(struct console *c, const struct tool *t, struct json_slice shown)
{
	struct buffer text = BUFFER_INIT;

	if (strcmp(c->tool.source_of, t->key) == 0)
		return;
	snprintf(c->tool.source_of, sizeof c->tool.source_of, "%s", t->key);
	lines_clear(&c->tool.source);
	c->tool.page.saw_end = false;
	heading(&c->tool.source, "Source");
	c->tool.complete =
		json_decode(json_get(json_get(shown, "spec"), "implementation"), &text) &&
		!text.failed && text.length > 0;
	if (c->tool.complete)
		lines_foreign(&c->tool.source, STYLE_PLAIN, text.data, text.length, 1);
	else
		lines_print(&c->tool.source, STYLE_DENY,
			"(there is no source to be read: nothing can be approved)");
	lines_print(
		&c->tool.source, STYLE_FAINT, "-- end of the source, %zu bytes --", text.length);
	c->tool.complete &= !c->tool.source.failed;
	buffer_free(&text);
}

static void make(struct console *c)
{
	struct json_slice shown = { c->tool.shown.data, c->tool.shown.length };
	size_t before = lines_count(&c->tool.head);
	struct tool t;

	if (!shown.text || !tool_take(&t, shown))
		return;
	c->tool.made = true;
	c->tool.item = t;
	lines_clear(&c->tool.head);
	add_facts(&c->tool.head, &t);
	add_capabilities(&c->tool.head, shown);
	add_description(&c->tool.head, shown);
	add_diff(&c->tool.head, shown);
	add_decisions(c, &c->tool.head);
	add_runs(&c->tool.head, shown);
	if (before > 0 && c->tool.page.top >= before)
		c->tool.page.top += lines_count(&c->tool.head) - before;
	make_source(c, &t, shown);
	c->tool.complete &= !c->tool.head.failed;
}

/* The line above the page, over as many rows as it takes, and how many those are. */
static int title(struct console *c, int row, int rows)
{
	char text[500];
	int most = rows - 1 < TITLE_MOST ? rows - 1 : TITLE_MOST, used;

	snprintf(text, sizeof text, "TOOL %s version %" PRId64 " of %s, %s, %.12s",
		c->tool.item.name, c->tool.item.version, c->tool.item.user, c->tool.item.state,
		c->tool.item.hash);
	used = cells_rows(text, strlen(text), c->cells.columns - 2);
	used = used > most ? most : used;
	for (int i = 0; row >= 0 && i < used; i++)
		cells_paint(&c->cells, row + i, 0, c->cells.columns, STYLE_HEAD);
	if (row >= 0)
		cells_wrap(&c->cells, row, used, 1, c->cells.columns - 2, STYLE_HEAD, text,
			strlen(text));
	return used;
}

static void draw(struct console *c, int row, int rows)
{
	int used;

	if (!c->tool.made)
		make(c);
	used = title(c, row, rows);
	if (lines_count(&c->tool.source) == 0) {
		cells_text(&c->cells, row + used + (rows > used + 1), 2, c->cells.columns - 2,
			STYLE_FAINT,
			c->tool.asked ? "(asking the daemon)" : "(the daemon does not show it)");
		return;
	}
	page_draw(&c->tool.page, &c->cells, row + used, rows - used, c->found);
	if (c->tool.page.saw_end && c->tool.complete)
		tools_set_read(&c->tools, c->tool.source_of);
}

static bool act(struct console *c, enum action action, int rows)
{
	switch (action) {
	case ACTION_APPROVE:
		/* The decision must be about the version on the screen. */
		if (strcmp(c->tool.source_of, c->tool.item.key) == 0)
			decide_approve(c, &c->tool.item);
		return true;
	case ACTION_REJECT:
		decide_reject(c, &c->tool.item);
		return true;
	case ACTION_REVOKE:
		decide_revoke(c, &c->tool.item);
		return true;
	default:
		return page_move(
			&c->tool.page, action, rows - title(c, -1, rows), c->cells.columns);
	}
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	return page_find(&c->tool.page, text, direction, from_here);
}

static void status(struct console *c, struct buffer *out)
{
	char text[FORMAT_MAX];

	buffer_printf(out,
		tools_is_read(&c->tools, c->tool.item.key) ? "read to the end  "
							   : "not read to the end  ");
	buffer_printf(out, "%s", format_count(c->tool.page.top + 1, text));
	buffer_printf(out, "/%s", format_count(page_lines(&c->tool.page), text));
}

static struct run *newest(struct console *c)
{
	return view_tools_run(c, &c->tool.item);
}

const struct view view_tool = { IN_TOOL, "", NULL, draw, act, find, status, newest };
