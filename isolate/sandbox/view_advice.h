/* SPDX-License-Identifier: Apache-2.0 */
/* Which option would have let through what a view refused. */
#ifndef CORDON_ISOLATE_SANDBOX_VIEW_ADVICE_H
#define CORDON_ISOLATE_SANDBOX_VIEW_ADVICE_H

#include "fs/view/view_policy.h"
#include "isolate/options/options.h"
#include "isolate/wire/record.h"

/*
 * Says it of each refusal of a summary ("--ro PATH", in a shell's words), where one option alone does: for a hidden file the one that names it, for a write the --scratch that shows its directory,
 * in place of the --ro that showed it. The policy is the one that refused. Without memory nothing is said.
 */
void view_allow(struct view_summary *summary, const struct options *options, const struct policy *policy);

#endif
