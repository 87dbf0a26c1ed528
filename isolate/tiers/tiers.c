/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of tiers. See tier.h.
 *
 * A name that is not in the build is looked for as a shared object in the directory of tiers ($CORDON_TIERDIR, the caller's own word like PATH, or where the
 * installation has it), by its plain name only, so that no option can name a path.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tiers/tier.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_write.h"
#include "isolate/tiers/builtin.h"

#ifndef TIERDIR
#define TIERDIR "/usr/local/lib/cordon/tiers"
#endif

static const struct tier *const TIERS[] = { &tier_namespace, &tier_subprocess };
#define TIER_COUNT (sizeof TIERS / sizeof *TIERS)

const struct tier *const *tier_list(size_t *count)
{
	*count = TIER_COUNT;
	return TIERS;
}

static const struct tier *load(const char *name, struct error *err)
{
	const char *named = getenv("CORDON_TIERDIR");
	const struct tier *tier = NULL;
	char path[512];
	void *object;

	snprintf(path, sizeof path, "%.400s/tier-%.64s.so", named && named[0] == '/' ? named : TIERDIR, name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (object)
		tier = dlsym(object, "cordon_tier");
	if (tier && tier->interface == TIER_INTERFACE && strcmp(tier->name, name) == 0)
		return tier; /* stays loaded: the table lives as long as the process */
	if (object)
		dlclose(object);
	error_set(err, FAILURE_TIER_UNAVAILABLE, 0, "there is no tier \"%s\": this build has namespace and subprocess, and %s is %s", name, path,
		  object ? "made for another cordon" : "not there");
	return NULL;
}

const struct tier *tier_find(const char *name, struct error *err)
{
	for (size_t i = 0; i < TIER_COUNT; i++)
		if (strcmp(TIERS[i]->name, name) == 0)
			return TIERS[i];
	if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name)) {
		error_set(err, FAILURE_TIER_UNAVAILABLE, 0, "\"%s\" cannot be the name of a tier: this build has namespace and subprocess", name);
		return NULL;
	}
	return load(name, err);
}
