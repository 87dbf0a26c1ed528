/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where what is hidden lies outside the named trees, and where a hidden name is a link.
 *
 * A rule's objects are looked for where its path is written out but for the last component: `/srv/keys/x` and `/srv/keys/x*` there, one for any depth in the caller's
 * home, in the named directories (paths and not patterns) and in the directories that those lie in. What is found is known from then on by its identity; a directory is
 * an anchor of the walk for hard links. Where a name is a symbolic link, or lies behind one, the place that it leads to becomes a rule that counts as the first: so
 * `~/.gnupg -> dot/gnupg` hides `~/dot/gnupg`, too (not in a project, see is_link_of_project()), and a stand-in for a name that is a link hides what that led to.
 */
#ifndef CORDON_FS_VIEW_ANCHORS_H
#define CORDON_FS_VIEW_ANCHORS_H

#include "fs/view/view.h"

/*
 * Looks for all rules of v->policy. home: the caller's, "" for none. all: what is found in the named trees becomes an anchor, too, because the server will not see all that
 * the caller sees. 0, or -1 without memory.
 */
int anchors_find(struct view *v, const char *home, bool all);

#endif
