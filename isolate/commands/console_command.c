/* SPDX-License-Identifier: Apache-2.0 */
/* cordon console: the options become a structure; what it does is in tui/. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/console_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/options/options.h"
#include "isolate/daemon/control_socket.h"

int console_theme(const char *name, enum theme *theme, struct error *err)
{
	static const struct {
		const char *name;
		enum theme theme;
	} THEMES[] = {
		{ "", THEME_AUTO },
		{ "dark", THEME_DARK },
		{ "light", THEME_LIGHT },
		{ "mono", THEME_MONO },
	};

	for (size_t i = 0; i < sizeof THEMES / sizeof *THEMES; i++)
		if (strcmp(name ? name : "", THEMES[i].name) == 0) {
			*theme = THEMES[i].theme;
			return 0;
		}
	return error_set(err, FAILURE_BAD_OPTION, 0, "--theme: themes are dark, light and mono");
}

static int read_size(const char *text, struct tui_options *t, struct error *err)
{
	char rest;

	if (sscanf(text, "%4dx%4d%c", &t->columns, &t->rows, &rest) == 2 && t->columns >= 1 &&
		t->columns <= CELLS_COLUMNS_MAX && t->rows >= 1 && t->rows <= CELLS_ROWS_MAX)
		return 0;
	return error_set(err, FAILURE_BAD_OPTION, 0,
		"--size: columns and rows are wanted, such as 80x24, at most %dx%d",
		CELLS_COLUMNS_MAX, CELLS_ROWS_MAX);
}

static int show(const struct options *o)
{
	struct tui_options t = { .socket = o->socket_path,
		.fd = -1,
		.plain = o->plain,
		.script = o->script_file,
		.quiet = o->quiet };
	struct buffer answer = BUFFER_INIT;
	struct error err = ERROR_INIT;
	char path[PATH_MAX];
	int status;

	if (console_theme(o->theme, &t.theme, &err) < 0 || read_size(o->size, &t, &err) < 0)
		return answer_usage("console", &err, false);
	if (!t.socket && socket_default_path(path, sizeof path))
		t.socket = path;
	if (!t.socket)
		status = error_set(&err, FAILURE_DAEMON_MISSING, 0,
			"there is no place to look for the control socket: set XDG_RUNTIME_DIR or "
			"give --socket");
	else
		status = tui_run(&t, &answer, &err);
	buffer_free(&answer);
	if (status == 0)
		return EXIT_OK;
	return err.code == FAILURE_BAD_OPTION ? answer_usage("console", &err, false)
					      : answer_failure("console", &err, false);
}

int command_console(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct options options;
	bool help = false;
	int at, status;

	options_init(&options, FOR_CONSOLE);
	at = options_parse(&options, FOR_CONSOLE, argc, argv, &help, &err);
	if (!help && at >= 0 && at < argc)
		at = error_set(&err, FAILURE_BAD_OPTION, 0, "console takes no words, only options");
	if (help)
		status = print_command_help(FOR_CONSOLE);
	else
		status = at < 0 ? answer_usage("console", &err, false) : show(&options);
	options_free(&options);
	return status;
}
