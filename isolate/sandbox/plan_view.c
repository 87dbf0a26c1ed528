/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composing a view. See plan_build.h.
 *
 * A place inside another one's tree has to exist there before something can be mounted on it, and
 * the view is read-only: so the configuration has every such place, and shows an empty directory or
 * file where the host has nothing. Nothing is ever made on the host.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/plan_build.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/view/glob.h"
#include "fs/view/scratch.h"
#include "fs/view/view_config.h"
#include "isolate/init/privileges.h"

static bool has_scratch(const struct options *o)
{
	for (size_t i = 0; i < o->ro_count; i++)
		if (o->ro[i].scratch)
			return true;
	return false;
}

/*
 * Of two named places that are one the second would cover the first without a word. The same object
 * named twice is no harm; with --scratch it can be written to.
 */
static int check_places(const struct options *o, struct error *err)
{
	for (size_t i = 0; i < o->ro_count; i++)
		for (size_t j = i + 1; j < o->ro_count; j++) {
			struct stat a, b;

			if (strcmp(o->ro[i].target, o->ro[j].target) != 0)
				continue;
			if ((strcmp(o->ro[i].source, o->ro[j].source) == 0 ||
				    (stat(o->ro[i].source, &a) == 0 &&
					    stat(o->ro[j].source, &b) == 0 &&
					    a.st_dev == b.st_dev && a.st_ino == b.st_ino)))
				continue;
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"%s%s and %s%s would both be shown at %s, one over the other; give "
				"each a place of its own with SRC:DST",
				o->ro[i].scratch ? "--scratch " : "--ro ", o->ro[i].source,
				o->ro[j].scratch ? "--scratch " : "--ro ", o->ro[j].source,
				o->ro[j].target);
		}
	return 0;
}

/* What an earlier run changed must not lie among what this one does. */
static int check_export(const struct options *o, struct error *err)
{
	unsigned layers = 0;
	char path[PATH_MAX];
	bool is_export;
	struct stat st;

	for (size_t i = 0; o->export_dir && i < o->ro_count; i++) {
		if (!o->ro[i].scratch)
			continue;
		if (snprintf(path, sizeof path, "%s/" SCRATCH_LAYER "%u/changes.txt", o->export_dir,
			    ++layers) >= (int)sizeof path)
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"--export: the path of the directory is too long");
		is_export = lstat(path, &st) == 0;
		*strrchr(path, '/') = '\0';
		if (lstat(path, &st) == 0 && !(is_export && o->overwrite))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"--export: %s is there already; %s, or name another directory",
				path, is_export ? "--overwrite replaces it" : "move it away");
	}
	return 0;
}

int plan_view_check(const struct sandbox_request *in, struct error *err)
{
	const struct options *o = in->options;
	const char *option = o->hide.count ? "hide"
		: o->mask.count            ? "mask"
		: has_scratch(o)           ? "scratch"
					   : NULL;

	if (check_places(o, err) < 0 || check_export(o, err) < 0)
		return -1;
	if (o->host_sockets.count && !in->isolation->has_own_root)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--host-socket needs a root of its own, and the tier subprocess reaches "
			"the host's sockets as they are");
	if (!option && in->isolation->has_own_root)
		return 0;
	if (!option)
		option = o->view == VIEW_FUSE ? "view" : NULL;
	if (!in->isolation->has_own_root && option)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--%s needs a root of its own, and the tier subprocess shows the host's "
			"files as they are",
			option);
	if (in->isolation->has_own_root && o->view == VIEW_BIND)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--%s needs FUSE: --view bind shows everything below a named path as it "
			"is, read-only",
			option);
	if (o->mask.count && o->ro_count == 0)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--mask: nothing is named, so there is no file to stand in for; name its "
			"directory with --ro");
	if (o->hide.count && o->ro_count == 0 && o->view == VIEW_MIXED)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--hide: nothing is named, so there is nothing to hide: the system runtime "
			"is shown as it is (--view fuse hides there, too)");
	return has_scratch(o) ? scratch_check(-1, err) : 0;
}

/* ---- rules ---- */

/*
 * The rules of a view, as the caller gave them.
 *
 * A slip in a rule that hides must not pass for a rule: what could never match, or could match but
 * never hide, is refused with a word on what is wrong with it.
 */

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

/*
 * A path or pattern of the caller's: "~", "./" and "../" at its start become what they stand for. A
 * new string, or NULL.
 */
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
		whole = (here = getcwd(NULL, 0))
			? join(here, strncmp(text, "./", 2) == 0 ? text + 2 : text)
			: NULL;
	free(here);
	if (whole)
		squeeze(whole);
	return whole;
}

static bool lies_in(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 &&
		(path[length] == '/' || path[length] == '\0');
}

