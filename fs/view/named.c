/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging what was named. See named.h.
 *
 * What was typed is compared as text: a path that the same rule hides by its text as by the object
 * that it leads to is that secret's own name, even where a directory far above is a link. For a
 * named file with several names the directories around it are gone through, nearest first and
 * within bounds, and with it the named trees and the anchors.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/named.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/view/glob.h"
#include "fs/view/mounter.h"
#include "fs/view/object.h"

#define LEVELS_AROUND 3
#define MOST_AROUND 100000

struct check {
	struct view *v;
	const struct view_config *config;
	char *const *paths;
	/* the rules that hide, as they are matched and as they were written */
	struct policy *hides, *typed;
	struct error *err;
};

/*
 * What was typed as an absolute path without empty components and dots. What leads up is resolved,
 * since only the file system knows where to. NULL without memory.
 */
static char *absolute(const char *source)
{
	char *here = source[0] == '/' ? NULL : getcwd(NULL, 0), *whole = NULL, *real, *to;

	if (asprintf(&whole, "%s%s%s", here ? here : "", here ? "/" : "", source) < 0)
		whole = NULL;
	free(here);
	for (char *up; whole && (up = strstr(whole, "/..")) && (up[3] == '/' || up[3] == '\0');) {
		char *rest = strdup(up + 3);

		up[3] = '\0';
		real = realpath(whole, NULL);
		free(whole);
		if (!real || !rest || asprintf(&whole, "%s%s", real, rest) < 0)
			whole = NULL;
		free(real);
		free(rest);
	}
	to = whole;
	for (const char *at = whole; at && *at;) {
		size_t length = strcspn(at += strspn(at, "/"), "/");

		if (length > 0 && !(length == 1 && *at == '.')) {
			*to++ = '/';
			memmove(to, at, length);
			to += length;
		}
		at += length;
	}
	if (whole && to == whole)
		*to++ = '/';
	if (whole)
		*to = '\0';
	return whole;
}

/*
 * Whether a named tree other than i, typed as it lies, shows path by a rule that lies at least so
 * deep.
 */
static bool is_shown_otherwise(const struct check *c, uint32_t i, const char *path, uint16_t depth)
{
	for (uint32_t other = 0; other < c->config->trees.count; other++) {
		const char *root = c->paths[other];
		size_t length = root ? strlen(root) : 0;
		char *typed;
		bool same;
		uint16_t at = 0;

		if (other == i || !root || strncmp(path, root, length) != 0 ||
			(path[length] != '/' && path[length] != '\0'))
			continue;
		for (const char *slash = root; *slash; slash++)
			at += *slash == '/';
		typed = absolute(packed_string(c->config, config_trees(c->config)[other].source));
		same = typed && strcmp(typed, root) == 0;
		free(typed);
		if (same && at >= depth)
			return true;
	}
	return false;
}

static int refuse(struct check *c, const char *source, const char *how, const char *path, int rule)
{
	return error_set(c->err, FAILURE_BAD_OPTION, 0,
		"%s %s %s, which is hidden by %s (%s); a secret is shown only where it is named by "
		"its own path",
		source, how, path, policy_rule_id(c->hides, rule),
		policy_rule_pattern(c->hides, rule));
}

/*
 * What hides a named path, by the rules that hide alone; where that is a rule about what files
 * hold, it has to hold it.
 */
static struct policy_verdict hidden_by(const struct check *c, uint32_t i, const char *path)
{
	struct policy_verdict hidden = policy_decide(c->hides, path, false);
	struct stat st;

	if (fstat(c->v->trees[i].fd, &st) == 0 &&
		view_is_ordinary(c->v, policy_rule_content(c->hides, hidden.rule),
			c->v->trees[i].fd, "", st.st_mode))
		hidden = (struct policy_verdict){ .decision = POLICY_HIDE,
			.rule = POLICY_RULE_NONE };
	return hidden;
}

/* A path that leads somewhere else by symbolic links. */
static int check_link(
	struct check *c, uint32_t i, const char *source, const struct policy_verdict *hidden)
{
	char *typed = absolute(source);
	struct policy_verdict as_typed;
	int status = 0;

	if (!typed)
		return error_set(
			c->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "taking up the named trees");
	as_typed = policy_decide(c->typed, typed, false);
	if (strcmp(typed, c->paths[i]) != 0 && hidden->rule >= 0 &&
		!is_shown_otherwise(c, i, c->paths[i], hidden->depth) &&
		(as_typed.rule < 0 ||
			strcmp(policy_rule_id(c->typed, as_typed.rule),
				policy_rule_id(c->hides, hidden->rule)) != 0))
		status = refuse(c, source, "leads to", c->paths[i], hidden->rule);
	free(typed);
	return status;
}

struct alias {
	struct check *check;
	uint32_t tree;
	const char *source;
};

/* Another path of what was named, by a bind mount. */
static int check_alias(void *argument, const char *path)
{
	const struct alias *a = argument;
	struct policy_verdict hidden = hidden_by(a->check, a->tree, path);

	if (hidden.decision != POLICY_HIDE || hidden.rule < 0 ||
		is_shown_otherwise(a->check, a->tree, path, hidden.depth))
		return 0;
	return refuse(a->check, a->source, "is also", path, hidden.rule);
}

/* The directories around a file, for its other names. */
static int add_around(struct check *c, const char *path)
{
	const char *home = packed_string(c->config, c->config->home);
	char directory[PATH_MAX];

	if (strlen(path) >= sizeof directory)
		return 0;
	strcpy(directory, path);
	for (int level = 0; level < LEVELS_AROUND; level++) {
		char *slash = strrchr(directory, '/');

		if (slash == directory)
			break;
		*slash = '\0';
		if (!view_covers(c->v, directory, SIZE_MAX) &&
			view_add_anchor(c->v, directory, MOST_AROUND, true) < 0)
			return error_set(c->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
				"looking for the other names of %s", path);
		if (strcmp(directory, home) == 0)
			break;
	}
	return 0;
}

