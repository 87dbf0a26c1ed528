/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a configuration to rules. See view_config.h.
 *
 * A path is made the host's own name for its object before it becomes a rule, as far as it exists:
 * rules are about objects, and a directory on the way may be a symbolic link.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/view_config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/view/glob.h"

/*
 * How much of a pattern is written out: the components before the first with a byte that has a
 * meaning of its own, or all but the last.
 */
static size_t written_out(const char *pattern)
{
	size_t end = 0;

	for (const char *slash = pattern; (slash = strchr(slash + 1, '/'));
		end = (size_t)(slash - pattern))
		if (!glob_is_literal(pattern, (size_t)(slash - pattern)))
			break;
	return end;
}

/* The same pattern with its written-out directory resolved. NULL without memory. */
static char *resolve(const char *pattern)
{
	size_t length = pattern[0] == '/' ? written_out(pattern) : 0;
	char *directory, *real, *whole = NULL;

	for (; length > 0;
		length = (size_t)((const char *)memrchr(pattern, '/', length) - pattern)) {
		directory = strndup(pattern, length);
		real = directory ? realpath(directory, NULL) : NULL;
		free(directory);
		if (!real)
			continue; /* what does not exist yet may have a parent that does */
		if (asprintf(&whole, "%s%s", strcmp(real, "/") == 0 ? "" : real, pattern + length) <
			0)
			whole = NULL;
		free(real);
		return whole;
	}
	return strdup(pattern);
}

static int add_trees(struct policy *policy, const struct plan *p, char *const *paths)
{
	char id[32];

	for (uint32_t i = 0, named = 0; i < p->binds.count; i++) {
		const struct plan_bind *tree = &plan_binds(p)[i];
		const char *path = paths ? paths[i] : plan_string(p, tree->source);

		if (tree->flags & CONFIG_TREE_RUNTIME)
			snprintf(id, sizeof id, "runtime");
		else
			snprintf(id, sizeof id, "ro:%u", ++named);
		if (policy_show(policy, id, path ? path : "/\1") <
			0) /* a path that nothing has keeps the numbers the same */
			return -1;
	}
	return 0;
}

struct policy *config_policy(const struct plan *p, char *const *paths, struct error *err)
{
	struct policy *policy = policy_new();
	char id[32];
	int rule = policy ? add_trees(policy, p, paths) : -1;

	for (uint32_t i = 0; rule >= 0 && i < p->argv.count; i++) {
		char *pattern = resolve(plan_row_text(p, p->argv, i));

		snprintf(id, sizeof id, "hide:%u", i + 1);
		rule = pattern ? policy_hide(policy, id, pattern, false) : -1;
		free(pattern);
	}
	for (uint32_t i = 0; rule >= 0 && i < p->files.count; i++) {
		const struct plan_file *file = &plan_files(p)[i];
		char *path = resolve(plan_string(p, file->path));

		snprintf(id, sizeof id, "mask:%u", i + 1);
		rule = path ? policy_mask(policy, id, path, plan_string(p, file->content),
				      file->content.length)
			    : -1;
		free(path);
	}
	if (rule >= 0 && !(p->body_flags & CONFIG_NO_SECRETS))
		rule = policy_hide_secrets(policy);
	if (rule >= 0 && policy_hides_anything(policy))
		rule = policy_hide_unseen(policy);
	if (rule < 0) {
		policy_free(policy);
		error_set(err, FAILURE_BAD_OPTION, 0,
			"a rule of the view could not be used (an empty pattern, or more than %d "
			"rules)",
			POLICY_RULES_MAX);
		return NULL;
	}
	return policy;
}

struct policy *config_hides(const struct plan *p)
{
	struct policy *policy = policy_new();
	int rule = policy ? 0 : -1;
	char id[32];

	for (uint32_t i = 0; rule >= 0 && i < p->argv.count; i++) {
		snprintf(id, sizeof id, "hide:%u", i + 1);
		rule = policy_hide(policy, id, plan_row_text(p, p->argv, i), false);
	}
	if (rule >= 0 && !(p->body_flags & CONFIG_NO_SECRETS))
		rule = policy_hide_secrets(policy);
	if (rule < 0) {
		policy_free(policy);
		return NULL;
	}
	return policy;
}
