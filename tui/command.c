/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of ":": the name of an action, or one of a few words with something behind it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/model/console.h"
#include "tui/views/views.h"

static void do_filter(struct console *c, const char *text)
{
	/* As if it were typed where filters are. */
	console_act(c, ACTION_FILTER);
	if (c->prompt.kind == PROMPT_TEXT && c->prompt.done) {
		prompt_done *done = c->prompt.done;

		c->prompt.kind = PROMPT_NONE;
		done(c, text);
	}
}

static void do_sort(struct console *c, const char *text)
{
	if (!view_runs_sort(c, text))
		console_say(c, STYLE_WARN, "the table has no column \"%.60s\" to sort by", text);
}

static void do_theme(struct console *c, const char *text)
{
	static const struct {
		const char *name;
		enum theme theme;
	} THEMES[] = { { "dark", THEME_DARK }, { "light", THEME_LIGHT }, { "mono", THEME_MONO } };

	for (size_t i = 0; i < sizeof THEMES / sizeof *THEMES; i++)
		if (strcmp(text, THEMES[i].name) == 0) {
			if (c->has_screen)
				screen_theme(THEMES[i].theme);
			return;
		}
	console_say(c, STYLE_WARN, "themes are dark, light and mono");
}

static void do_save_display(struct console *c, const char *text)
{
	console_draw(c);
	files_save_display(c, text);
}

static void do_search(struct console *c, const char *text)
{
	snprintf(c->found, sizeof c->found, "%s", text);
	console_act(c, ACTION_SEARCH_NEXT);
}

static void do_leave(struct console *c, const char *text)
{
	(void)text;
	c->depth = 1;
	console_act(c, ACTION_QUIT);
}

static const struct {
	const char *name;
	bool takes_text;
	void (*run)(struct console *c, const char *text);
} COMMANDS[] = {
	{ "filter", true, do_filter },
	{ "sort", true, do_sort },
	{ "theme", true, do_theme },
	{ "write", true, files_write },
	{ "save-display", true, do_save_display },
	{ "search", true, do_search },
	{ "q", false, do_leave },
	{ "quit", false, do_leave },
};

static void go_to_row(struct console *c, const char *text)
{
	long row = strtol(text, NULL, 10);

	console_act(c, ACTION_FIRST);
	for (long i = 1; i < row && i < 100000; i++)
		views[console_view(c)]->act(c, ACTION_DOWN, console_rows(c));
}

void command_run(struct console *c, const char *text)
{
	const char *rest;
	size_t length;
	enum action action;

	c->dirty = true;
	text += strspn(text, " ");
	length = strcspn(text, " ");
	rest = text + length + strspn(text + length, " ");
	if (length == 0)
		return;
	if (strspn(text, "0123456789") == length) {
		go_to_row(c, text);
		return;
	}
	for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
		if (strlen(COMMANDS[i].name) != length ||
			memcmp(COMMANDS[i].name, text, length) != 0)
			continue;
		if (!COMMANDS[i].takes_text || *rest || COMMANDS[i].run == do_filter) {
			COMMANDS[i].run(c, rest);
			return;
		}
	}
	action = keys_named(text, length, views[console_view(c)]->where);
	if (action != ACTION_NONE && !*rest)
		console_act(c, action);
	else
		console_say(c, STYLE_WARN,
			"there is no command \"%.*s\" here; ? lists the keys and their names",
			(int)(length < 60 ? length : 60), text);
}
