/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier subprocess: a process with resource limits, a system call filter, no_new_privs, a clean
 * environment and descriptors, and a working directory that goes with it. For hosts without user
 * namespaces. It hides no files and no processes: it bounds accidents, and the record says so.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/execution.h"
#include "isolate/tiers/tier.h"

static const struct isolation ISOLATION = { .has_namespaces = false, .has_own_root = false };

static int execute(const struct options *options, const struct program *program,
	const struct streams *streams, unsigned flags, struct record *record, struct error *err)
{
	record->tier = tier_subprocess.name;
	if (options->ro_count > 0)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--ro shows a path at a place of its own, and the tier subprocess shows "
			"the host's files as they are");
	return execution_run(&ISOLATION, options, program, streams, flags, record, err);
}

static int probe(struct error *err)
{
	return execution_probe(&ISOLATION, err);
}

const struct tier tier_subprocess = {
	.name = "subprocess",
	.level = 1,
	.summary =
		"a process with limits and a system call filter; hides neither files nor processes",
	.probe = probe,
	.execute = execute,
};
