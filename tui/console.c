/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all views have in common: the way from one to the other, search, freezing, questions. See
 * console.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/console.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tui/draw/lines.h"
#include "tui/views/views.h"
#include "isolate/base/clock.h"

#define QUESTION_PAUSE_MS 300

const struct view *const views[VIEW_COUNT] = {
	[VIEW_RUNS] = &view_runs,
	[VIEW_EVENTS] = &view_events,
	[VIEW_OUTPUT] = &view_output,
	[VIEW_DETAIL] = &view_detail,
	[VIEW_RECORD] = &view_record,
	[VIEW_HELP] = &view_help,
	[VIEW_PENDING] = &view_pending,
	[VIEW_TOOLS] = &view_tools,
	[VIEW_TOOL] = &view_tool,
};

int64_t console_now_ms(void)
{
	return clock_now_us() / 1000;
}

int64_t console_wall_ns(const struct console *c)
{
	struct timespec now;

	if (c->options->script)
		return c->newest_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool console_new(struct console *c, const struct tui_options *options, struct buffer *answer)
{
	*c = (struct console){
		.options = options,
		.answer = answer,
		.link = { .fd = -1,
			.owner = c,
			.on_connected = console_connected,
			.on_event = console_event },
		.cells = CELLS_INIT,
		.stack = { VIEW_RUNS },
		.depth = 1,
		.dirty = true,
		.log = log_new(),
		.runs = runs_new(),
		.detail = { .head = LINES_INIT, .program = LINES_INIT, .tail = LINES_INIT },
		.tool = { .head = LINES_INIT, .source = LINES_INIT },
		.record = { .lines = LINES_INIT },
		.help = { .lines = LINES_INIT },
	};
	c->stream.list.follow = c->output.page.follow = true;
	c->output.page.cut = false;
	c->detail.stale = true;
	return c->log && c->runs;
}

void console_free(struct console *c)
{
	link_close(&c->link);
	log_free(c->log);
	runs_free(c->runs);
	cells_free(&c->cells);
	lines_free(&c->detail.head);
	lines_free(&c->detail.program);
	lines_free(&c->detail.tail);
	lines_free(&c->record.lines);
	lines_free(&c->help.lines);
	free(c->table.rows);
	tools_free(&c->tools);
	lines_free(&c->tool.head);
	lines_free(&c->tool.source);
	buffer_free(&c->tool.shown);
	buffer_free(&c->tool.history);
	free(c->decision.tools);
}

enum view_id console_view(const struct console *c)
{
	assert(c->depth > 0 && c->depth <= VIEW_COUNT);
	return c->stack[c->depth - 1];
}

void console_say(struct console *c, enum style style, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->message, sizeof c->message, format, args);
	va_end(args);
	c->message_style = style;
	c->dirty = true;
}

enum view_id console_base(const struct console *c)
{
	int at = c->depth - 1;

	while (!views[c->stack[at]]->name[0])
		at--;
	return c->stack[at];
}

struct run *console_run(struct console *c)
{
	int at = c->depth - 1;

	while (at > 0 && !views[c->stack[at]]->run)
		at--;
	return views[c->stack[at]]->run(c);
}

/* ---- from view to view ---- */

static void enter(struct console *c)
{
	enum view_id id = console_view(c);

	/* The stream stays as it was left as long as it is in sight, or below what is. */
	if (id != VIEW_EVENTS && id != VIEW_RECORD && id != VIEW_HELP && !c->frozen)
		log_protect(c->log, 0);
	if (views[id]->enter)
		views[id]->enter(c);
	c->dirty = true;
}

/* A console that watches one run has no libraries to show. */
bool console_has_view(const struct console *c, enum view_id id)
{
	return views[id]->name[0] &&
		!(c->options->request && (id == VIEW_PENDING || id == VIEW_TOOLS));
}

