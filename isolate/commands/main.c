/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: finds the command and hands over.
 *
 * What runs code is here. What watches over it (the daemon and what belongs to an operator) is a
 * program of its own, cordon-operate, which needs libraries that a run should not have to load: it
 * is executed in our place, with the same words.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/base/locate.h"
#include "isolate/base/trace.h"

static const struct command_entry COMMANDS[] = {
	{ "run", command_run },
	{ "exec", command_exec },
	{ "validate", command_validate },
	{ "events", command_events },
	{ "doctor", command_doctor },
	{ "help", command_help },
	{ NULL, NULL },
};

static const char *const OPERATE[] = { "serve", "console", "tool" };

static int operate(char **argv)
{
	struct error err = ERROR_INIT;
	char path[PATH_MAX];

	if (locate(OWN_OPERATE, path, sizeof path, &err) == 0) {
		execv(path, argv);
		error_set(&err, FAILURE_HELPER_MISSING, errno, "executing %s", path);
	}
	return answer_failure(argv[1], &err, false);
}

int main(int argc, char **argv)
{
	const struct command_entry *command;

	if (start("cordon") < 0)
		return EXIT_FAILED;
	if (argc < 2) {
		fprintf(stderr, "cordon: a command is needed. Try `cordon --help`.\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_overview();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	trace("commands", "cordon %s, %d words", argv[1], argc - 1);
	command = start_find(COMMANDS, argv[1]);
	if (command)
		return command->main(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof OPERATE / sizeof *OPERATE; i++)
		if (strcmp(argv[1], OPERATE[i]) == 0)
			return operate(argv);
	fprintf(stderr, "cordon: there is no command \"%.60s\". Try `cordon --help`.\n", argv[1]);
	return EXIT_USAGE;
}