/*
 * The tree that is shown as a bind and has everything in it that a pattern can match; NULL when
 * there is none, or a tree of the view has it, too.
 */
static const char *bound_tree(const char *pattern, const struct plan_builder *b)
{
	char *directory = strdup(pattern), *real = NULL, *slash = NULL;
	const char *found = NULL;
	size_t count;
	const struct plan_bind *rows = plan_binds_of(b, &count);

	while (directory && !real && (slash = strrchr(directory, '/')) && slash > directory) {
		*slash = '\0';
		if (glob_is_literal(directory, strlen(directory)))
			real = realpath(directory, NULL);
	}
	for (size_t i = 0; real && i < count; i++) {
		const char *source = plan_text_of(b, rows[i].source);
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

/*
 * The tree whose place inside the sandbox a pattern speaks of, where the host has no such path;
 * NULL when it may be one of the host's.
 */
static const struct plan_bind *place_meant(const char *pattern, const struct plan_builder *b)
{
	const struct plan_bind *found = NULL;
	size_t count;
	const struct plan_bind *rows = plan_binds_of(b, &count);

	for (size_t i = 0; i < count; i++) {
		const char *source = plan_text_of(b, rows[i].source),
			   *target = plan_text_of(b, rows[i].target);

		if (lies_in(pattern, source))
			return NULL;
		if ((rows[i].flags & PLAN_BIND_VIEW) && strcmp(source, target) != 0 &&
			lies_in(pattern, target) && access(target, F_OK) != 0)
			found = &rows[i];
	}
	return found;
}

static int add_pattern(const char *item, const struct plan_builder *b,
	struct config_builder *config, struct error *err)
{
	char *pattern = expand(item, false);
	const char *fault = pattern ? glob_fault(pattern) : NULL,
		   *tree = pattern && !fault && pattern[0] == '/' ? bound_tree(pattern, b) : NULL;
	const struct plan_bind *place =
		pattern && pattern[0] == '/' ? place_meant(pattern, b) : NULL;
	int status = 0;

	if (!pattern || !pattern[strspn(pattern, "/")])
		status =
			error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" names nothing", item);
	else if (fault)
		status =
			error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" has %s", item, fault);
	else if (place)
		status = error_set(err, FAILURE_BAD_OPTION, 0,
			"--hide: \"%s\" is a path inside the sandbox, and rules go by the host's; "
			"write it below %s",
			item, plan_text_of(b, place->source));
	else if (tree)
		status = error_set(err, FAILURE_BAD_OPTION, 0,
			"--hide: \"%s\" lies in %s, which is shown as it is and where nothing can "
			"be hidden; --view fuse hides there, too",
			item, tree);
	else
		config_add_hide(config, pattern);
	free(pattern);
	return status;
}

/*
 * What the host has at the beginning of FILE=CONTENT: 'd' for a directory, 'f' for anything else, 0
 * for nothing.
 */
static char kind_of(const char *item, size_t length)
{
	char *beginning = strndup(item, length), *path = beginning ? expand(beginning, true) : NULL,
	     kind = 0;
	struct stat st;

	if (path && lstat(path, &st) == 0)
		kind = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? 'd' : 'f';
	free(beginning);
	free(path);
	return kind;
}

/*
 * The = behind FILE, which may have some itself: in directories that are there, or as the longest
 * name that is.
 */
static const char *end_of_file(const char *item)
{
	const char *base = item, *found;

	for (const char *slash = strchr(item + 1, '/');
		slash && kind_of(item, (size_t)(slash - item)) == 'd';
		slash = strchr(slash + 1, '/'))
		base = slash;
	found = strchr(base, '=');
	for (const char *next = found; next && next - item < PATH_MAX; next = strchr(next + 1, '='))
		if (kind_of(item, (size_t)(next - item)) != 0)
			found = next;
	return found ? found : strchr(item, '=');
}

static int add_stand_in(const char *item, struct config_builder *config, struct error *err)
{
	const char *equals = end_of_file(item);
	char *file = strndup(item, (size_t)(equals - item)),
	     *path = file ? expand(file, true) : NULL;
	int status =
		path ? 0 : error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "taking up --mask");

	if (path)
		config_add_mask(config, path, equals + 1);
	free(file);
	free(path);
	return status;
}

static int add_rules(const struct options *o, const struct plan_builder *b,
	struct config_builder *config, struct error *err)
{
	for (size_t i = 0; i < o->hide.count; i++)
		if (add_pattern(o->hide.items[i], b, config, err) < 0)
			return -1;
	for (size_t i = 0; i < o->mask.count; i++)
		if (add_stand_in(o->mask.items[i], config, err) < 0)
			return -1;
	return 0;
}

