/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations as packed structs, and their rules. See view_config.h.
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

enum { TABLE_TREES, TABLE_HIDES, TABLE_MASKS, TABLE_PLACES, TABLES };

static const struct packed_layout LAYOUT = {
	.name = "the configuration of the view",
	.magic = 0x43565743u,
	.size = sizeof(struct view_config),
	.texts_at = offsetof(struct view_config, home),
	.text_count = 1,
	.tables_at = offsetof(struct view_config, trees),
	.table_count = TABLES,
	.rows = { { sizeof(struct config_tree), 2 }, { sizeof(struct packed_text), 1 },
		{ sizeof(struct config_mask), 2 }, { sizeof(struct config_place), 1 } },
};

void config_begin(struct config_builder *b, const char *home)
{
	memset(b, 0, sizeof *b);
	b->config.home = packer_string(&b->packer, home);
}

void config_add_tree(
	struct config_builder *b, const char *source, const char *target, unsigned flags)
{
	struct config_tree row = { packer_string(&b->packer, source),
		packer_string(&b->packer, target), flags };

	packer_row(&b->packer, TABLE_TREES, &row, sizeof row);
}

void config_add_hide(struct config_builder *b, const char *pattern)
{
	struct packed_text row = packer_string(&b->packer, pattern);

	packer_row(&b->packer, TABLE_HIDES, &row, sizeof row);
}

void config_add_mask(struct config_builder *b, const char *path, const char *content)
{
	struct config_mask row = { packer_string(&b->packer, path),
		packer_string(&b->packer, content) };

	packer_row(&b->packer, TABLE_MASKS, &row, sizeof row);
}

void config_add_place(struct config_builder *b, const char *path, uint32_t tree, bool is_directory)
{
	struct config_place row = { packer_string(&b->packer, path), tree, is_directory };

	packer_row(&b->packer, TABLE_PLACES, &row, sizeof row);
}

int config_finish(struct config_builder *b, struct error *err)
{
	return packer_finish(&b->packer, &LAYOUT, &b->config, err);
}

const struct view_config *config_open(int fd, struct error *err)
{
	return packed_open(&LAYOUT, fd, err);
}

const struct config_tree *config_trees(const struct view_config *c)
{
	return packed_rows(c, c->trees);
}

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

static int add_trees(struct policy *policy, const struct view_config *c, char *const *paths)
{
	const struct config_tree *trees = config_trees(c);
	char id[32];

	for (uint32_t i = 0, named = 0; i < c->trees.count; i++) {
		const char *path = paths ? paths[i] : packed_string(c, trees[i].source);

		if (trees[i].flags & CONFIG_TREE_RUNTIME)
			snprintf(id, sizeof id, "runtime");
		else
			snprintf(id, sizeof id, "ro:%u", ++named);
		if (policy_show(policy, id, path ? path : "/\1") <
			0) /* a path that nothing has keeps the numbers the same */
			return -1;
	}
	return 0;
}

struct policy *config_policy(const struct view_config *c, char *const *paths, struct error *err)
{
	const struct config_mask *masks = packed_rows(c, c->masks);
	struct policy *policy = policy_new();
	char id[32];
	int rule = policy ? add_trees(policy, c, paths) : -1;

	for (uint32_t i = 0; rule >= 0 && i < c->hides.count; i++) {
		char *pattern = resolve(packed_row_string(c, c->hides, i));

		snprintf(id, sizeof id, "hide:%u", i + 1);
		rule = pattern ? policy_hide(policy, id, pattern, false) : -1;
		free(pattern);
	}
	for (uint32_t i = 0; rule >= 0 && i < c->masks.count; i++) {
		char *path = resolve(packed_string(c, masks[i].path));

		snprintf(id, sizeof id, "mask:%u", i + 1);
		rule = path ? policy_mask(policy, id, path, packed_string(c, masks[i].content),
				      masks[i].content.length)
			    : -1;
		free(path);
	}
	if (rule >= 0 && !(c->flags & CONFIG_NO_SECRETS))
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

struct policy *config_hides(const struct view_config *c)
{
	struct policy *policy = policy_new();
	int rule = policy ? 0 : -1;
	char id[32];

	for (uint32_t i = 0; rule >= 0 && i < c->hides.count; i++) {
		snprintf(id, sizeof id, "hide:%u", i + 1);
		rule = policy_hide(policy, id, packed_row_string(c, c->hides, i), false);
	}
	if (rule >= 0 && !(c->flags & CONFIG_NO_SECRETS))
		rule = policy_hide_secrets(policy);
	if (rule < 0) {
		policy_free(policy);
		return NULL;
	}
	return policy;
}
