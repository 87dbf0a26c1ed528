/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking for hidden objects beside the named trees. See named.h.
 *
 * Runs once, at the start, as the caller: paths are followed here as the caller's own are, and what
 * they lead to is kept as a path without links. Each listing and the number of anchors are bounded;
 * past a bound a pattern for any depth finds less, and one in a directory that it names, or too
 * many anchors, make every walk one that is cut short, which hides more and not less.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/named.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/view/glob.h"

#define ANCHORS_MAX 512
#define BASES_MAX 64
#define LISTED_MAX 20000
#define MOST_BELOW 1000000

/* A directory in which rules for any depth are looked for. */
struct base {
	char *path;
	bool patterns, named, home;
};

/* The names in one directory, each with its NUL. */
struct listing {
	char *path, *names;
	size_t length;
	bool cut;
};

struct search {
	struct view *v;
	struct base bases[BASES_MAX];
	size_t base_count;
	const struct base *base; /* where is looked now; NULL: at the host's root */
	struct listing listing;
	bool all, failed;
};

/*
 * Whether a directory is the home of the user that it belongs to; the caller may be root and look
 * at another's.
 */
static bool is_home(const char *path)
{
	struct stat st;
	const struct passwd *owner = stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	char *real = owner ? realpath(owner->pw_dir, NULL) : NULL;
	bool same = real && strcmp(real, path) == 0;

	free(real);
	return same;
}

static void add_base(struct search *s, const char *path, bool patterns, bool named)
{
	char *real = path[0] == '/' ? realpath(path, NULL) : NULL;

	for (size_t i = 0; real && i < s->base_count; i++)
		if (strcmp(s->bases[i].path, real) == 0) {
			s->bases[i].patterns |= patterns;
			s->bases[i].named |= named;
			free(real);
			return;
		}
	if (real && s->base_count < BASES_MAX)
		s->bases[s->base_count++] = (struct base){ real, patterns, named, is_home(real) };
	else
		free(real);
}

static void add_bases(struct search *s, const char *home)
{
	char parent[PATH_MAX];

	if (*home)
		add_base(s, home, true, false);
	if (s->base_count > 0)
		s->bases[0].home = true;
	for (size_t i = 0; i < s->v->tree_count; i++) {
		const struct view_tree *tree = &s->v->trees[i];
		char *slash;

		if (tree->fd < 0 || tree->runtime || strlen(tree->path) >= sizeof parent)
			continue;
		if (tree->is_directory)
			add_base(s, tree->path, false, true);
		strcpy(parent, tree->path);
		slash = strrchr(parent, '/');
		slash[slash == parent] = '\0';
		add_base(s, parent, true, false);
	}
}

/* An object that a rule hides, by its path without links. */
static void take(struct search *s, const char *real, const struct stat *st)
{
	struct policy_verdict verdict = policy_decide(s->v->policy, real, false);

	if (verdict.rule < 0 || !policy_rule_hides(s->v->policy, verdict.rule) ||
		(!s->all && view_covers(s->v, real, SIZE_MAX)))
		return;
	/* What is walked through to something named is not absent itself. */
	if (verdict.decision == POLICY_HIDE &&
		object_set_add(&s->v->known, st->st_dev, st->st_ino, S_ISDIR(st->st_mode),
			verdict.rule) < 0)
		s->failed = true;
	if (!S_ISDIR(st->st_mode))
		return;
	if (s->v->anchor_count >= ANCHORS_MAX)
		s->v->anchors_cut = true;
	else if (view_add_anchor(s->v, real, MOST_BELOW, false) < 0)
		s->failed = true;
}

/*
 * A link in a home has a secret's name because a program looks there for its secrets (`~/.gnupg ->
 * dot/gnupg`). One in a named project (`.aws -> src`) has it by chance: what it leads to inside
 * that project is the project's, and is hidden where a rule takes it by its own name. A file is
 * taken at its word everywhere (`.env -> settings`).
 */
static bool is_link_of_project(
	const struct search *s, int rule, const char *path, const char *real, const struct stat *st)
{
	const struct base *b = s->base;
	size_t length = b && strcmp(b->path, "/") != 0 ? strlen(b->path) : 0;

	return b && b->named && !b->home && policy_rule_is_built_in(s->v->policy, rule) &&
		S_ISDIR(st->st_mode) && strcmp(real, path) != 0 &&
		strncmp(real, b->path, length) == 0 &&
		(real[length] == '/' || real[length] == '\0');
}

/*
 * A path that a rule matches, if there is something: where it leads to by links is hidden as well.
 */
