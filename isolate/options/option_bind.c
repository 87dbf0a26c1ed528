/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that name two paths, and how option values are refused.
 *
 * The place inside the sandbox is made absolute and free of "." and ".." here, as text; what it
 * reaches is resolved where the root is built. The host's path stays as it was given: it is opened
 * once, later, and that open decides what it is.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/option_table.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"

int option_refuse(struct error *err, const struct option_row *row, const char *format, ...)
{
	char what[384];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return error_set(err, FAILURE_BAD_OPTION, 0, "--%s: %s", row->name, what);
}

int option_no_memory(struct error *err)
{
	return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "no memory for the options");
}

/*
 * The absolute, normalised form of path: relative ones start at the caller's directory; ".." is
 * taken as text. Returns a new string, or NULL with errno.
 */
static char *normalise(const char *path)
{
	_cleanup_free_ char *from = NULL, *whole = NULL;
	size_t used = 0;
	char *out;

	if (path[0] == '/') {
		whole = strdup(path);
	} else {
		from = getcwd(NULL, 0);
		if (from && asprintf(&whole, "%s/%s", from, path) < 0)
			whole = NULL;
	}
	out = whole ? malloc(strlen(whole) + 2) : NULL;
	if (!out)
		return NULL;
	for (const char *at = whole; *at;) {
		size_t length;

		at += strspn(at, "/");
		length = strcspn(at, "/");
		if (length == 2 && at[0] == '.' && at[1] == '.') {
			while (used > 0 && out[--used] != '/')
				;
		} else if (length > 0 && !(length == 1 && at[0] == '.')) {
			out[used++] = '/';
			memcpy(out + used, at, length);
			used += length;
		}
		at += length;
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	return out;
}

/*
 * Whether a place inside belongs to cordon: the directories that each execution has for itself, and
 * what lies in those that the kernel fills.
 */
static bool is_taken(const char *target)
{
	static const struct {
		const char *path;
		bool below;
	} TAKEN[] = {
		{ "/proc", true },
		{ "/dev", true },
		{ "/run/cordon", true },
		{ "/workspace", false },
		{ "/tmp", false },
		{ "/etc", false },
		{ "/run", false },
	};

	for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++) {
		size_t length = strlen(TAKEN[i].path);

		if (strncmp(target, TAKEN[i].path, length) == 0 &&
			(target[length] == '\0' || (TAKEN[i].below && target[length] == '/')))
			return true;
	}
	return false;
}

int option_apply_bind(struct options *o, const struct option_row *row, const char *source,
	const char *target, struct error *err)
{
	_cleanup_free_ char *inside = NULL;
	struct bind *grown;

	if (source[0] == '\0')
		return option_refuse(err, row, "an empty source");
	if (target && target[0] != '/')
		return option_refuse(err, row,
			"\"%.200s\" is no absolute path; the place inside the sandbox must start "
			"with / "
			"(a source with a colon in its name needs its place written out)",
			target);
	if (strlen(source) >= PATH_MAX || (target && strlen(target) >= PATH_MAX))
		return option_refuse(err, row, "a path longer than %d bytes", PATH_MAX - 1);
	if (o->ro_count >= OPTION_ITEMS_MAX)
		return option_refuse(err, row, "more than %d items", OPTION_ITEMS_MAX);
	errno = 0;
	inside = normalise(target ? target : source);
	if (!inside) {
		if (errno == ENOMEM)
			return option_no_memory(err);
		return error_set(err, FAILURE_PATH_MISSING, errno,
			"--%s: \"%.300s\" is relative, and the caller's directory cannot be read",
			row->name, source);
	}
	if (strcmp(inside, "/") == 0)
		return option_refuse(err, row,
			"the place inside would be /, and cover the whole sandbox; name a "
			"directory below it");
	if (is_taken(inside))
		return option_refuse(err, row,
			"the place inside, %.200s, is one that every sandbox has for itself; name "
			"another with SRC:DST",
			inside);
	grown = realloc(o->ro, (o->ro_count + 1) * sizeof *grown);
	if (!grown)
		return option_no_memory(err);
	o->ro = grown;
	grown += o->ro_count;
	*grown = (struct bind){ .source = strdup(source), .scratch = row->kind == OPTION_SCRATCH };
	if (!grown->source)
		return option_no_memory(err);
	grown->target = steal_pointer(inside);
	o->ro_count++;
	return 0;
}

int option_apply_bind_text(
	struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	const char *cut = NULL, *colon = strrchr(value, ':');
	_cleanup_free_ char *source = NULL;

	for (const char *at = value; (at = strstr(at, ":/")); at++)
		cut = at;
	cut = cut ? cut : colon;
	if (!cut)
		return option_apply_bind(o, row, value, NULL, err);
	source = strndup(value, (size_t)(cut - value));
	return source ? option_apply_bind(o, row, source, cut + 1, err) : option_no_memory(err);
}
