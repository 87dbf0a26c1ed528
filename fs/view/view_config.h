/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the view server, as one packed struct (isolate/wire/packed.h). The
 * supervisor writes it, the server maps it read-only.
 */
#ifndef CORDON_FS_VIEW_VIEW_CONFIG_H
#define CORDON_FS_VIEW_VIEW_CONFIG_H

#include <stdbool.h>

#include "fs/view/view_policy.h"
#include "isolate/base/error.h"
#include "isolate/wire/packed.h"

enum config_tree_flags { CONFIG_TREE_RUNTIME = 1, CONFIG_TREE_OPTIONAL = 2 };
enum config_flags { CONFIG_NO_SECRETS = 1, CONFIG_SEND_OPENS = 2 };

/* A named tree: its path on the host, and where it is shown (for messages). */
struct config_tree {
	struct packed_text source, target;
	uint32_t flags;
};

/* A stand-in: what a file of the host is replaced by. */
struct config_mask {
	struct packed_text path, content;
};

/* A place to mount on, below the root of a tree, by its number. */
struct config_place {
	struct packed_text path;
	uint32_t tree, is_directory;
};

struct view_config {
	struct packed_head head;
	uint32_t server_uid, server_gid; /* the server's ids on the host */
	uint32_t owner_uid, owner_gid;   /* the ids that every owner is shown as: the program's */
	uint32_t flags;                  /* enum config_flags */
	/* the caller's, where built-in secrets are looked for outside the named trees */
	struct packed_text home;
	struct packed_table trees, hides, masks, places; /* hides: patterns, struct packed_text */
};

struct config_builder {
	struct packer packer;
	struct view_config config; /* ids and flags are the caller's to set */
};

/* Starts a configuration. Trees are numbered in the order in which they are added. */
void config_begin(struct config_builder *b, const char *home);
void config_add_tree(
	struct config_builder *b, const char *source, const char *target, unsigned flags);
void config_add_hide(struct config_builder *b, const char *pattern);
void config_add_mask(struct config_builder *b, const char *path, const char *content);
void config_add_place(struct config_builder *b, const char *path, uint32_t tree, bool is_directory);

/* Writes the configuration and frees the builder: packer_finish(). */
int config_finish(struct config_builder *b, struct error *err);

/* Maps and checks a configuration: packed_open(). */
const struct view_config *config_open(int fd, struct error *err);

/* The rows of its trees. */
const struct config_tree *config_trees(const struct view_config *c);

/*
 * The rules of a configuration, in the order that events number them: trees, patterns, stand-ins,
 * secrets. paths are those of the trees' roots as the host knows them, NULL for one that does not
 * exist; where paths itself is NULL the sources are taken as they are written, which gives the same
 * numbers. NULL without memory or with a pattern that is none (BAD_OPTION).
 */
struct policy *config_policy(const struct view_config *c, char *const *paths, struct error *err);

/*
 * Only the rules that hide, with the same ids, as they were written: no link in them is followed.
 * NULL without memory.
 */
struct policy *config_hides(const struct view_config *c);

#endif
