/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions. See views.h. A question copies the versions that it is about, so a list that changes
 * meanwhile does not change what is decided.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "tui/views/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MS 500
#define HASH_TYPED 4
#define AT_ONCE_MOST 50
#define NAME_COLUMNS 32 /* of one name among several */
#define USER_COLUMNS 16

/* A question that is answered by typing c->decision.wanted. */
static void ask(struct console *c, const char *label, prompt_done *done)
{
	prompt_ask(&c->prompt, label, "", done, NULL, NULL);
	c->prompt.ready_at_ms = console_now_ms() + PAUSE_MS;
	c->dirty = true;
	screen_forget_keys();
}

static bool is_wanted(struct console *c, const char *text)
{
	if (strcmp(text, c->decision.wanted) == 0)
		return true;
	console_say(c, STYLE_WARN, "nothing was decided");
	return false;
}

static void keep(struct console *c, const struct tool *tools, size_t count)
{
	free(c->decision.tools);
	c->decision.tools = calloc(count + 1, sizeof *tools);
	c->decision.count = 0;
	for (size_t i = 0; c->decision.tools && i < count; i++)
		c->decision.tools[c->decision.count++] = tools[i];
}

/*
 * The marked ones, at most as many as a question can be about. Returns false, and says why, when
 * there are none.
 */
static bool keep_marked(struct console *c)
{
	const struct tool_list *list = &c->tools.pending;
	struct tool *marked = calloc(list->count + 1, sizeof *marked);
	size_t count = 0;

	for (size_t i = 0; marked && i < list->count; i++)
		if (list->at[i].marked)
			marked[count++] = list->at[i];
	if (count > 0 && count <= AT_ONCE_MOST)
		keep(c, marked, count);
	else
		console_say(c, STYLE_WARN,
			count ? "at most %d at once" : "nothing is marked: m marks", AT_ONCE_MOST);
	free(marked);
	return count > 0 && count <= AT_ONCE_MOST;
}

/*
 * Lists the names of all; long ones are cut in the middle, and the hash tells them apart.
 */
static void name_them(const struct console *c, struct buffer *out)
{
	char name[sizeof c->decision.tools->name + 2], user[sizeof c->decision.tools->user + 2];

	for (size_t i = 0; i < c->decision.count; i++) {
		const struct tool *t = &c->decision.tools[i];

		buffer_printf(out, "%s%s v%" PRId64 " of %s (%.8s)", i ? ", " : "",
			cells_middle(name, sizeof name, t->name, NAME_COLUMNS), t->version,
			cells_middle(user, sizeof user, t->user, USER_COLUMNS), t->hash);
	}
}

/*
 * Asks about the kept versions: the text before, their names, the text after. Asks nothing when
 * these do not fit on the screen: a decision needs its whole question in view.
 */
static void ask_about_all(
	struct console *c, const char *before, const char *after, prompt_done *done)
{
	_cleanup_buffer_ struct buffer label = BUFFER_INIT;

	buffer_add_text(&label, before);
	name_them(c, &label);
	buffer_add_text(&label, after);
	if (!label.failed && label.length < PROMPT_LABEL_MAX)
		ask(c, label.data, done);
	if (label.failed || label.length >= PROMPT_LABEL_MAX || !console_shows_prompt(c)) {
		c->prompt.kind = PROMPT_NONE;
		console_say(c, STYLE_WARN,
			"the names of %zu do not fit on this screen: mark fewer, or make it larger",
			c->decision.count);
	}
}

static void decide_all(struct console *c, const char *method, const char *reason)
{
	console_begin_decisions(c);
	for (size_t i = 0; i < c->decision.count; i++)
		console_decide(c, method, &c->decision.tools[i], reason);
}

/* ---- approval ---- */

static void on_approval(struct console *c, const char *text)
{
	if (is_wanted(c, text))
		decide_all(c, "tool.promote", "approved on the console");
}

