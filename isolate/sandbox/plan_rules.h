/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a view as the caller gave them, on their way into the server's configuration. */
#ifndef CORDON_ISOLATE_SANDBOX_PLAN_RULES_H
#define CORDON_ISOLATE_SANDBOX_PLAN_RULES_H

#include "isolate/wire/init_plan.h"
#include "isolate/base/error.h"
#include "isolate/options/options.h"

/*
 * Adds the patterns of --hide and the stand-ins of --mask to config. rows: the binds of the plan b, by which a rule is refused that could never hold because it is about
 * what is shown as a bind. 0, or -1 with BAD_OPTION.
 */
int plan_rules_add(const struct options *o, const struct plan_bind *rows, size_t count, const struct plan_builder *b, struct plan_builder *config, struct error *err);

#endif
