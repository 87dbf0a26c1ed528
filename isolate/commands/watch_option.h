/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --watch: one run on the console, without a daemon.
 *
 * `cordon` writes down what was asked for and executes cordon-operate in its own place, which has
 * the console. That starts a daemon of its own, for one client, on a socket pair: so a run that is
 * watched goes the same way as one through the daemon, and the console knows of no other.
 */
#ifndef CORDON_ISOLATE_COMMANDS_WATCH_OPTION_H
#define CORDON_ISOLATE_COMMANDS_WATCH_OPTION_H

#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

/* Where cordon-operate finds what was asked for. */
#define WATCH_REQUEST 3

/*
 * Executes cordon-operate; returns the exit status when that failed. One bit of command_set; name
 * is the command's.
 */
int watch_execute(const char *name, enum command_set set, const struct options *options,
	const struct program *program);

/* cordon-operate's part. Returns the exit status: the program's, as the command gives it. */
int watching_main(void);

#endif
