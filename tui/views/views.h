/* SPDX-License-Identifier: Apache-2.0 */
/* The views, and what they offer each other. */
#ifndef CORDON_TUI_VIEWS_VIEWS_H
#define CORDON_TUI_VIEWS_VIEWS_H

#include "tui/model/console.h"

extern const struct view view_runs, view_events, view_output, view_detail, view_record, view_help,
	view_pending, view_tools, view_tool;

/* Events: those of one execution alone, or "" for all. */
void view_events_scope(struct console *c, const char *subject);

/* Events: the run that the event of a serial is of, or NULL. */
struct run *view_events_run(struct console *c, uint64_t serial);

/* Runs: the picture is held still, or goes on. */
void view_runs_refresh(struct console *c);

/* Runs: sorts by a column of that name. Returns false when there is none. */
bool view_runs_sort(struct console *c, const char *name);

/* The list that is shown, of the two lists of tools. */
struct tool_table *view_tools_table(struct console *c);

/* The newest run of a version of a tool that is known here, or NULL. */
struct run *view_tools_run(struct console *c, const struct tool *t);

/* Opens one version. */
void view_tool_choose(struct console *c, const struct tool *t);

/* A JSON value as lines: one member a line, what is within it further in. */
void view_json(struct lines *out, struct json_slice value, const char *name, int depth);

/*
 * Decisions about tools: the questions that come before them.
 *
 * An approval takes two steps, the second of which cannot be typed by chance: the beginning of the
 * hash that is on the screen, or for several the count of them. It is possible only for what was
 * read to its end, here, in the version that it is about. A question names all that it is about,
 * and is not asked where that has no room. Keys that were typed before a question was there, or
 * within half a second of it, do nothing, and whatever else is answered is a no.
 */

/* Each asks about one version, or with NULL about those that are marked. */
void decide_approve(struct console *c, const struct tool *tool);
void decide_reject(struct console *c, const struct tool *tool);

/* Takes the last decision on a version back. */
void decide_revoke(struct console *c, const struct tool *tool);

#endif