/* A view that lies on the way here already is gone back to: the way never has a circle. */
void console_open_view(struct console *c, enum view_id id)
{
	if (console_view(c) == id || (views[id]->name[0] && !console_has_view(c, id)))
		return;
	if (id == VIEW_OUTPUT || id == VIEW_DETAIL) {
		const struct run *run = console_run(c);

		snprintf(c->run_id, sizeof c->run_id, "%s", run ? run->id : "");
	}
	c->depth -= console_view(c) == VIEW_HELP;
	for (int at = 0; at < c->depth; at++)
		if (c->stack[at] == id)
			c->depth = at;
	c->stack[c->depth++] = id;
	c->found[0] = '\0';
	enter(c);
}

static void step_view(struct console *c, int step)
{
	int id = console_base(c);

	do
		id = (id + step + VIEW_COUNT) % VIEW_COUNT;
	while (!console_has_view(c, (enum view_id)id));
	console_open_view(c, (enum view_id)id);
}

static void end_watched(struct console *c, const char *text)
{
	struct run *run = runs_newest(c->runs);

	(void)text;
	c->leaving = true;
	if (run)
		console_control_run(c, "sandbox.kill", run->id);
	else
		c->quit = true;
}

static void leave(struct console *c)
{
	if (c->depth > 1) {
		c->depth--;
		c->dirty = true;
		return;
	}
	if (!c->options->request || c->answered) {
		c->quit = true;
		return;
	}
	screen_forget_keys();
	prompt_question(&c->prompt, "The program still runs. End it and leave? [y/N] ",
		console_now_ms() + QUESTION_PAUSE_MS, end_watched, NULL);
}

static void freeze(struct console *c)
{
	c->frozen = !c->frozen;
	c->frozen_events = log_next(c->log);
	log_fix(c->log);
	c->frozen_total = log_total(c->log);
	view_runs_refresh(c);
	if (views[VIEW_EVENTS]->enter)
		views[VIEW_EVENTS]->enter(c);
}

static void back(struct console *c)
{
	if (c->found[0])
		c->found[0] = '\0';
	else if (c->frozen)
		freeze(c);
	else if (c->depth > 1)
		c->depth--;
}

/* ---- search ---- */

static void search(struct console *c, int direction, bool from_here)
{
	const struct view *view = views[console_view(c)];

	if (c->found[0] && view->find && !view->find(c, c->found, direction, from_here))
		console_say(c, STYLE_WARN, "not found: %s", c->found);
}

static void search_typed(struct console *c, const char *text)
{
	snprintf(c->found, sizeof c->found, "%s", text);
	c->message[0] = '\0';
	search(c, 1, true);
}

static void search_done(struct console *c, const char *text)
{
	snprintf(c->found, sizeof c->found, "%s", text);
}

static void search_dropped(struct console *c, const char *text)
{
	(void)text;
	c->found[0] = '\0';
}

/* ---- runs ---- */

static void kill_run(struct console *c, const char *text)
{
	(void)text;
	console_control_run(c, "sandbox.kill", c->acted_id);
}

static void act_on_run(struct console *c, enum action action)
{
	struct run *run = console_run(c);
	char label[PROMPT_LABEL_MAX];

	if (!run || !run_is_live(run)) {
		console_say(c, STYLE_WARN,
			run ? "%.6s has ended already" : "there is no run at the cursor",
			run ? run->id : "");
		return;
	}
	if (action == ACTION_PAUSE) {
		console_control_run(
			c, run->state == RUN_PAUSED ? "sandbox.resume" : "sandbox.pause", run->id);
		return;
	}
	snprintf(c->acted_id, sizeof c->acted_id, "%s", run->id);
	snprintf(label, sizeof label, "End %.6s %s? [y/N] ", run->id, run_label(run));
	screen_forget_keys();
	prompt_question(&c->prompt, label, console_now_ms() + QUESTION_PAUSE_MS, kill_run, NULL);
}

static void toggle_scope(struct console *c)
{
	struct run *run = console_run(c);
	bool all = c->stream.subject[0] && console_view(c) == VIEW_EVENTS;

	if (!run && !all) {
		console_say(c, STYLE_WARN, "there is no run at the cursor");
		return;
	}
	view_events_scope(c, all ? "" : run->id);
	console_open_view(c, VIEW_EVENTS);
}

/* ---- actions ---- */