static bool is_ready(struct console *c, const struct tool *tool)
{
	if (strcmp(tool->state, "pending") != 0)
		console_say(c, STYLE_WARN, "%s version %d is %s: there is nothing to approve",
			tool->name, (int)tool->version, tool->state);
	else if (!tools_is_read(&c->tools, tool->key))
		console_say(c, STYLE_WARN, "%s: read its source to the end first", tool->name);
	else
		return true;
	return false;
}

void decide_approve(struct console *c, const struct tool *tool)
{
	char label[400];

	if (tool) {
		if (!is_ready(c, tool))
			return;
		keep(c, tool, 1);
		snprintf(c->decision.wanted, sizeof c->decision.wanted, "%.*s", HASH_TYPED,
			tool->hash);
		snprintf(label, sizeof label,
			"Approve %s v%d? Type the first %d signs of its hash %.12s: ", tool->name,
			(int)tool->version, HASH_TYPED, tool->hash);
		ask(c, label, on_approval);
		return;
	}
	if (!keep_marked(c))
		return;
	for (size_t i = 0; i < c->decision.count; i++)
		if (!is_ready(c, &c->decision.tools[i]))
			return;
	snprintf(c->decision.wanted, sizeof c->decision.wanted, "%zu", c->decision.count);
	ask_about_all(c, "Approve all of ", "? Type how many they are: ", on_approval);
}

/* ---- rejection ---- */

static void on_rejection(struct console *c, const char *text)
{
	if (is_wanted(c, text))
		decide_all(c, "tool.reject", c->decision.reason);
}

static void on_reason(struct console *c, const char *text)
{
	if (!text[strspn(text, " ")]) {
		console_say(c, STYLE_WARN, "nothing was decided: a rejection needs its reason");
		return;
	}
	snprintf(c->decision.reason, sizeof c->decision.reason, "%s", text);
	if (c->decision.count == 1) {
		decide_all(c, "tool.reject", c->decision.reason);
		return;
	}
	snprintf(c->decision.wanted, sizeof c->decision.wanted, "%zu", c->decision.count);
	ask_about_all(c, "Reject all of ", "? Type how many they are: ", on_rejection);
}

void decide_reject(struct console *c, const struct tool *tool)
{
	char label[400];

	if (tool)
		keep(c, tool, 1);
	else if (!keep_marked(c))
		return;
	for (size_t i = 0; i < c->decision.count; i++)
		if (strcmp(c->decision.tools[i].state, "pending") != 0 &&
			strcmp(c->decision.tools[i].state, "trial") != 0) {
			console_say(c, STYLE_WARN,
				"%s version %d is %s: there is nothing to reject; v takes a "
				"decision back",
				c->decision.tools[i].name, (int)c->decision.tools[i].version,
				c->decision.tools[i].state);
			return;
		}
	snprintf(label, sizeof label, "Why is %s rejected? ", c->decision.tools[0].name);
	if (c->decision.count == 1)
		ask(c, label, on_reason);
	else
		ask_about_all(c, "Why are they rejected: ", "? ", on_reason);
}

/* ---- revoking ---- */

static void on_revocation(struct console *c, const char *text)
{
	(void)text;
	decide_all(c, "tool.revoke", "revoked on the console");
}

void decide_revoke(struct console *c, const struct tool *tool)
{
	char label[400];

	if (strcmp(tool->state, "promoted") != 0 && strcmp(tool->state, "rejected") != 0) {
		console_say(c, STYLE_WARN, "%s version %d is %s: there is no decision to take back",
			tool->name, (int)tool->version, tool->state);
		return;
	}
	keep(c, tool, 1);
	snprintf(label, sizeof label, "Take back that %s v%d (%.8s) was %s? [y/N] ", tool->name,
		(int)tool->version, tool->hash, tool->state);
	prompt_question(&c->prompt, label, console_now_ms() + PAUSE_MS, on_revocation, NULL);
	c->dirty = true;
	screen_forget_keys();
}
