/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composing a view. See compose_view.h.
 *
 * A place inside another one's tree has to exist there before something can be mounted on it, and the view is read-only: so the server is told of every such place, and
 * shows an empty directory or file where the host has nothing. Nothing is ever made on the host.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/compose_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/config.h"
#include "isolate/confine/privileges.h"

static bool has_scratch(const struct options *o)
{
	for (size_t i = 0; i < o->ro_count; i++)
		if (o->ro[i].scratch)
			return true;
	return false;
}

int compose_view_check(const struct composition_input *in, struct error *err)
{
	const struct options *o = in->options;
	const char *option = o->hide.count ? "hide" : o->mask.count ? "mask" : has_scratch(o) ? "scratch" : NULL;

	if (!option && in->isolated)
		return 0;
	if (!option)
		option = o->view == VIEW_FUSE ? "view" : NULL;
	if (!in->isolated && option)
		return error_set(err, FAILURE_BAD_OPTION, 0, "--%s needs a root of its own, and the tier subprocess shows the host's files as they are", option);
	if (in->isolated && o->view == VIEW_BIND)
		return error_set(err, FAILURE_BAD_OPTION, 0, "--%s needs FUSE: --view bind shows everything below a named path as it is, read-only", option);
	if (o->mask.count && o->ro_count == 0)
		return error_set(err, FAILURE_BAD_OPTION, 0, "--mask: nothing is named, so there is no file to stand in for; name its directory with --ro");
	return 0;
}

