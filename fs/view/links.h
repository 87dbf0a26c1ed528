/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk through the named trees and the secrets beside them has found out about files with
 * several names. See links.c.
 *
 * The walk keeps no descriptor but the one of the directory that it reads, so neither the depth of
 * a tree nor a low limit can cut it. It goes through the directories in the order in which they
 * were met: a walk with an upper bound has seen what lies nearest.
 */
#ifndef CORDON_FS_VIEW_LINKS_H
#define CORDON_FS_VIEW_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/view/object.h"
#include "fs/view/view_policy.h"

struct view;

#define LINKS_NO_PARENT UINT32_MAX

struct link_directory {
	uint64_t dev, ino; /* known once it was opened */
	uint32_t parent;   /* LINKS_NO_PARENT for the top of a root */
	/* number of a named tree; from tree_count on that of an anchor */
	uint32_t root;
	uint32_t name; /* where it begins in the text */
	struct policy_verdict verdict;
};

/*
 * A name of a file. Those of files that have no second one below the roots, and are not hidden, are
 * left out.
 */
struct link_name {
	uint64_t ino; /* as the directory says */
	uint32_t directory, name;
	int16_t rule; /* what hides it, or LINKS_SHOWN */
	bool again;   /* the directory was met before, at another place */
};

#define LINKS_SHOWN (-2)

struct links {
	struct link_directory *directories;
	size_t directory_count, directory_capacity;
	struct link_name *names; /* sorted by ino */
	size_t name_count, name_capacity;
	char *text;
	size_t text_length, text_capacity;
	bool cut; /* something could not be seen */
	/* CLOCK_REALTIME_COARSE, as file systems take their times from */
	int64_t began_ns;
	int64_t ended_ns, took_ns;                                 /* CLOCK_MONOTONIC */
	char relative[OBJECT_PATH_MAX], full[2 * OBJECT_PATH_MAX]; /* of the name at hand */
};

/* Goes through everything, and puts what is hidden into v->hidden. NULL without memory. */
struct links *links_walk(struct view *v);
void links_free(struct links *l);

/*
 * Goes through the anchors alone, and not far, and puts what lies below them into v->known: for
 * what can be seen now and not later. 0 or -1.
 */
int links_walk_anchors(struct view *v);

/*
 * Works out the place of a name (NULL: of the directory itself): l->relative is below the returned
 * descriptor, l->full is its path on the host. -1: it is too long.
 */
int links_place(const struct view *v, struct links *l, uint32_t directory, const char *name);

int64_t links_clock_ns(void);

#endif