/* ---- the configuration ---- */

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/' && path[1] && path[1] != '/';
	return depth;
}

/* Shallow places first, else as they were given. */
static void sort(struct plan_builder *b, struct plan_bind *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct plan_bind row = rows[i];
		size_t depth = depth_of(plan_text_of(b, row.target)), at = i;

		for (; at > 0 && depth_of(plan_text_of(b, rows[at - 1].target)) > depth; at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* Every place that lies in another one's tree of the view. */
static void add_places(const struct plan_builder *b, struct config_builder *config)
{
	size_t count;
	const struct plan_bind *rows = plan_binds_of(b, &count);

	for (size_t i = 0; i < count; i++) {
		const char *outer = plan_text_of(b, rows[i].target);

		if (!(rows[i].flags & PLAN_BIND_VIEW))
			continue;
		for (size_t j = 0; j < count; j++) {
			const char *inner = plan_text_of(b, rows[j].target);
			struct stat st;

			if (is_below(inner, outer) &&
				stat(plan_text_of(b, rows[j].source), &st) == 0)
				config_add_place(config, inner + strlen(outer) + 1, rows[i].view,
					S_ISDIR(st.st_mode));
		}
	}
}

static void add_unlogged(struct view_summary *summary, const char *target)
{
	size_t length = strlen(target) + 1;
	char *grown = realloc(summary->unlogged, summary->unlogged_length + length);

	if (!grown)
		return;
	memcpy(grown + summary->unlogged_length, target, length);
	summary->unlogged = grown;
	summary->unlogged_length += length;
}

/* Which of the named trees a row with PLAN_BIND_SCRATCH is. */
static void note_scratch(const struct options *o, const char *target, struct sandbox_plan *out)
{
	for (size_t i = 0; i < o->ro_count && out->scratch_count < PLAN_SCRATCH_MAX; i++)
		if (o->ro[i].scratch && strcmp(o->ro[i].target, target) == 0) {
			out->scratch[out->scratch_count++] = i;
			return;
		}
}

static void begin_config(const struct sandbox_request *in, const struct confine_limits *limits,
	struct config_builder *b)
{
	const char *home = getenv("HOME");

	config_begin(b, home ? home : "");
	b->config.server_uid = in->outside_uid;
	b->config.server_gid = in->outside_gid;
	b->config.owner_uid = limits->uid;
	b->config.owner_gid = limits->gid;
	b->config.flags = (in->options->no_default_hide ? CONFIG_NO_SECRETS : 0) |
		(in->events ? CONFIG_SEND_OPENS : 0);
}

int plan_view(const struct sandbox_request *in, struct plan_builder *b, struct sandbox_plan *out,
	struct confinement *c, struct view_summary *summary, struct error *err)
{
	size_t count;
	struct plan_bind *rows = plan_binds_of(b, &count);
	struct config_builder config;
	uint32_t number = 0;

	if (plan_has_failed(b))
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
			"building the plan of the sandbox");
	begin_config(in, &out->spawn.limits, &config);
	for (size_t i = 0; i < count; i++)
		number += rows[i].flags & PLAN_BIND_VIEW ? 1 : 0;
	if (number > 0)
		sort(b, rows, count);
	number = 0;
	for (size_t i = 0; i < count; i++) {
		const char *source = plan_text_of(b, rows[i].source),
			   *target = plan_text_of(b, rows[i].target);
		unsigned flags = (rows[i].flags & PLAN_BIND_RUNTIME ? CONFIG_TREE_RUNTIME : 0) |
			(rows[i].flags & PLAN_BIND_OPTIONAL ? CONFIG_TREE_OPTIONAL : 0);
		struct stat st;

		if (rows[i].flags & PLAN_BIND_VIEW) {
			rows[i].view = number++;
			config_add_tree(&config, source, target, flags);
			if (rows[i].flags & PLAN_BIND_SCRATCH)
				note_scratch(in->options, target, out);
		} else if (lstat(source, &st) == 0 && !S_ISLNK(st.st_mode)) {
			add_unlogged(summary, target);
		}
	}
	c->view = number == 0 ? "bind" : in->options->view == VIEW_FUSE ? "fuse" : "mixed";
	if (number == 0) {
		packer_free(&config.packer);
		return 0;
	}
	add_places(b, &config);
	if (add_rules(in->options, b, &config, err) < 0) {
		packer_free(&config.packer);
		return -1;
	}
	summary->present = true;
	c->scratch = out->scratch_count > 0;
	out->view_config = config_finish(&config, err);
	out->view_index = out->fd_count;
	b->plan.view_fd_index = (int32_t)out->fd_count;
	out->fds[out->fd_count++] = -1; /* comes from the server */
	return out->view_config < 0 ? -1 : 0;
}