static const char *text_of(const struct plan_builder *b, struct plan_text text)
{
	return b->bytes.data + text.offset;
}

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
		size_t depth = depth_of(text_of(b, row.target)), at = i;

		for (; at > 0 && depth_of(text_of(b, rows[at - 1].target)) > depth; at--)
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
static void add_places(const struct plan_builder *b, const struct plan_bind *rows, size_t count, struct plan_builder *config)
{
	for (size_t i = 0; i < count; i++) {
		const char *outer = text_of(b, rows[i].target);

		if (!(rows[i].flags & PLAN_BIND_VIEW))
			continue;
		for (size_t j = 0; j < count; j++) {
			const char *inner = text_of(b, rows[j].target);
			struct stat st;

			if (is_below(inner, outer) && stat(text_of(b, rows[j].source), &st) == 0)
				plan_add_copy(config, inner + strlen(outer) + 1, rows[i].view, S_ISDIR(st.st_mode));
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

/* A path or pattern of the caller's: "~/" and "./" become what they stand for. Returns a new string, or NULL. */
static char *expand(const char *text, bool is_path)
{
	const char *home = getenv("HOME");
	char *whole = NULL, *here;
	int status = -1;

	if (text[0] == '~' && text[1] == '/' && home && home[0] == '/')
		return asprintf(&whole, "%s%s", home, text + 1) < 0 ? NULL : whole;
	if (text[0] == '/' || (!is_path && strncmp(text, "./", 2) != 0))
		return strdup(text);
	here = getcwd(NULL, 0);
	if (here)
		status = asprintf(&whole, "%s/%s", strcmp(here, "/") == 0 ? "" : here, text + (strncmp(text, "./", 2) == 0 ? 2 : 0));
	free(here);
	return status < 0 ? NULL : whole;
}

/* A slip in a rule that hides must not pass for a rule: a set without its end, or the braces of a shell, which mean themselves here. NULL when there is none. */
static const char *fault_of(const char *pattern)
{
	for (const char *at = pattern; *at; at++) {
		if (*at == '{' || *at == '}')
			return "a brace; name each alternative with a --hide of its own";
		if (*at == '[') {
			const char *end = strchr(at + 1 + (at[1] == '!' || at[1] == '^') + 1, ']');

			if (!at[1] || !at[2] || !end)
				return "a [ without its ]";
			at = end;
		}
	}
	return NULL;
}

static int add_rules(const struct options *o, struct plan_builder *config, struct error *err)
{
	for (size_t i = 0; i < o->hide.count; i++) {
		const char *fault = fault_of(o->hide.items[i]);
		char *pattern = expand(o->hide.items[i], false);

		if (!pattern || !pattern[strspn(pattern, "/")]) {
			free(pattern);
			return error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" names nothing", o->hide.items[i]);
		}
		if (fault) {
			free(pattern);
			return error_set(err, FAILURE_BAD_OPTION, 0, "--hide: \"%s\" has %s; it would hide nothing", o->hide.items[i], fault);
		}
		plan_add_argument(config, pattern);
		free(pattern);
	}
	for (size_t i = 0; i < o->mask.count; i++) {
		const char *item = o->mask.items[i], *equals = strchr(item, '=');
		char *file = strndup(item, (size_t)(equals - item)), *path = file ? expand(file, true) : NULL;

		if (path)
			plan_add_file(config, path, equals + 1, strlen(equals + 1));
		free(file);
		free(path);
		if (!path)
			return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "taking up --mask");
	}
	return 0;
}

/* Which of the named trees a row with PLAN_BIND_SCRATCH is. */
static void note_scratch(const struct options *o, const char *target, struct composition *out)
{
	for (size_t i = 0; i < o->ro_count && out->scratch_count < PLAN_SCRATCH_MAX; i++)
		if (o->ro[i].scratch && strcmp(o->ro[i].target, target) == 0) {
			out->scratch[out->scratch_count++] = i;
			return;
		}
}

static void begin_config(const struct composition_input *in, struct plan_builder *config)
{
	const char *home = getenv("HOME");

	plan_begin(config);
	config->head.inside_uid = in->outside_uid;
	config->head.inside_gid = in->outside_gid;
	config->head.root_bytes = INSIDE_ID;
	config->head.body_flags = (in->options->no_default_hide ? CONFIG_NO_SECRETS : 0) | (in->events ? CONFIG_SEND_OPENS : 0);
	config->head.command = plan_add_text(config, "", 0);
	config->head.directory = plan_add_text(config, home ? home : "", home ? strlen(home) : 0);
}

int compose_view(const struct composition_input *in, struct plan_builder *b, struct composition *out, struct confinement *c, struct view_summary *summary,
		 struct error *err)
{
	struct plan_bind *rows = (struct plan_bind *)(void *)b->binds.data;
	size_t count = b->binds.length / sizeof *rows;
	struct plan_builder config;
	uint32_t number = 0;

	if (b->binds.failed || b->bytes.failed)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "building the plan of the sandbox");
	begin_config(in, &config);
	for (size_t i = 0; i < count; i++)
		number += rows[i].flags & PLAN_BIND_VIEW ? 1 : 0;
	if (number > 0)
		sort(b, rows, count);
	number = 0;
	for (size_t i = 0; i < count; i++) {
		const char *source = text_of(b, rows[i].source), *target = text_of(b, rows[i].target);
		unsigned flags = (rows[i].flags & PLAN_BIND_RUNTIME ? CONFIG_TREE_RUNTIME : 0) | (rows[i].flags & PLAN_BIND_OPTIONAL ? CONFIG_TREE_OPTIONAL : 0);
		struct stat st;

		if (rows[i].flags & PLAN_BIND_VIEW) {
			rows[i].view = number++;
			plan_add_bind(&config, source, target, flags);
			if (rows[i].flags & PLAN_BIND_SCRATCH)
				note_scratch(in->options, target, out);
		} else if (lstat(source, &st) == 0 && !S_ISLNK(st.st_mode)) {
			add_unlogged(summary, target);
		}
	}
	c->view = number == 0 ? "bind" : in->options->view == VIEW_FUSE ? "fuse" : "mixed";
	if (number == 0) {
		plan_abandon(&config);
		return 0;
	}
	add_places(b, rows, count, &config);
	if (add_rules(in->options, &config, err) < 0) {
		plan_abandon(&config);
		return -1;
	}
	summary->present = true;
	out->view_config = plan_finish(&config, err);
	out->view_index = out->fd_count;
	b->head.view_fd_index = (int32_t)out->fd_count;
	out->fds[out->fd_count++] = -1; /* comes from the server */
	return out->view_config < 0 ? -1 : 0;
}
