/* SPDX-License-Identifier: Apache-2.0 */
/* cordon-operate: the commands of those who watch over what runs. `cordon COMMAND` executes it; see main.c. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/start.h"
#include "isolate/commands/watch_option.h"
#include "isolate/daemon/worker.h"

static const struct command_entry COMMANDS[] = {
	{ "serve", command_serve },
	{ "console", command_console },
	{ "tool", command_tool },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const struct command_entry *command = argc > 1 ? start_find(COMMANDS, argv[1]) : NULL;

	if (start(argc > 1 && strcmp(argv[1], "serve") == 0 ? "daemon" : argc > 1 ? argv[1] : "operate") < 0)
		return EXIT_FAILED;
	/* How the daemon starts the process of an execution; of no use to anybody else. */
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return worker_main();
	if (argc == 2 && strcmp(argv[1], "watch") == 0)
		return watching_main();
	if (command)
		return command->main(argc - 1, argv + 1);
	fprintf(stderr, "cordon-operate: this is a part of cordon, which executes it itself. Try `cordon --help`.\n");
	return EXIT_USAGE;
}
