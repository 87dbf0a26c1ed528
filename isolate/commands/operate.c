/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon-operate: the daemon and the commands of an operator. `cordon COMMAND` executes it; see
 * main.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/watch_option.h"
#include "isolate/daemon/audit.h"
#include "isolate/daemon/control_socket.h"
#include "isolate/daemon/daemon.h"
#include "isolate/daemon/worker.h"
#include "isolate/options/options.h"

static const struct command_entry COMMANDS[] = {
	{ "serve", command_serve },
	{ "console", command_console },
	{ "tool", command_tool },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const struct command_entry *command = argc > 1 ? start_find(COMMANDS, argv[1]) : NULL;

	if (start(argc > 1 && strcmp(argv[1], "serve") == 0 ? "daemon"
			    : argc > 1                      ? argv[1]
							    : "operate") < 0)
		return EXIT_FAILED;
	/*
	 * Internal: how the daemon starts the supervisor of an execution, and `cordon --watch` its
	 * console.
	 */
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return worker_main();
	if (argc == 2 && strcmp(argv[1], "watch") == 0)
		return watching_main();
	if (command)
		return command->main(argc - 1, argv + 1);
	fprintf(stderr,
		"cordon-operate: this is a part of cordon, which executes it itself. Try `cordon "
		"--help`.\n");
	return EXIT_USAGE;
}

/* ---- serve ---- */

/*
 * cordon serve: the daemon in the foreground. What it does is in isolate/service/; here its options
 * become a structure.
 */

static int serve(const struct options *o)
{
	char socket_path[PATH_MAX], audit_path[PATH_MAX];
	struct server_options server = {
		.socket = o->socket_path,
		.audit = o->audit_file,
		.audit_size = (uint64_t)o->audit_bytes,
		.audit_keep = (unsigned)o->audit_keep,
		.jobs = (unsigned)o->jobs,
		.queue = (unsigned)o->queue,
		.connections = (unsigned)o->connections,
	};
	struct error err = ERROR_INIT;

	server.policy = o->policy ? promotion_policy_of(o->policy) : POLICY_THRESHOLD;
	server.threshold = o->threshold;
	if (!server.socket && socket_default_path(socket_path, sizeof socket_path))
		server.socket = socket_path;
	if (!server.audit && audit_default_path(audit_path, sizeof audit_path))
		server.audit = audit_path;
	if (!server.audit)
		error_set(&err, FAILURE_PATH_MISSING, 0,
			"there is no place for the audit log: set XDG_STATE_HOME or HOME, or give "
			"--audit");
	else if (server_run(&server, &err) == 0)
		return EXIT_OK;
	return answer_failure("serve", &err, false);
}

int command_serve(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct options options;
	bool help = false;
	int at, status;

	options_init(&options, FOR_SERVE);
	at = options_parse(&options, FOR_SERVE, argc, argv, &help, &err);
	if (!help && at >= 0 && at < argc)
		at = error_set(&err, FAILURE_BAD_OPTION, 0, "serve takes no words, only options");
	if (!help && at >= 0 && options.policy &&
		promotion_policy_of(options.policy) == POLICY_COUNT)
		at = error_set(&err, FAILURE_BAD_OPTION, 0,
			"--policy %.60s: must be threshold, eager or operator_approval",
			options.policy);
	if (help)
		status = print_command_help(FOR_SERVE);
	else
		status = at < 0 ? answer_usage("serve", &err, false) : serve(&options);
	options_free(&options);
	return status;
}
