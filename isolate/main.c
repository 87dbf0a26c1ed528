/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: finds the command and hands over.
 *
 * Whatever state a caller starts a program in, descriptors 0 to 2 are open from here on (a file that is opened must never become "standard error"), and child
 * processes can be waited for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/commands/answer.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/commands/signals.h"
#include "isolate/service/worker.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} COMMANDS[] = {
	{ "run", command_run },
	{ "exec", command_exec },
	{ "validate", command_validate },
	{ "serve", command_serve },
	{ "events", command_events },
	{ "tool", command_tool },
	{ "doctor", command_doctor },
	{ "help", command_help },
};

/* What was closed stays useless: reading finds the end, and writing fails, so that an answer that nobody can get is not taken for one that was given. */
static int open_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	if (open_standard_descriptors() < 0)
		return EXIT_FAILED;
	signals_reset();
	/* How the daemon starts the process of an execution; of no use to anybody else. */
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return worker_main();
	if (argc < 2) {
		fprintf(stderr, "cordon: a command is needed. Try `cordon --help`.\n");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_overview();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
		if (strcmp(argv[1], COMMANDS[i].name) == 0)
			return COMMANDS[i].main(argc - 1, argv + 1);
	fprintf(stderr, "cordon: there is no command \"%.60s\". Try `cordon --help`.\n", argv[1]);
	return EXIT_USAGE;
}
