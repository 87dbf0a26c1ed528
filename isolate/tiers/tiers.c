/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tiers. See tier.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tiers/tier.h"

#include <string.h>

static const struct tier *const TIERS[] = { &tier_namespace, &tier_subprocess };
#define TIER_COUNT (sizeof TIERS / sizeof *TIERS)

const struct tier *const *tier_list(size_t *count)
{
	*count = TIER_COUNT;
	return TIERS;
}

const struct tier *tier_find(const char *name, struct error *err)
{
	for (size_t i = 0; i < TIER_COUNT; i++)
		if (strcmp(TIERS[i]->name, name) == 0)
			return TIERS[i];
	error_set(err, FAILURE_TIER_UNAVAILABLE, 0,
		"there is no tier \"%s\": this build has namespace and subprocess", name);
	return NULL;
}
