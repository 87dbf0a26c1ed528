/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what was named may be shown.
 *
 * A secret is shown when it was named exactly, and that is a matter of what was typed: its own path. A link that leads to it may have been put there by whoever wants it
 * to be seen, so a path that reaches a secret by a link, symbolic or hard, is a failure that says so; what the caller hides is not shown through a link in any case.
 */
#ifndef CORDON_FS_VIEW_NAMED_H
#define CORDON_FS_VIEW_NAMED_H

#include "fs/view/view_config.h"
#include "fs/view/view.h"

/* Judges the named trees of a view that has them, its rules and its anchors. paths: of the trees, without links. 0, or -1 with BAD_OPTION. */
int named_check(struct view *v, const struct plan *p, char *const *paths, struct error *err);

#endif
