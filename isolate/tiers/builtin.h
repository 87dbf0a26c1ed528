/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers of this build. */
#ifndef CORDON_ISOLATE_TIERS_BUILTIN_H
#define CORDON_ISOLATE_TIERS_BUILTIN_H

#include "isolate/tiers/tier.h"

extern const struct tier tier_namespace;
extern const struct tier tier_subprocess;

#endif
