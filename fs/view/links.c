/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard links to what is hidden, and mounts of it.
 *
 * A file with one name is judged by that name. A file with several, or one that is mounted at a
 * second place, may have a hidden one, and nothing in the file says which: so when the first such
 * file is reached, the named trees, and the hidden places that are known outside them
 * (fs/view/anchors.c), are gone through once, and the names of each such file are kept. Each time
 * that one is reached, each of its other names must still lead to it: a directory above one of them
 * may have been given a secret's name, of which nothing in the file shows. Where one does not, or
 * the file's last change (a new link is one) is younger than the walk, the walk is done again.
 * Programs that use no hard links never pay for it.
 *
 * A walk that could not see everything (a directory that may not be listed, too large a tree) says
 * nothing about what it did not see: then a file is shown only when all of its names were found,
 * and is else hidden by a rule of its own. The walk is tried again after a while, and so it is for
 * files with names outside the trees: a directory may have been moved in.
 *
 * What remains: a name outside every named tree is known only where a rule leads to it. A rule that
 * is a path or a pattern in a directory that is written out (`/srv/keys/x`, `/srv/keys/x*`) does;
 * one for any depth (`*.pem`, `.ssh`) is looked for in the caller's home, in the named directories
 * and in those that these lie in; one with a pattern above its last component is not looked for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/view/links.h"
#include "fs/view/view.h"

#define AGAIN_NS INT64_C(1000000000)
#define SHARE 50 /* repeated walks take at most this part of the time */

int64_t links_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void links_free(struct links *l)
{
	if (!l)
		return;
	free(l->directories);
	free(l->names);
	free(l->text);
	free(l);
}

static struct link_name *first_of(const struct links *l, uint64_t ino)
{
	size_t low = 0, high = l->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->names[middle].ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return &l->names[low];
}

/*
 * Goes through the names that the walk found for an object. Returns false when one of them no
 * longer leads to it. Otherwise *found says how many there are, and *rule what hides one of them.
 */
static bool ask_names(
	const struct view *v, struct links *l, const struct stat *st, uint64_t *found, int *rule)
{
	const struct link_name *stop = l->names + l->name_count;

	*found = 0;
	*rule = VIEW_NO_RULE;
	for (const struct link_name *n = first_of(l, st->st_ino); n < stop && n->ino == st->st_ino;
		n++) {
		int top = links_place(v, l, n->directory, l->text + n->name), status = 0;
		bool is_mount, is_it;
		struct stat now;

		if (top < 0)
			return false;
		is_it = strcmp(l->full, v->full) == 0;
		if (!is_it) {
			status = object_stat(top, l->relative, &now, &is_mount);
			is_it = status == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
		}
		if (is_it || (status != 0 && errno == EACCES))
			*rule = n->rule != LINKS_SHOWN ? n->rule : *rule;
		else if (l->directories[n->directory].dev == st->st_dev)
			/* else it is another file system's file with the same number */
			return false;
		*found += is_it && !n->again;
	}
	/* It was reached, so it has one name at least. */
	*found += *found == 0;
	return true;
}

static int by_identity(const struct view *v, const struct stat *st)
{
	int rule = object_set_find(&v->hidden, st->st_dev, st->st_ino, S_ISDIR(st->st_mode));

	return rule == -2 ? object_set_find(&v->known, st->st_dev, st->st_ino, S_ISDIR(st->st_mode))
			  : rule;
}

static bool is_rested(const struct links *l)
{
	int64_t rest_ns = SHARE * l->took_ns;

	return view_now_ns() - l->ended_ns > (rest_ns > AGAIN_NS ? rest_ns : AGAIN_NS);
}

static bool is_younger(const struct links *l, const struct stat *st)
{
	int64_t changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;

	/*
	 * A time that is yet to come was set before the clock was put right: whatever changes the
	 * file now gives it an earlier one.
	 */
	return changed_ns >= l->began_ns && changed_ns <= links_clock_ns() + AGAIN_NS;
}

static bool walk_again(struct view *v)
{
	links_free(v->links);
	v->links = links_walk(v);
	return v->links != NULL;
}

int view_hidden_link(struct view *v, const struct stat *st, bool is_mount)
{
	bool counts = !is_mount && S_ISREG(st->st_mode), fresh = false;
	uint64_t found = 0;
	int rule;

	if (!policy_hides_anything(v->policy))
		return VIEW_NO_RULE;
	/*
	 * Nothing can be mounted here once the server runs, so for a mount the first time is
	 * enough.
	 */
	if (!v->links || (counts && is_younger(v->links, st)) ||
		(v->links->cut && is_rested(v->links))) {
		if (!walk_again(v))
			return policy_rule_of_unseen(v->policy);
		fresh = true;
	}
	if (counts) {
		bool stands = ask_names(v, v->links, st, &found, &rule);

		if (!fresh &&
			(!stands ||
				(rule == VIEW_NO_RULE && found < st->st_nlink &&
					is_rested(v->links)))) {
			if (!walk_again(v))
				return policy_rule_of_unseen(v->policy);
			stands = ask_names(v, v->links, st, &found, &rule);
		}
		if (!stands)
			/* it moves faster than it can be looked for */
			return policy_rule_of_unseen(v->policy);
		if (rule != VIEW_NO_RULE)
			return rule;
	}
	rule = by_identity(v, st);
	if (rule != -2)
		return rule;
	return counts && v->links->cut && found < st->st_nlink ? policy_rule_of_unseen(v->policy)
							       : VIEW_NO_RULE;
}

int view_hidden_directory(struct view *v, const struct stat *st)
{
	int rule = by_identity(v, st);

	/*
	 * The hidden one may have gone, and this have its number now, or be it, under a name that
	 * no rule hides.
	 */
	if (rule != -2 && (!v->links || is_rested(v->links)) && walk_again(v))
		rule = by_identity(v, st);
	return rule == -2 ? VIEW_NO_RULE : rule;
}
