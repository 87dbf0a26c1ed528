/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes. See node_tree.h.
 *
 * Two chained hash tables over the same nodes: by id and by (parent, name). Both grow together. A
 * node that was replaced under its name leaves the second and stays in the first. Nothing here
 * recurses: a chain of parents of any length is freed by a loop.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/node_tree.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 1024

struct tree {
	struct node **by_id, **by_name;
	size_t buckets, count;
	uint64_t next_id;
	struct node *top;
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

static uint64_t hash_name(uint64_t parent, const char *name, size_t length)
{
	uint64_t h = parent * UINT64_C(0x9e3779b97f4a7c15) + length;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	return mix(h);
}

static struct node **id_bucket(const struct tree *t, uint64_t id)
{
	return &t->by_id[mix(id) & (t->buckets - 1)];
}

static struct node **name_bucket(
	const struct tree *t, const struct node *parent, const char *name, size_t length)
{
	return &t->by_name[hash_name(parent->id, name, length) & (t->buckets - 1)];
}

static struct node *make(struct tree *t, struct node *parent, const char *name, size_t length)
{
	struct node *n = calloc(1, sizeof *n + length + 1);

	if (!n)
		return NULL;
	n->id = t->next_id++;
	n->parent = parent;
	n->name_length = length;
	memcpy(n->name, name, length);
	n->next_id = *id_bucket(t, n->id);
	*id_bucket(t, n->id) = n;
	t->count++;
	return n;
}

struct tree *tree_new(void)
{
	struct tree *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->buckets = FIRST_BUCKETS;
	t->next_id = 1;
	t->by_id = calloc(t->buckets, sizeof(struct node *));
	t->by_name = calloc(t->buckets, sizeof(struct node *));
	t->top = t->by_id && t->by_name ? make(t, NULL, "", 0) : NULL;
	if (!t->top) {
		tree_free(t);
		return NULL;
	}
	t->top->kind = NODE_TOP;
	t->top->is_directory = true;
	t->top->lookups = 1;
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->by_id && i < t->buckets; i++)
		while (t->by_id[i]) {
			struct node *n = t->by_id[i];

			t->by_id[i] = n->next_id;
			free(n);
		}
	free(t->by_id);
	free(t->by_name);
	free(t);
}

struct node *tree_top(struct tree *t)
{
	return t->top;
}

size_t tree_size(const struct tree *t)
{
	return t->count;
}

struct node *tree_find(struct tree *t, uint64_t id)
{
	struct node *n = *id_bucket(t, id);

	while (n && n->id != id)
		n = n->next_id;
	return n;
}

/* Twice the buckets. Without memory the tables stay as they are and get slower, not wrong. */
static void grow(struct tree *t)
{
	struct tree bigger = *t;

	bigger.buckets = 2 * t->buckets;
	bigger.by_id = calloc(bigger.buckets, sizeof(struct node *));
	bigger.by_name = calloc(bigger.buckets, sizeof(struct node *));
	if (!bigger.by_id || !bigger.by_name) {
		free(bigger.by_id);
		free(bigger.by_name);
		return;
	}
	for (size_t i = 0; i < t->buckets; i++)
		while (t->by_id[i]) {
			struct node *n = t->by_id[i], **bucket = id_bucket(&bigger, n->id);

			t->by_id[i] = n->next_id;
			n->next_id = *bucket;
			*bucket = n;
			if (!n->parent || n->replaced)
				continue;
			bucket = name_bucket(&bigger, n->parent, n->name, n->name_length);
			n->next_name = *bucket;
			*bucket = n;
		}
	free(t->by_id);
	free(t->by_name);
	*t = bigger;
}

static void unname(struct tree *t, struct node *n)
{
	struct node **at = name_bucket(t, n->parent, n->name, n->name_length);

	while (*at && *at != n)
		at = &(*at)->next_name;
	if (*at)
		*at = n->next_name;
	n->next_name = NULL;
}

static bool is_same(const struct node *n, const struct node_identity *identity)
{
	return n->kind == identity->kind && n->dev == identity->dev && n->ino == identity->ino &&
		n->is_directory == identity->is_directory;
}

struct node *tree_enter(
	struct tree *t, struct node *parent, const char *name, const struct node_identity *identity)
{
	size_t length = strlen(name);
	struct node *n = *name_bucket(t, parent, name, length), **bucket;

	while (n &&
		(n->parent != parent || n->name_length != length ||
			memcmp(n->name, name, length) != 0))
		n = n->next_name;
	if (n && !is_same(n, identity)) {
		unname(t, n);
		n->replaced = true;
		n = NULL;
	}
	if (!n) {
		if (t->count >= t->buckets)
			grow(t);
		n = make(t, parent, name, length);
		if (!n)
			return NULL;
		bucket = name_bucket(t, parent, name, length);
		n->next_name = *bucket;
		*bucket = n;
		parent->children++;
		n->kind = identity->kind;
		n->is_directory = identity->is_directory;
		n->tree = identity->tree;
		n->dev = identity->dev;
		n->ino = identity->ino;
	}
	n->verdict = identity->verdict;
	n->lookups++;
	return n;
}

static void drop(struct tree *t, struct node *n)
{
	while (n->parent && n->lookups == 0 && n->children == 0) {
		struct node *parent = n->parent, **at = id_bucket(t, n->id);

		while (*at != n)
			at = &(*at)->next_id;
		*at = n->next_id;
		if (!n->replaced)
			unname(t, n);
		free(n);
		t->count--;
		parent->children--;
		n = parent;
	}
}

void tree_forget(struct tree *t, uint64_t id, uint64_t count)
{
	struct node *n = tree_find(t, id);

	if (!n || !n->parent)
		return;
	n->lookups -= count < n->lookups ? count : n->lookups;
	drop(t, n);
}

ssize_t tree_path(const struct node *n, char *path, size_t size)
{
	size_t length = 0, at;

	for (const struct node *up = n; up->parent && up->parent->parent; up = up->parent)
		length += up->name_length + (length > 0);
	if (length >= size)
		return -1;
	path[length] = '\0';
	at = length;
	for (const struct node *up = n; up->parent && up->parent->parent; up = up->parent) {
		at -= up->name_length;
		memcpy(path + at, up->name, up->name_length);
		if (at > 0)
			path[--at] = '/';
	}
	return (ssize_t)length;
}