static void ask_path(struct console *c)
{
	static const char *const NAMES[VIEW_COUNT] = {
		[VIEW_EVENTS] = "cordon-events.ndjson",
		[VIEW_OUTPUT] = "cordon-output.txt",
		[VIEW_DETAIL] = "cordon-run.txt",
		[VIEW_RECORD] = "cordon-event.ndjson",
		[VIEW_TOOL] = "cordon-tool.txt",
	};
	const char *name = NAMES[console_view(c)];

	prompt_ask(&c->prompt, "write to new file: ", name ? name : "", files_write, NULL, NULL);
}

void console_act(struct console *c, enum action action)
{
	c->dirty = true;
	switch (action) {
	case ACTION_NONE:
		return;
	case ACTION_QUIT:
		leave(c);
		return;
	case ACTION_BACK:
		back(c);
		return;
	case ACTION_HELP:
		console_open_view(c, VIEW_HELP);
		return;
	case ACTION_VIEW_RUNS:
		console_open_view(c, VIEW_RUNS);
		return;
	case ACTION_VIEW_EVENTS:
		console_open_view(c, VIEW_EVENTS);
		return;
	case ACTION_VIEW_OUTPUT:
		console_open_view(c, VIEW_OUTPUT);
		return;
	case ACTION_VIEW_DETAIL:
		console_open_view(c, VIEW_DETAIL);
		return;
	case ACTION_VIEW_PENDING:
		console_open_view(c, VIEW_PENDING);
		return;
	case ACTION_VIEW_TOOLS:
		console_open_view(c, VIEW_TOOLS);
		return;
	case ACTION_NEXT_VIEW:
		step_view(c, 1);
		return;
	case ACTION_PREVIOUS_VIEW:
		step_view(c, -1);
		return;
	case ACTION_RUN_EVENTS:
		toggle_scope(c);
		return;
	case ACTION_SEARCH:
		prompt_ask(&c->prompt, "/", "", search_done, search_typed, search_dropped);
		return;
	case ACTION_SEARCH_NEXT:
		search(c, 1, false);
		return;
	case ACTION_SEARCH_PREVIOUS:
		search(c, -1, false);
		return;
	case ACTION_FREEZE:
		freeze(c);
		return;
	case ACTION_TIMES:
		c->relative = !c->relative;
		return;
	case ACTION_PAUSE:
	case ACTION_KILL:
		act_on_run(c, action);
		return;
	case ACTION_WRITE:
		ask_path(c);
		return;
	case ACTION_COMMAND:
		prompt_ask(&c->prompt, ":", "", command_run, NULL, NULL);
		return;
	case ACTION_SUSPEND:
		c->suspend = true;
		return;
	case ACTION_REDRAW:
		c->redraw = true;
		c->list_wanted = true;
		console_ask_tools(c);
		return;
	default:
		views[console_view(c)]->act(c, action, console_rows(c));
	}
}

void console_key(struct console *c, uint32_t key)
{
	c->dirty = true;
	if (c->cells.columns < COLUMNS_LEAST || c->cells.rows < ROWS_LEAST) {
		/*
		 * What cannot be seen is not acted on; leaving is always possible, where it needs
		 * no question.
		 */
		if ((key == 'q' || key == 3) && c->prompt.kind == PROMPT_NONE &&
			(c->depth > 1 || !c->options->request || c->answered))
			leave(c);
		return;
	}
	if (c->prompt.kind != PROMPT_NONE) {
		if (!console_shows_prompt(c) && key != KEYS_ESCAPE && key != 3)
			return;
		prompt_key(&c->prompt, c, key, console_now_ms());
		return;
	}
	c->message[0] = '\0';
	console_act(c, keys_action(key, views[console_view(c)]->where));
}

bool console_notice_loss(struct console *c)
{
	if (c->link.fd >= 0 || c->lost)
		return false;
	c->lost = c->was_lost = true;
	c->list_asked = c->tools_asked = false;
	if (c->link.path)
		console_say(c, STYLE_DENY, "The daemon is gone. Trying again until one answers.");
	return !c->link.path;
}
