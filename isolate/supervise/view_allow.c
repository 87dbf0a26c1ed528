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

/* How much of path a named directory above it is, or 0: at least the directory of what was to be written lies in it. */
static size_t covers(const char *directory, const char *path)
{
	size_t length = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return 1;
	return strncmp(path, directory, length) == 0 && path[length] == '/' ? length : 0;
}

/* A write is let through for a directory: that of the file, at the place where it was shown. */
static char *say_scratch(const struct options *o, const struct view_refusal *r)
{
	char *source = NULL, *target = NULL, *advice = NULL;
	const char *slash = strrchr(r->path, '/');
	const struct bind *shown = NULL;
	size_t most = 0;

	for (size_t i = 0; i < o->ro_count; i++) {
		char *real = realpath(o->ro[i].source, NULL);
		size_t length = real ? covers(real, r->path) : 0;

		if (length > most) {
			most = length;
			shown = &o->ro[i];
		}
		free(real);
	}
	if (!shown || !slash || slash == r->path)
		return NULL;
	if (most == 1)
		most = 0; /* the root of the host: the slash is the first one of what follows */
	if (asprintf(&source, "%.*s", (int)(slash - r->path), r->path) < 0)
		source = NULL;
	if (asprintf(&target, "%s%.*s", strcmp(shown->target, "/") == 0 ? "" : shown->target, (int)(slash - r->path - (ptrdiff_t)most), r->path + most) < 0)
		target = NULL;
	if (source && target)
		advice = say("--scratch", source, target);
	free(source);
	free(target);
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
