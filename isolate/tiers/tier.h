/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tier: one backend behind the Sandbox protocol.
 *
 * A tier is a constant table of functions, listed in tiers.c. The rest of cordon knows a tier by
 * nothing but this table.
 */
#ifndef CORDON_ISOLATE_TIERS_TIER_H
#define CORDON_ISOLATE_TIERS_TIER_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/wire/execution_request.h"

struct tier {
	const char *name;
	unsigned level;      /* 0 to 3, as in the design */
	const char *summary; /* one sentence */
	/*
	 * Tries whether this host can have the tier, by doing it. 0, or -1 with the failure that
	 * `cordon run` would end with.
	 */
	int (*probe)(struct error *err);
	/*
	 * Runs one program to its end. Fills record (record_init was called). Returns 0 with a
	 * record whatever the program did, or -1 with a failure of cordon's own. Thread-safe.
	 */
	int (*execute)(const struct options *options, const struct program *program,
		const struct streams *streams, unsigned flags, struct record *record,
		struct error *err);
};

/*
 * The tier of a name, or NULL with TIER_UNAVAILABLE, which lists those that exist. Lives as long as
 * the process.
 */
const struct tier *tier_find(const char *name, struct error *err);

/* The tiers of this build, for listings. */
const struct tier *const *tier_list(size_t *count);

extern const struct tier tier_namespace, tier_subprocess;

#endif
