/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would have allowed it. See view_advice.h.
 *
 * Advice that does not work is worse than none, so it is given only where the rule decided by this very name, and not where the file is hidden under another one, where the user's own rule names
 * the same path (of two equal rules the one that hides wins), or where the name cannot be written as the option's value.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/view_advice.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/view/view_event.h"
#include "isolate/base/json_write.h"
#include "isolate/base/text.h"

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

/* Where a directory of the host's is shown by what was named at one place; NULL for nowhere. The caller's. */
static char *place_of(const struct bind *named, const char *directory, bool *is_itself)
{
	char *real = realpath(named->source, NULL), *place = NULL;
	size_t length = real && strcmp(real, "/") != 0 ? strlen(real) : 0;
	struct stat st;

	*is_itself = real && strcmp(real, directory) == 0;
	if (real && strncmp(directory, real, length) == 0 && (directory[length] == '/' || directory[length] == '\0') && stat(real, &st) == 0 && S_ISDIR(st.st_mode) &&
	    asprintf(&place, "%s%s", strcmp(named->target, "/") == 0 ? "" : named->target, directory + length) < 0)
		place = NULL;
	free(real);
	return place;
}

/* The option for a directory at the place where it is shown, or NULL: where it is shown at two, nobody knows which was meant. only_itself: it must be what was named. */
static char *say_directory(const struct options *o, const char *directory, bool only_itself)
{
	char *place = NULL, *advice = NULL;
	bool is_one = true;

	for (size_t i = 0; i < o->ro_count; i++) {
		bool is_itself;
		char *next = place_of(&o->ro[i], directory, &is_itself);

		if (next && (is_itself || !only_itself)) {
			is_one = is_one && (!place || strcmp(place, next) == 0);
			free(place);
			place = next;
		} else {
			free(next);
		}
	}
	if (is_one && place)
		advice = say("--scratch", directory, place);
	free(place);
	return advice;
}

/* A write is let through for a directory: what was named, or the one that it lies in. */
static char *say_scratch(const struct options *o, const struct view_refusal *r)
{
	char *advice = say_directory(o, r->path, true), *slash = strrchr(r->path, '/'), *above;

	if (advice || !slash || slash == r->path || !(above = strndup(r->path, (size_t)(slash - r->path))))
		return advice;
	advice = say_directory(o, above, false);
	free(above);
	return advice;
}

/* Whether a directory lies in a work tree of Git. */
static bool is_in_repository(const char *directory)
{
	char path[PATH_MAX + sizeof "/.git"], *slash;

	for (snprintf(path, PATH_MAX, "%s", directory); (slash = strrchr(path, '/')); *slash = '\0') {
		size_t length = strlen(path);
		bool found;

		strcpy(path + length, "/.git");
		found = access(path, F_OK) == 0;
		path[length] = '\0';
		if (found)
			return true;
	}
	return false;
}

static bool hid_in_repository(const struct view_summary *summary, const struct bind *named)
{
	char *real = named->scratch ? realpath(named->source, NULL) : NULL;
	bool hid = false;

	for (size_t i = 0; real && i < VIEW_REFUSALS; i++) {
		const struct view_refusal *r = &summary->refused[i];

		hid |= r->path && r->rule_number >= 0 && strncmp(r->path, real, strlen(real)) == 0;
	}
	hid = hid && is_in_repository(real);
	free(real);
	return hid;
}

void view_allow(struct view_summary *summary, const struct options *options, const struct policy *policy)
{
	for (size_t i = 0; i < options->ro_count; i++)
		summary->hid_in_repository |= hid_in_repository(summary, &options->ro[i]);
	for (size_t i = 0; i < VIEW_REFUSALS; i++) {
		struct view_refusal *r = &summary->refused[i];

		free(r->allow);
		r->allow = NULL;
		if (!r->path || r->rule_number == EVENT_RULE_KERNEL || r->rule_number == EVENT_RULE_DESCRIPTORS)
			continue;
		r->allow = r->rule_number == EVENT_RULE_READ_ONLY ? say_scratch(options, r) : say_ro(policy, r);
	}
}
