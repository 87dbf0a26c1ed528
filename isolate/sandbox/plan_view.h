/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a plan that is about the view: which trees go through it, and the configuration of
 * its server.
 */
#ifndef CORDON_ISOLATE_SANDBOX_PLAN_VIEW_H
#define CORDON_ISOLATE_SANDBOX_PLAN_VIEW_H

#include "isolate/base/error.h"
#include "isolate/options/options.h"
#include "isolate/sandbox/plan_build.h"
#include "isolate/wire/init_plan.h"

/* Refuses options of the view that the tier or the mode cannot keep. 0, or -1 with BAD_OPTION. */
int plan_view_check(const struct sandbox_request *in, struct error *err);

/*
 * To be called when every bind is in the plan; those that were named carry PLAN_BIND_VIEW. Puts the
 * binds in an order in which none covers another, numbers those that go through the view, and makes
 * the server's configuration, out->view_config, and the room for the mount, out->view_index, where
 * there are any. Says in c and unlogged what came of it. 0 or -1.
 */
int plan_view(const struct sandbox_request *in, struct plan_builder *b, struct sandbox_plan *out,
	struct confinement *c, struct view_summary *summary, struct error *err);

#endif
