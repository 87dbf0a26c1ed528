/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking up the rules of a view. See plan_rules.h.
 *
 * A slip in a rule that hides must not pass for a rule: what could never match, or could match but never hide, is refused with a word on what is wrong with it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/plan_rules.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/view/glob.h"

/* Takes out slashes that follow a slash. */
static void squeeze(char *path)
{
	char *to = path;

	for (const char *at = path; *at; at++)
		if (*at != '/' || to == path || to[-1] != '/')
			*to++ = *at;
	*to = '\0';
}

/* What a text below a directory stands for. Frees nothing of the caller's; NULL without memory. */
static char *join(const char *directory, const char *rest)
{
	char *whole;

	return asprintf(&whole, "%s/%s", directory, rest) < 0 ? NULL : whole;
}

/* A path or pattern of the caller's: "~", "./" and "../" at its start become what they stand for. A new string, or NULL. */
static char *expand(const char *text, bool is_path)
{
	bool from_here = strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
	const char *home = getenv("HOME");
	char *whole, *here = NULL;

	if (text[0] == '~' && (text[1] == '/' || text[1] == '\0') && home && home[0] == '/')
		whole = join(home, text + 1);
	else if (text[0] == '/' || (!is_path && !from_here))
		whole = strdup(text);
	else
		whole = (here = getcwd(NULL, 0)) ? join(here, strncmp(text, "./", 2) == 0 ? text + 2 : text) : NULL;
	free(here);
	if (whole)
		squeeze(whole);
	return whole;
}

static bool lies_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The tree that is shown as a bind and has everything in it that a pattern can match; NULL when there is none, or a tree of the view has it, too. */
static const char *bound_tree(const char *pattern, const struct plan_bind *rows, size_t count, const struct plan_builder *b)
{
	char *directory = strdup(pattern), *real = NULL, *slash = NULL;
	const char *found = NULL;

	while (directory && !real && (slash = strrchr(directory, '/')) && slash > directory) {
		*slash = '\0';
		if (glob_is_literal(directory, strlen(directory)))
			real = realpath(directory, NULL);
	}
	for (size_t i = 0; real && i < count; i++) {
		const char *source = b->bytes.data + rows[i].source.offset;
		char *tree = realpath(source, NULL);

		if (tree && lies_in(real, tree) && strcmp(tree, "/") != 0)
			found = rows[i].flags & PLAN_BIND_VIEW ? NULL : source;
		if (tree && lies_in(real, tree) && rows[i].flags & PLAN_BIND_VIEW)
			i = count;
		free(tree);
	}
	free(real);
	free(directory);
	return found;
}

/* The tree whose place inside the sandbox a pattern speaks of, where the host has no such path; NULL when it may be one of the host's. */
static const struct plan_bind *place_meant(const char *pattern, const struct plan_bind *rows, size_t count, const struct plan_builder *b)
{
	const struct plan_bind *found = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *source = b->bytes.data + rows[i].source.offset, *target = b->bytes.data + rows[i].target.offset;

		if (lies_in(pattern, source))
			return NULL;
		if ((rows[i].flags & PLAN_BIND_VIEW) && strcmp(source, target) != 0 && lies_in(pattern, target) && access(target, F_OK) != 0)
			found = &rows[i];
	}
	return found;
}

static int add_pattern(const char *item, const struct plan_bind *rows, size_t count, const struct plan_builder *b, struct plan_builder *config, struct error *err)
{
	char *pattern = expand(item, false);
	const char *fault = pattern ? glob_fault(pattern) : NULL, *tree = pattern && !fault && pattern[0] == '/' ? bound_tree(pattern, rows, count, b) : NULL;
	const struct plan_bind *place = pattern && pattern[0] == '/' ? place_meant(pattern, rows, count, b) : NULL;
	int status = 0;

	if (!pattern || !pattern[strspn(pattern, "/")])
		status = error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" names nothing", item);
	else if (fault)
		status = error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" has %s", item, fault);
	else if (place)
		status = error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" is a path inside the sandbox, and rules go by the host's; write it below %s", item,
				   b->bytes.data + place->source.offset);
	else if (tree)
		status = error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" lies in %s, which is shown as it is and where nothing can be hidden; --view fuse hides there, too", item, tree);
	else
		plan_add_argument(config, pattern);
	free(pattern);
	return status;
}

/* What the host has at the beginning of FILE=CONTENT: 'd' for a directory, 'f' for anything else, 0 for nothing. */
static char kind_of(const char *item, size_t length)
{
	char *beginning = strndup(item, length), *path = beginning ? expand(beginning, true) : NULL, kind = 0;
	struct stat st;

	if (path && lstat(path, &st) == 0)
		kind = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? 'd' : 'f';
	free(beginning);
	free(path);
	return kind;
}

/* The = behind FILE, which may have some itself: in directories that are there, or as the longest name that is. */
static const char *end_of_file(const char *item)
{
	const char *base = item, *found;

	for (const char *slash = strchr(item + 1, '/'); slash && kind_of(item, (size_t)(slash - item)) == 'd'; slash = strchr(slash + 1, '/'))
		base = slash;
	found = strchr(base, '=');
	for (const char *next = found; next && next - item < PATH_MAX; next = strchr(next + 1, '='))
		if (kind_of(item, (size_t)(next - item)) != 0)
			found = next;
	return found ? found : strchr(item, '=');
}

static int add_stand_in(const char *item, struct plan_builder *config, struct error *err)
{
	const char *equals = end_of_file(item);
	char *file = strndup(item, (size_t)(equals - item)), *path = file ? expand(file, true) : NULL;
	int status = path ? 0 : error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "taking up --mask");

	if (path)
		plan_add_file(config, path, equals + 1, strlen(equals + 1));
	free(file);
	free(path);
	return status;
}

int plan_rules_add(const struct options *o, const struct plan_bind *rows, size_t count, const struct plan_builder *b, struct plan_builder *config, struct error *err)
{
	for (size_t i = 0; i < o->hide.count; i++)
		if (add_pattern(o->hide.items[i], rows, count, b, config, err) < 0)
			return -1;
	for (size_t i = 0; i < o->mask.count; i++)
		if (add_stand_in(o->mask.items[i], config, err) < 0)
			return -1;
	return 0;
}
