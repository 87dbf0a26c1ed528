/* SPDX-License-Identifier: Apache-2.0 */
/* What a program finds in its environment. */
#ifndef CORDON_ISOLATE_SANDBOX_ENVIRONMENT_H
#define CORDON_ISOLATE_SANDBOX_ENVIRONMENT_H

#include "isolate/wire/init_plan.h"
#include "isolate/options/options.h"

/*
 * Adds the environment to a plan: PATH, HOME, LANG, TMPDIR, the kind of the terminal with --tty, and what was named (--inherit-env, --env). Nothing else of the
 * caller's. Returns 0, or -1 with RESOURCES_EXHAUSTED.
 */
int environment_add(struct plan_builder *b, const struct options *o, const char *home, const char *temporary, struct error *err);

#endif