/* An object that has a hidden name beside the one that was named. */
static int check_names(
	struct check *c, uint32_t i, const char *source, const struct policy_verdict *hidden)
{
	struct stat st;
	int rule;

	if (fstat(c->v->trees[i].fd, &st) != 0)
		return 0;
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) {
		if (add_around(c, c->paths[i]) < 0)
			return -1;
		snprintf(c->v->full, sizeof c->v->full, "%s", c->paths[i]);
		rule = view_hidden_link(c->v, &st, false);
		if (rule == policy_rule_of_unseen(c->v->policy))
			/* named exactly: what could not be found stands for nothing */
			rule = VIEW_NO_RULE;
	} else {
		rule = view_hidden_directory(c->v, &st);
	}
	if (rule < 0)
		return 0;
	/*
	 * Named by a secret's own name, and it has a second one: that is what was asked for, unless
	 * the caller hides the other.
	 */
	if (policy_rule_is_built_in(c->v->policy, rule) && hidden->rule >= 0)
		return 0;
	return error_set(c->err, FAILURE_BAD_OPTION, 0,
		"%s is also the name of something that is hidden by %s (%s); a secret is shown "
		"only where it is named by its own path",
		source, policy_rule_id(c->v->policy, rule),
		policy_rule_pattern(c->v->policy, policy_rule_shown(c->v->policy, rule)));
}

int named_check(
	struct view *v, const struct view_config *config, char *const *paths, struct error *err)
{
	struct check c = { v, config, paths, policy_only_hides(v->policy), config_hides(config),
		err };
	int status = c.hides && c.typed
		? 0
		: error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "taking up the rules");

	for (uint32_t i = 0; status == 0 && i < config->trees.count; i++) {
		const struct config_tree *tree = &config_trees(config)[i];
		const char *source = packed_string(config, tree->source);
		struct policy_verdict hidden;

		if (!paths[i] || (tree->flags & CONFIG_TREE_RUNTIME))
			continue;
		hidden = hidden_by(&c, i, paths[i]);
		status = check_link(&c, i, source, &hidden);
		if (status == 0)
			status = mountinfo_paths(v->trees[i].fd, paths[i], &v->trees[i].bound,
				&v->trees[i].has_mounts, check_alias,
				&(struct alias){ &c, i, source });
		if (status == 0)
			status = check_names(&c, i, source, &hidden);
	}
	policy_free(c.hides);
	policy_free(c.typed);
	return status;
}

/* ---- masked ---- */

/*
 * Stand-ins (--mask) that no program would see. Looks only at what is below the named trees, by
 * their descriptors.
 */

/*
 * How much of a path (without its first slash) the path of a tree is; -1 when it does not lie
 * there.
 */
static int length_in(const struct view_tree *tree, const char *path)
{
	const char *root = tree->path ? tree->path + 1 : NULL;
	size_t length = root ? strlen(root) : 0;

	return root && strncmp(path, root, length) == 0 &&
			(length == 0 || path[length] == '/' || path[length] == '\0')
		? (int)length
		: -1;
}

static bool has_another(const struct policy *policy, int rule)
{
	for (int i = 0; i < rule; i++)
		if (policy_rule_masks(policy, i) &&
			strcmp(policy_rule_pattern(policy, i), policy_rule_pattern(policy, rule)) ==
				0)
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
		return S_ISDIR(st.st_mode) ? error_set(err, FAILURE_BAD_OPTION, 0,
						     "--mask: /%s is a directory, and a stand-in "
						     "is one for a file; hide it with --hide",
						     path)
					   : 0;
	if (errno != ENOENT && errno != ENOTDIR)
		return 0;
	if (!glob_is_literal(below, strlen(below)))
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--mask: there is no /%s, and a stand-in is for one file, not for a "
			"pattern",
			path);
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - below) : 0, below);
	if (object_stat(root, directory, &st, &is_mount) != 0 ? errno != ENOENT && errno != ENOTDIR
							      : S_ISDIR(st.st_mode))
		return 0;
	return error_set(err, FAILURE_BAD_OPTION, 0,
		"--mask: there is no directory for /%s to stand in", path);
}

static int check(const struct view *v, int rule, struct error *err)
{
	const char *path = policy_rule_pattern(v->policy, rule);
	int deepest = -1, root = -1;

	if (has_another(v->policy, rule))
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--mask: /%s has two stand-ins; give one", path);
	for (size_t t = 0; t < v->tree_count; t++) {
		int length = v->trees[t].fd >= 0 ? length_in(&v->trees[t], path) : -1;

		if (length >= 0 && path[length] == '\0' && !v->trees[t].runtime)
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"--mask: /%s is named to be shown as it is, too; name what is "
				"above it instead, or leave the stand-in out",
				path);
		if (length > deepest && v->trees[t].is_directory) {
			deepest = length;
			root = v->trees[t].fd;
		}
	}
	if (root < 0)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--mask: /%s lies below no path that is named, so there is nothing to "
			"stand in for",
			path);
	return check_place(root, path + deepest + (path[deepest] == '/'), path, err);
}

int masked_check(const struct view *v, struct error *err)
{
	for (size_t i = 0; i < policy_rule_count(v->policy); i++)
		if (policy_rule_masks(v->policy, (int)i) && check(v, (int)i, err) < 0)
			return -1;
	return 0;
}
