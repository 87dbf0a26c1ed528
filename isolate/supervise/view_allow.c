/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would have allowed it. See view_allow.h.
 *
 * Advice that does not work is worse than none, so it is given only where the rule decided by this very name, and not where the file is hidden under another one, where the user's own rule names
 * the same path (of two equal rules the one that hides wins), or where the name cannot be written as the option's value.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/view_allow.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/event.h"
#include "isolate/json_write.h"
#include "isolate/text.h"

static bool is_text(const char *text)
{
	size_t left = strlen(text), length;
	uint32_t code_point;

	for (; left > 0; text += length, left -= length) {
		length = text_decode((const unsigned char *)text, left, &code_point, NULL);
		if (length == 0)
			return false;
	}
	return true;
}

/* One word of a shell's, whatever the bytes are: quoted where that is needed. */
static void add_word(struct buffer *out, const char *text)
{
	static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@%=:";
	bool quote = false;

	for (const char *at = text; *at; at++)
		quote |= strchr(PLAIN, *at) == NULL && (signed char)*at > 0;
	if (quote)
		buffer_add_text(out, "'");
	for (const char *at = text; *at; at++)
		if (*at == '\'')
			buffer_add_text(out, "'\\''");
		else
			buffer_add(out, at, 1);
	if (quote)
		buffer_add_text(out, "'");
}

/* The option for what is shown from one place at another, or NULL. After a colon the place inside would begin, so with one it is written out; a component that ends in one cannot be told apart. */
static char *say(const char *option, const char *source, const char *target)
{
	struct buffer out = BUFFER_INIT;
	char *both = NULL;

	if (!is_text(source) || !is_text(target) || strstr(source, ":/"))
		return NULL;
	if ((strcmp(source, target) != 0 || strchr(source, ':')) && asprintf(&both, "%s:%s", source, target) < 0)
		return NULL;
	buffer_add_text(&out, option);
	buffer_add_text(&out, " ");
	add_word(&out, both ? both : source);
	free(both);
	if (!out.failed)
		return out.data;
	buffer_free(&out);
	return NULL;
}

static char *say_ro(const struct policy *policy, const struct view_refusal *r)
{
	struct policy_verdict by_name = policy_decide(policy, r->path, false);
	size_t depth = 0;

	if (r->is_write)
		return NULL; /* to be shown is not enough */
	for (const char *at = r->path; *at; at++)
		depth += *at == '/' && at[1] != '\0' && at[1] != '/';
	if (r->rule_number != POLICY_RULE_NONE) {
		if (by_name.decision != POLICY_HIDE || policy_rule_told(policy, by_name.rule) != r->rule_number)
			return NULL;
		if (by_name.exact && by_name.depth == depth && !policy_rule_is_built_in(policy, by_name.rule))
			return NULL;
	}
	return say("--ro", r->path, r->path);
}

/* How much of path the path of a named directory is, or -1 where it does not lie there. */
static int covers(const char *directory, const char *path)
{
	size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
	struct stat st;

	if (strncmp(path, directory, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return -1;
	return stat(directory, &st) == 0 && S_ISDIR(st.st_mode) ? (int)length : -1;
}

/* Where a directory of the host's is shown by one --ro. NULL: nowhere. The caller's. */
static char *place_of(const struct bind *shown, const char *directory)
{
	char *real = realpath(shown->source, NULL), *target = NULL;
	int length = real ? covers(real, directory) : -1;

	if (length >= 0 && asprintf(&target, "%s%s", strcmp(shown->target, "/") == 0 ? "" : shown->target, directory + length) < 0)
		target = NULL;
	free(real);
	return target;
}

static bool is_named(const struct bind *shown, const char *path)
{
	char *real = realpath(shown->source, NULL);
	bool same = real && strcmp(real, path) == 0;

	free(real);
	return same;
}

/* A write is let through for a directory, at the place where it was shown. Where it is shown at two, nobody knows which was meant. */
static char *say_scratch(const struct options *o, const struct view_refusal *r)
{
	char *directory = strdup(r->path), *place = NULL, *advice = NULL;
	bool is_one = directory != NULL;

	/* What is itself a named directory is the whole of it, anything else lies in one. */
	for (int climbs = 0; is_one && !place && climbs < 2; climbs++) {
		char *slash = strrchr(directory, '/');

		if (climbs == 1 && (!slash || slash == directory))
			break;
		if (climbs == 1)
			*slash = '\0';
		for (size_t i = 0; i < o->ro_count; i++) {
			char *target = climbs == 1 || is_named(&o->ro[i], directory) ? place_of(&o->ro[i], directory) : NULL;

			is_one = is_one && (!target || !place || strcmp(target, place) == 0);
			if (target && !place)
				place = target;
			else
				free(target);
		}
	}
	if (is_one && place)
		advice = say("--scratch", directory, place);
	free(directory);
	free(place);
	return advice;
}

void view_allow(struct view_summary *summary, const struct options *options, const struct policy *policy)
{
	for (size_t i = 0; i < VIEW_REFUSALS; i++) {
		struct view_refusal *r = &summary->refused[i];

		free(r->allow);
		r->allow = NULL;
		if (!r->path || r->rule_number == EVENT_RULE_KERNEL || r->rule_number == EVENT_RULE_DESCRIPTORS)
			continue;
		r->allow = r->rule_number == EVENT_RULE_READ_ONLY ? say_scratch(options, r) : say_ro(policy, r);
	}
}
