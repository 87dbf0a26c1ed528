/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the view server: a sealed memory file with the layout of a plan
 * (isolate/wire/init_plan.h), whose parts mean this:
 *
 *   binds      the named trees, in the order of their numbers: source is the host path, target
 *              where it is shown (for messages), flags CONFIG_TREE_...
 *   argv       patterns to hide
 *   files      stand-ins: path on the host, content
 *   copies     places to mount on: name is the path below a tree's root, fd_index the tree's
 *              number, mode 1 for a directory
 *   directory  the caller's home, where the built-in secrets are looked for outside the named trees
 *   inside_uid, inside_gid   the server's ids on the host
 *   root_bytes the id that every owner is shown as
 *   body_flags CONFIG_...
 */
#ifndef CORDON_FS_VIEW_VIEW_CONFIG_H
#define CORDON_FS_VIEW_VIEW_CONFIG_H

#include "fs/view/view_policy.h"
#include "isolate/wire/init_plan.h"
#include "isolate/base/error.h"

enum config_tree_flags { CONFIG_TREE_RUNTIME = 1, CONFIG_TREE_OPTIONAL = 2 };
enum config_flags { CONFIG_NO_SECRETS = 1, CONFIG_SEND_OPENS = 2 };

/*
 * The rules of a configuration, in the order that events number them: trees, patterns, stand-ins,
 * secrets. paths are those of the trees' roots as the host knows them, NULL for one that does not
 * exist; where paths itself is NULL the sources are taken as they are written, which gives the same
 * numbers. NULL without memory or with a pattern that is none (BAD_OPTION).
 */
struct policy *config_policy(const struct plan *p, char *const *paths, struct error *err);

/*
 * Only the rules that hide, with the same ids, as they were written: no link in them is followed.
 * NULL without memory.
 */
struct policy *config_hides(const struct plan *p);

#endif
