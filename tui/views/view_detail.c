/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detail: one run in full. Plots of CPU and memory at the top, below them a page: what is known of
 * it, its program, its limits, what holds it, its record.
 *
 * The program does not change and may be long, so its lines are made once; the rest is made anew
 * when an event of the run came.
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

#define PLOT_ROWS 3
#define PLOT_LABEL 18

static void add_member(struct lines *out, const char *name, const struct buffer *json)
{
	struct json_slice key, value, object = { json->data, json->length };

	if (json->length == 0)
		return;
	lines_print(out, STYLE_PLAIN, "%s", "");
	lines_print(out, STYLE_KEY, "%s", name);
	for (size_t at = 0; json_next(object, &at, &key, &value);) {
		char text[120];

		if (json_key_is(key, "confinement"))
			continue; /* under its own heading */
		view_json(out, value,
			text_visible_into(text, sizeof text, key.text, key.length, TEXT_ONE_LINE),
			1);
	}
}

static struct json_slice record_of(const struct run *run)
{
	return json_get(json_slice(run->shown.data, run->shown.length), "record");
}

static bool has_record(const struct run *run)
{
	return !json_is_null(record_of(run));
}

/* The confinement in short: from the record, or from the newest event that has it. */
static void add_confinement(struct lines *out, const struct run *run)
{
	static const struct {
		const char *label, *name;
	} PARTS[] = { { "seccomp ", "seccomp" }, { ", files ", "view" },
		{ ", network ", "network" }, { ", memory ", "cgroup_or_watchdog" },
		{ "; namespaces ", "namespaces" } };
	struct json_slice held = has_record(run)
		? json_get(record_of(run), "confinement")
		: json_slice(run->confinement.data, run->confinement.length);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	for (size_t i = 0; held.text && i < sizeof PARTS / sizeof *PARTS; i++) {
		struct json_slice value = json_get(held, PARTS[i].name), item;

		if (json_is_null(value))
			continue;
		buffer_add_text(&text,
			text.length ? PARTS[i].label
				    : PARTS[i].label + strspn(PARTS[i].label, ",; "));
		if (json_kind(value) != JSON_ARRAY)
			json_visible(value, &text);
		for (size_t at = 0, count = 0; json_item(value, &at, &item); count++) {
			buffer_add(&text, ",", count > 0);
			json_visible(item, &text);
		}
	}
	if (text.length)
		lines_print(out, STYLE_PLAIN, "%s%s",
			run->is_confined || has_record(run) ? "held by   " : "so far    ",
			text.data);
}

static void add_facts(struct lines *out, const struct run *run)
{
	const char *why = run_state_why(run);
	char state[32], text[FORMAT_MAX], cpu[FORMAT_MAX], use[FORMAT_MAX];

	lines_print(out, STYLE_PLAIN, "run       %s", run->id);
	lines_print(out, STYLE_PLAIN, "program   %s%s%s", run->program,
		run->command[0] || run->name[0] ? " " : "",
		run->command[0] ? run->command : run->name);
	lines_print(out, run_style(run), "state     %s%s%s", run_state_text(run, state),
		*why ? ": " : "", why);
	if (run->error[0])
		lines_print(out, STYLE_DENY, "error     %s", run->error);
	if (run->failure[0])
		lines_print(out, STYLE_DENY, "failure   %s", run->failure);
	if (run->started_ns)
		lines_print(out, STYLE_PLAIN, "%s%s",
			run->state == RUN_WAITS ? "queued    " : "started   ",
			format_date(run->started_ns, text));
	if (run->state == RUN_ENDED)
		lines_print(out, STYLE_PLAIN,
			"took      %s; %s of CPU time, at most %s of memory and %" PRId64
			" processes",
			format_duration(run->duration_ms, text), format_duration(run->cpu_ms, cpu),
			format_bytes(run->memory_top, use), run->processes);
	else if (run_left_ms(run) >= 0)
		lines_print(
			out, STYLE_PLAIN, "left      %s", format_duration(run_left_ms(run), text));
	if (run->tier[0])
		lines_print(out, STYLE_PLAIN, "tier      %s", run->tier);
	add_confinement(out, run);
	if (run->policy[0])
		lines_print(out, STYLE_PLAIN, "policy    %s", run->policy);
	lines_print(out, run->denied ? STYLE_DENY : STYLE_PLAIN,
		"files     %" PRIu64 " opened; %" PRIu64 " times something was refused",
		run->opened, run->denied);
	lines_print(out, STYLE_PLAIN, "events    %" PRIu64, run->events);
}

/* The confinement stands first, under a heading of its own. */
static void add_record(struct lines *out, const struct run *run)
{
	struct json_slice record = record_of(run);
	struct json_slice parts[] = { json_get(record, "confinement"), record };
	static const char *const NAMES[] = { "Confinement in force", "Record" };

	for (size_t i = 0; has_record(run) && i < 2; i++) {
		struct buffer text = BUFFER_INIT;

		buffer_add(&text, parts[i].text, parts[i].length);
		add_member(out, NAMES[i], &text);
		buffer_free(&text);
	}
}

