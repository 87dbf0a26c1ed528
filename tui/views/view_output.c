/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output: what one run wrote to its two streams, in the order in which it came; standard error has
 * another style, and a bar in front.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/views/views.h"

#include <stdio.h>
#include <string.h>

#include "tui/draw/lines.h"

static struct run *chosen(struct console *c)
{
	struct run *run = runs_find(c->runs, c->run_id);

	if (strcmp(c->output.id, c->run_id) != 0) {
		snprintf(c->output.id, sizeof c->output.id, "%s", c->run_id);
		c->output.page.top = c->output.page.piece = 0;
		c->output.page.left = 0;
		c->output.title[0] = '\0';
		c->output.page.follow = true;
		c->output.frozen_lines = 0;
	}
	c->output.page.parts[0] = run ? &run->output : NULL;
	return run;
}

static void draw(struct console *c, int row, int rows)
{
	struct run *run = chosen(c);
	struct lines held;
	char state[32];

	cells_paint(&c->cells, row, 0, c->cells.columns, STYLE_HEAD);
	if (!run) {
		cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, "OUTPUT");
		cells_text(&c->cells, row + 2, 2, c->cells.columns - 2, STYLE_FAINT,
			"No run is chosen.");
		return;
	}
	if (!c->frozen || !c->output.title[0])
		snprintf(c->output.title, sizeof c->output.title, "OUTPUT of %.6s %s, %s", run->id,
			run->name, run_state_text(run, state));
	cells_text(&c->cells, row, 1, c->cells.columns - 1, STYLE_HEAD, c->output.title);
	if (lines_count(&run->output) == 0)
		cells_text(&c->cells, row + 2, 2, c->cells.columns - 2, STYLE_FAINT,
			run_is_live(run) ? "Nothing was written yet." : "Nothing was written.");
	/* Frozen: the lines up to then, as a shorter list of the same lines. */
	if (c->frozen) {
		uint64_t end = run->output.dropped + lines_count(&run->output);

		if (c->output.frozen_lines == 0 || c->output.frozen_lines > end)
			c->output.frozen_lines = end;
		held = run->output;
		held.end -= (size_t)(end - c->output.frozen_lines) > lines_count(&held)
			? lines_count(&held)
			: (size_t)(end - c->output.frozen_lines);
		c->output.page.parts[0] = &held;
	} else {
		c->output.frozen_lines = 0;
	}
	page_draw(&c->output.page, &c->cells, row + 1, rows - 1, c->found);
	c->output.page.parts[0] = &run->output;
}

static bool act(struct console *c, enum action action, int rows)
{
	chosen(c);
	return page_move(&c->output.page, action, rows - 1, c->cells.columns);
}

static bool find(struct console *c, const char *text, int direction, bool from_here)
{
	chosen(c);
	return page_find(&c->output.page, text, direction, from_here);
}

static void status(struct console *c, struct buffer *out)
{
	struct run *run = chosen(c);
	char text[FORMAT_MAX];

	if (!run)
		return;
	if (!c->output.page.follow && !c->frozen)
		buffer_printf(out, "PAUSED  ");
	if (run->output.dropped)
		buffer_printf(
			out, "%s older lines are gone  ", format_count(run->output.dropped, text));
	buffer_printf(out, "%s lines", format_count(page_lines(&c->output.page), text));
}

const struct view view_output = { IN_OUTPUT, "Output", NULL, draw, act, find, status, chosen };
