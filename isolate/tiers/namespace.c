/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier namespace: user, mount, PID, network, IPC, UTS and cgroup namespaces that an ordinary user
 * can make, a root of its own, no capabilities, a system call filter. Does not stop an attack on
 * the kernel that every process of the host shares.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/execution.h"
#include "isolate/tiers/tier.h"

static const struct isolation ISOLATION = { .has_namespaces = true, .has_own_root = true };

static int probe(struct error *err)
{
	return execution_probe(&ISOLATION, err);
}

static int execute(const struct options *options, const struct program *program,
	const struct streams *streams, unsigned flags, struct record *record, struct error *err)
{
	record->tier = tier_namespace.name;
	return execution_run(&ISOLATION, options, program, streams, flags, record, err);
}

const struct tier tier_namespace = {
	.name = "namespace",
	.level = 2,
	.summary = "namespaces that an ordinary user can make, an own root, no capabilities, a "
		   "system call filter",
	.probe = probe,
	.execute = execute,
};