static void meet(struct search *s, int rule, const char *path)
{
	struct policy_verdict verdict;
	struct stat st;
	char *real;

	if (lstat(path, &st) != 0)
		return; /* as most of them: at the price of one call */
	real = realpath(path, NULL);
	if (!real || stat(real, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) ||
		strcmp(real, "/") == 0) {
		free(real); /* nothing, or a device such as /dev/null, which holds no secret */
		return;
	}
	if (view_is_ordinary(s->v, policy_rule_content(s->v->policy, rule), s->v->top, real + 1,
		    st.st_mode) ||
		is_link_of_project(s, rule, path, real, &st)) {
		free(real);
		return;
	}
	verdict = policy_decide(s->v->policy, real, false);
	/*
	 * Without a link in it the path is what the rule matches by itself, and the policy has
	 * weighed it against what is named.
	 */
	if (strcmp(real, path) != 0 && verdict.decision != POLICY_MASK &&
		(verdict.rule < 0 || !policy_rule_hides(s->v->policy, verdict.rule)) &&
		policy_hide_as(s->v->policy, rule, real) < 0)
		s->failed = true;
	take(s, real, &st);
	free(real);
}

/* Reads a directory, unless it was the last one that was read. */
static const struct listing *list(struct search *s, const char *path)
{
	struct listing *l = &s->listing;
	size_t capacity = 0, count = 0;
	struct dirent *entry;
	DIR *dir;

	if (l->path && strcmp(l->path, path) == 0)
		return l;
	free(l->path);
	free(l->names);
	*l = (struct listing){ .path = strdup(path) };
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && !l->cut) {
		size_t length = strlen(entry->d_name) + 1;

		if (l->length + length > capacity) {
			char *grown = realloc(l->names, capacity = 2 * capacity + 4096);

			if (!grown) {
				s->failed = true;
				break;
			}
			l->names = grown;
		}
		memcpy(l->names + l->length, entry->d_name, length);
		l->length += length;
		l->cut = ++count == LISTED_MAX;
	}
	if (dir)
		closedir(dir);
	return l;
}

/*
 * Looks for a rule's last component in a directory. whole: the directory is the rule's own, so all
 * of it has to be looked at.
 */
static void look(struct search *s, int rule, const char *directory, const char *last, bool whole)
{
	size_t length = strlen(last);
	const struct listing *l;
	char path[PATH_MAX];

	if (glob_is_literal(last, length)) {
		if (snprintf(path, sizeof path, "%s/%s", directory, last) < (int)sizeof path)
			meet(s, rule, path);
		return;
	}
	l = list(s, directory);
	s->v->anchors_cut |= whole && l->cut;
	for (size_t at = 0; at < l->length; at += strlen(l->names + at) + 1) {
		const char *name = l->names + at;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
			glob_component(last, length, name, strlen(name)) &&
			snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path)
			meet(s, rule, path);
	}
}

/* base "": the pattern is from the host's root. */
static void look_below(struct search *s, int rule, const char *base, const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *last = slash ? slash + 1 : pattern;
	bool own = !*base;
	char directory[PATH_MAX];

	if (slash && !glob_is_literal(pattern, (size_t)(slash - pattern)))
		return;
	if (strcmp(base, "/") == 0)
		base += 1;
	if (snprintf(directory, sizeof directory, "%s%s%.*s", base, slash ? "/" : "",
		    slash ? (int)(slash - pattern) : 0, pattern) < (int)sizeof directory)
		look(s, rule, *directory ? directory : "/", last, own);
}

int anchors_find(struct view *v, const char *home, bool all)
{
	struct search s = { .v = v, .all = all };
	size_t count = policy_rule_count(v->policy);

	add_bases(&s, home);
	/* Base by base: the listing of one serves all patterns. */
	for (size_t base = 0; base <= s.base_count; base++) {
		s.base = base < s.base_count ? &s.bases[base] : NULL;
		for (size_t rule = 0; rule < count; rule++) {
			/* a rule that is added moves the others */
			char *pattern = strdup(policy_rule_pattern(v->policy, (int)rule));
			bool any_depth = pattern && strncmp(pattern, "**/", 3) == 0;

			s.failed |= !pattern;
			if (!pattern ||
				!(policy_rule_hides(v->policy, (int)rule) ||
					policy_rule_masks(v->policy, (int)rule)) ||
				any_depth != (base < s.base_count))
				;
			else if (!any_depth)
				look_below(&s, (int)rule, "", pattern);
			else if (s.bases[base].patterns ||
				glob_is_literal(pattern + 3, strlen(pattern + 3)))
				look_below(&s, (int)rule, s.bases[base].path, pattern + 3);
			free(pattern);
		}
	}
	for (size_t i = 0; i < s.base_count; i++)
		free(s.bases[i].path);
	free(s.listing.path);
	free(s.listing.names);
	return s.failed ? -1 : 0;
}
