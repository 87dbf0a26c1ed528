/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes that the kernel knows of: a name below a parent, and no descriptor.
 *
 * A node lives as long as the kernel holds it (lookup count) or a child of it does. Ids are counted
 * up and never used twice, so a late request can only meet a node that is gone, never another one.
 * Each node remembers which object it stood for; when another object has taken the name, the name
 * gets a new node and the old one answers ESTALE, which makes the kernel look again.
 */
#ifndef CORDON_FS_VIEW_NODE_TREE_H
#define CORDON_FS_VIEW_NODE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/view/view_policy.h"

enum node_kind {
	/* the root of the mount: one directory or file for each named tree, called by its number */
	NODE_TOP,
	NODE_HOST, /* an object of the host's */
	NODE_MASK, /* a stand-in for a file */
	NODE_PLACE /* an empty directory or file that something else is mounted on */
};

struct node {
	uint64_t id;
	struct node *parent; /* NULL for the top */
	struct node *next_id, *next_name;
	uint64_t lookups;  /* what the kernel holds */
	uint32_t children; /* nodes whose parent this is */
	uint32_t tree;     /* number of the named tree */
	uint8_t kind;      /* enum node_kind */
	bool is_directory, replaced;
	struct policy_verdict verdict;
	dev_t dev;
	ino_t ino;
	/* at the last open, for the page cache */
	struct {
		int64_t mtime_ns, ctime_ns, size;
	} seen;
	/*
	 * descriptor of one of the opens, valid while opens > 0: the object itself, also when its
	 * name has gone
	 */
	int kept;
	uint32_t opens;
	bool kept_is_released; /* its own open has ended; it is closed with the last */
	size_t name_length;
	char name[];
};

struct tree;

/* A tree with its top, whose id is 1. NULL without memory. */
struct tree *tree_new(void);
void tree_free(struct tree *t);

struct node *tree_top(struct tree *t);
/* The node of an id, or NULL. */
struct node *tree_find(struct tree *t, uint64_t id);

/* What a name stands for when it is looked up. */
struct node_identity {
	uint8_t kind;
	bool is_directory;
	uint32_t tree;
	dev_t dev;
	ino_t ino;
	struct policy_verdict verdict;
};

/*
 * The node of a name below parent for this object, made when there is none, with one lookup more.
 * The verdict is brought up to date. NULL without memory.
 */
struct node *tree_enter(struct tree *t, struct node *parent, const char *name,
	const struct node_identity *identity);

/*
 * Takes back count lookups; frees the node, and its parents, when nothing holds them. Ids that are
 * gone are ignored.
 */
void tree_forget(struct tree *t, uint64_t id, uint64_t count);

/*
 * Writes the names from the named tree's root down to n, parted by slashes, without one at the
 * start; "" for the root itself. Returns its length, or -1 when it does not fit.
 */
ssize_t tree_path(const struct node *n, char *path, size_t size);

/* How many nodes there are, the top included. */
size_t tree_size(const struct tree *t);

#endif
