/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's environment. See environment.h.
 *
 * It is built from nothing, so that no credential in the caller's gets in by being forgotten. A later value of a name takes the place of an earlier one, because
 * getenv(3) inside would find the first.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One NAME=VALUE; a later one takes the place of an earlier one of the same name. */
static int set_variable(struct string_list *env, const char *name, size_t name_length, const char *value)
{
	char *line = NULL, **grown;

	if (asprintf(&line, "%.*s=%s", (int)name_length, name, value) < 0)
		return -1;
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->items[i], line, name_length + 1) == 0) {
			free(env->items[i]);
			env->items[i] = line;
			return 0;
		}
	grown = realloc(env->items, (env->count + 1) * sizeof *grown);
	if (!grown) {
		free(line);
		return -1;
	}
	env->items = grown;
	env->items[env->count++] = line;
	return 0;
}

static int collect_environment(struct string_list *env, const struct options *o, const char *home, const char *temporary)
{
	const char *const own[][2] = {
		{ "PATH", "/usr/local/bin:/usr/bin:/bin" }, { "LANG", "C.UTF-8" }, { "HOME", home }, { "TMPDIR", temporary },
		{ "TERM", o->tty ? getenv("TERM") : NULL },
	};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i][1] && set_variable(env, own[i][0], strlen(own[i][0]), own[i][1]) < 0)
			return -1;
	for (size_t i = 0; i < o->inherit_env.count; i++) {
		const char *name = o->inherit_env.items[i], *value = getenv(name);

		if (value && set_variable(env, name, strlen(name), value) < 0)
			return -1;
	}
	for (size_t i = 0; i < o->env.count; i++) {
		const char *equals = strchr(o->env.items[i], '=');

		if (equals && set_variable(env, o->env.items[i], (size_t)(equals - o->env.items[i]), equals + 1) < 0)
			return -1;
	}
	return 0;
}

int environment_add(struct plan_builder *b, const struct options *o, const char *home, const char *temporary, struct error *err)
{
	struct string_list env = { NULL, 0 };
	int status = collect_environment(&env, o, home, temporary);

	if (status < 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "making the program's environment");
	for (size_t i = 0; i < env.count; i++) {
		if (status == 0)
			plan_add_environment(b, env.items[i]);
		free(env.items[i]);
	}
	free(env.items);
	return status;
}