/* The program's text with line numbers, or its command, a word a line. */
static void make_program(struct console *c, const struct run *run)
{
	struct json_slice shown = { run->shown.data, run->shown.length },
			  program = json_get(shown, "program"), words = json_get(program, "argv"),
			  word;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	lines_clear(&c->detail.program);
	lines_print(&c->detail.program, STYLE_PLAIN, "%s", "");
	lines_print(&c->detail.program, STYLE_KEY, "Program");
	if (json_get_bytes(program, "text", &text)) {
		lines_foreign(&c->detail.program, STYLE_PLAIN, text.length ? text.data : "",
			text.length, 1);
		if (text.length == 0)
			lines_print(&c->detail.program, STYLE_WARN, "(an empty program)");
	}
	for (size_t at = 0; json_item(words, &at, &word);) {
		text.length = 0;
		json_visible(word, &text);
		lines_print(
			&c->detail.program, STYLE_PLAIN, "  %s", text.length ? text.data : "\"\"");
	}
	if (!run->shown.length)
		lines_print(&c->detail.program, STYLE_FAINT,
			run->answers ? "(the daemon does not remember it)" : "(asking the daemon)");
}

static void make(struct console *c, struct run *run)
{
	size_t before = lines_count(&c->detail.head);

	lines_clear(&c->detail.head);
	lines_clear(&c->detail.tail);
	add_facts(&c->detail.head, run);
	add_member(&c->detail.tail, "Limits", &run->limits);
	if (!has_record(run))
		add_member(&c->detail.tail,
			run->is_confined ? "Confinement in force"
					 : "Confinement, as far as it is set up",
			&run->confinement);
	add_member(&c->detail.tail, "Files", &run->files);
	add_record(&c->detail.tail, run);
	if (lines_count(&c->detail.program) == 0 || c->detail.program_of != run->answers) {
		make_program(c, run);
		c->detail.program_of = run->answers;
	}
	/* The cursor stays in the program when rows are added above it. */
	if (before > 0 && c->detail.page.top >= before)
		c->detail.page.top += lines_count(&c->detail.head) - before;
	c->detail.stale = false;
}

static struct run *at_cursor(struct console *c)
{
	return runs_find(c->runs, c->run_id);
}

static struct run *chosen(struct console *c)
{
	struct run *run = at_cursor(c);

	if (strcmp(c->detail.id, c->run_id) != 0) {
		snprintf(c->detail.id, sizeof c->detail.id, "%s", c->run_id);
		lines_clear(&c->detail.head);
		lines_clear(&c->detail.program);
		lines_clear(&c->detail.tail);
		c->detail.page = (struct page){ .parts = { &c->detail.head, &c->detail.program,
							&c->detail.tail },
			.cut = c->detail.page.cut };
		c->detail.stale = true;
	}
	if (run && c->detail.stale && (!c->frozen || lines_count(&c->detail.head) == 0)) {
		console_ask_program(c, run);
		make(c, run);
	}
	return run;
}

/* Copies title and plots, which are no lines, so that a frozen picture keeps them. */
static void take(struct console *c, const struct run *run)
{
	char use[FORMAT_MAX], top[FORMAT_MAX];

	snprintf(c->detail.title, sizeof c->detail.title, "DETAIL of %.6s %s", run->id, run->name);
	c->detail.cpu = run->cpu;
	c->detail.use = run->use;
	snprintf(c->detail.now[0], sizeof c->detail.now[0], "%.0f%%, top %.0f%%", run->cpu_percent,
		run->cpu.top);
	snprintf(c->detail.now[1], sizeof c->detail.now[1], "%s, top %s",
		format_bytes(run->memory, use), format_bytes(run->memory_top, top));
}

static void draw_plot(struct console *c, int row, const char *title, const char *now,
	const struct series *s, double full)
{
	cells_text(&c->cells, row, 1, PLOT_LABEL - 1, STYLE_KEY, title);
	cells_text(&c->cells, row + 1, 1, PLOT_LABEL - 1, STYLE_PLAIN, now);
	series_draw(
		s, &c->cells, row, PLOT_LABEL, PLOT_ROWS, c->cells.columns - PLOT_LABEL - 1, full);
}

static void draw(struct console *c, int row, int rows)
{
	bool is_new = strcmp(c->detail.id, c->run_id) != 0;
	struct run *run = chosen(c);

	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	if (!run) {
		cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, "DETAIL");
		cells_text(&c->cells, row + 2, 2, c->cells.columns - 2, STYLE_FAINT,
			"No run is chosen.");
		return;
	}
	if (!c->frozen || is_new)
		take(c, run);
	cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, c->detail.title);
	c->detail.plots = c->detail.cpu.count > 0 && rows >= 14 ? 2 * PLOT_ROWS : 0;
	if (c->detail.plots) {
		draw_plot(c, row + 1, "CPU", c->detail.now[0], &c->detail.cpu, 100);
		draw_plot(c, row + 1 + PLOT_ROWS, "MEMORY", c->detail.now[1], &c->detail.use, 0);
	}
	page_draw(&c->detail.page, &c->cells, row + 1 + c->detail.plots, rows - 1 - c->detail.plots,
		c->found);
}

static bool act(struct console *c, enum action action, int rows)
{
	chosen(c);
	return page_move(&c->detail.page, action, rows - 1 - c->detail.plots, c->cells.columns);
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	chosen(c);
	return page_find(&c->detail.page, text, direction, from_here);
}

static void status(struct console *c, struct buffer *out)
{
	char text[FORMAT_MAX];

	buffer_printf(out, "%s", format_count(c->detail.page.top + 1, text));
	buffer_printf(out, "/%s", format_count(page_lines(&c->detail.page), text));
}

const struct view view_detail = { IN_DETAIL, "Detail", NULL, draw, act, find, status, at_cursor };
