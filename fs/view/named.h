/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what was named may be shown.
 *
 * A secret is shown when it was named exactly, and that is a matter of what was typed: its own
 * path. A link that leads to it may have been put there by an attacker who wants it to be seen, so
 * a path that reaches a secret by a link, symbolic or hard, is a failure that says so; what the
 * caller hides is not shown through a link in any case.
 */
#ifndef CORDON_FS_VIEW_NAMED_H
#define CORDON_FS_VIEW_NAMED_H

#include "fs/view/view.h"
#include "fs/view/view_config.h"
#include "isolate/base/error.h"

/*
 * Judges the named trees of a view that has them, its rules and its anchors. paths: of the trees,
 * without links. 0, or -1 with BAD_OPTION.
 */
int named_check(
	struct view *v, const struct view_config *config, char *const *paths, struct error *err);

/*
 * Whether each stand-in (--mask) can stand in for something.
 *
 * One that would never be seen is a failure that says why, since the user relies on it: a path that
 * lies in nothing that is shown, in no directory, is a directory itself, has another stand-in
 * already, or is named to be shown as it is.
 */

/* Judges the stand-ins of a view that has its trees and rules. 0, or -1 with BAD_OPTION. */
int masked_check(const struct view *v, struct error *err);

/*
 * Where what is hidden lies outside the named trees, and where a hidden name is a link.
 *
 * A rule's objects are looked for where its path is written out but for the last component:
 * `/srv/keys/x` and `/srv/keys/x*` there, one for any depth in the caller's home, in the named
 * directories (paths and not patterns) and in the directories that those lie in. What is found is
 * known from then on by its identity; a directory is an anchor of the walk for hard links. Where a
 * name is a symbolic link, or lies behind one, the place that it leads to becomes a rule that
 * counts as the first: so `~/.gnupg -> dot/gnupg` hides `~/dot/gnupg`, too (not in a project, see
 * is_link_of_project()), and a stand-in for a name that is a link hides what that led to.
 */

/*
 * Looks for all rules of v->policy. home: the caller's, "" for none. all: what is found in the
 * named trees becomes an anchor, too, because the server will not see all that the caller sees. 0,
 * or -1 without memory.
 */
int anchors_find(struct view *v, const char *home, bool all);

#endif
