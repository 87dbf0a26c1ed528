/* SPDX-License-Identifier: Apache-2.0 */
/* Stand-ins that nobody would see. See masked.h. Looks only at what is below the named trees, by their descriptors. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/masked.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/view/glob.h"
#include "fs/view/object.h"

/* How much of a path (without its first slash) the path of a tree is; -1 when it does not lie there. */
static int length_in(const struct view_tree *tree, const char *path)
{
	const char *root = tree->path ? tree->path + 1 : NULL;
	size_t length = root ? strlen(root) : 0;

	return root && strncmp(path, root, length) == 0 && (length == 0 || path[length] == '/' || path[length] == '\0') ? (int)length : -1;
}

static bool has_another(const struct policy *policy, int rule)
{
	for (int i = 0; i < rule; i++)
		if (policy_rule_masks(policy, i) && strcmp(policy_rule_pattern(policy, i), policy_rule_pattern(policy, rule)) == 0)
			return true;
	return false;
}

/* What the host has at the path below an open directory. What cannot be looked at is not judged. */
static int check_place(int root, const char *below, const char *path, struct error *err)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(below, '/');
	struct stat st;
	bool is_mount;

	if (object_stat(root, below, &st, &is_mount) == 0)
		return S_ISDIR(st.st_mode) ? error_set(err, FAILURE_BAD_OPTION, 0, "--mask: /%s is a directory, and a stand-in is one for a file; hide it with --hide", path) : 0;
	if (errno != ENOENT && errno != ENOTDIR)
		return 0;
	if (!glob_is_literal(below, strlen(below)))
		return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: there is no /%s, and a stand-in is for one file, not for a pattern", path);
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - below) : 0, below);
	if (object_stat(root, directory, &st, &is_mount) != 0 ? errno != ENOENT && errno != ENOTDIR : S_ISDIR(st.st_mode))
		return 0;
	return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: there is no directory for /%s to stand in", path);
}

static int check(const struct view *v, int rule, struct error *err)
{
	const char *path = policy_rule_pattern(v->policy, rule);
	int deepest = -1, root = -1;

	if (has_another(v->policy, rule))
		return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: /%s has two stand-ins; give one", path);
	for (size_t t = 0; t < v->tree_count; t++) {
		int length = v->trees[t].fd >= 0 ? length_in(&v->trees[t], path) : -1;

		if (length >= 0 && path[length] == '\0' && !v->trees[t].runtime)
			return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: /%s is named to be shown as it is, too; name what is above it instead, or leave the stand-in out", path);
		if (length > deepest && v->trees[t].is_directory) {
			deepest = length;
			root = v->trees[t].fd;
		}
	}
	if (root < 0)
		return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: /%s lies below no path that is named, so there is nothing to stand in for", path);
	return check_place(root, path + deepest + (path[deepest] == '/'), path, err);
}

int masked_check(const struct view *v, struct error *err)
{
	for (size_t i = 0; i < policy_rule_count(v->policy); i++)
		if (policy_rule_masks(v->policy, (int)i) && check(v, (int)i, err) < 0)
			return -1;
	return 0;
}
