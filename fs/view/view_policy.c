/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules over host paths. See view_policy.h for the order among them.
 *
 * A decision on a name costs what the rules cost whose last component can begin with the name's
 * first byte: for each byte there is a list of them. A rule is then compared by its last component,
 * and only when that matches by the whole path. Deeper matches always win, so what was decided
 * above never has to be looked at again, and the cost does not grow with depth.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/view_policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/view/glob.h"

/* EFFECT_ORDINARY: the built-in rules do not count for this name. */
enum effect { EFFECT_HIDE, EFFECT_SHOW, EFFECT_MASK, EFFECT_ORDINARY };

/* Which rules are left out of a decision. */
enum { LEAVE_BUILT_IN = 1, LEAVE_CONTENT = 2 };

struct rule {
	char *id, *pattern; /* without a leading slash; "" is the root itself */
	const char *last;   /* its last component */
	size_t last_length;
	enum effect effect;
	enum policy_content holds; /* what a file must hold for the rule to count */
	bool literal;              /* a path written out */
	bool last_literal, any_depth, built_in;
	int16_t shown_as; /* index of the rule that it stands for; its own, as a rule */
	char *content;
	size_t content_length;
};

struct policy {
	struct rule *rules;
	size_t count, capacity;
	bool hides;
	int unseen; /* the rule for files whose other names could not be looked for */
	struct {
		int16_t *rules;
		size_t count;
	} by_byte[256];
};

static const struct {
	const char *id, *pattern;
	enum effect effect;
	enum policy_content holds;
} SECRETS[] = {
#define SECRET(id, pattern, what) { id, pattern, EFFECT_HIDE, POLICY_HOLDS_ANYTHING },
#define SECRET_FILE(id, pattern, content, what) \
	{ id, pattern, EFFECT_HIDE, POLICY_HOLDS_##content },
#define ORDINARY(pattern, what) { "ordinary", pattern, EFFECT_ORDINARY, POLICY_HOLDS_ANYTHING },
#include "fs/view/secrets.def"
};

struct policy *policy_new(void)
{
	return calloc(1, sizeof(struct policy));
}

static void free_rule(struct rule *r)
{
	free(r->id);
	free(r->pattern);
	free(r->content);
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free_rule(&p->rules[i]);
	for (size_t i = 0; i < 256; i++)
		free(p->by_byte[i].rules);
	free(p->rules);
	free(p);
}

/* Enters a rule under every byte that its last component can begin with. */
static int enter(struct policy *p, int16_t rule)
{
	const struct rule *r = &p->rules[rule];
	bool open = !r->last_length || strchr("*?[\\", r->last[0]);

	for (unsigned byte = 0; byte < 256; byte++) {
		int16_t *grown;

		if (!open && byte != (unsigned char)r->last[0])
			continue;
		grown = realloc(
			p->by_byte[byte].rules, (p->by_byte[byte].count + 1) * sizeof *grown);
		if (!grown)
			return -1;
		grown[p->by_byte[byte].count++] = rule;
		p->by_byte[byte].rules = grown;
	}
	return 0;
}

static char *trimmed(const char *text)
{
	size_t length;

	text += strspn(text, "/");
	length = strlen(text);
	while (length > 0 && text[length - 1] == '/')
		length--;
	return strndup(text, length);
}

static int add(struct policy *p, const char *id, const char *pattern, struct rule r)
{
	const char *slash;

	if (p->count >= POLICY_RULES_MAX)
		return -1;
	if (p->count == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 64;
		struct rule *grown = realloc(p->rules, capacity * sizeof *grown);

		if (!grown)
			return -1;
		p->rules = grown;
		p->capacity = capacity;
	}
	r.id = strdup(id);
	if (r.any_depth) {
		char *rest = trimmed(pattern);

		if (!rest || !*rest || asprintf(&r.pattern, "**/%s", rest) < 0)
			r.pattern = NULL;
		free(rest);
	} else {
		r.pattern = trimmed(pattern);
	}
	if (!r.id || !r.pattern) {
		free_rule(&r);
		return -1;
	}
	slash = strrchr(r.pattern, '/');
	r.last = slash ? slash + 1 : r.pattern;
	r.last_length = strlen(r.last);
	r.last_literal = glob_is_literal(r.last, r.last_length);
	/* "**" + one component: nothing is left to compare once that component has matched. */
	r.any_depth = strncmp(r.pattern, "**/", 3) == 0 && r.last == r.pattern + 3 &&
		strcmp(r.last, "**") != 0;
	r.shown_as = (int16_t)p->count;
	p->rules[p->count] = r;
	if (enter(p, (int16_t)p->count) < 0) {
		free_rule(&r);
		return -1;
	}
	p->hides |= r.effect == EFFECT_HIDE || r.effect == EFFECT_MASK;
	return (int)p->count++;
}

int policy_show(struct policy *p, const char *id, const char *path)
{
	return add(p, id, path, (struct rule){ .effect = EFFECT_SHOW, .literal = true });
}

int policy_hide(struct policy *p, const char *id, const char *pattern, bool built_in)
{
	bool anchored = pattern[0] == '/',
	     literal = anchored && glob_is_literal(pattern, strlen(pattern));

	return add(p, id, pattern,
		(struct rule){ .effect = EFFECT_HIDE,
			.literal = literal,
			.any_depth = !anchored,
			.built_in = built_in });
}

int policy_mask(
	struct policy *p, const char *id, const char *path, const void *content, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return -1;
	memcpy(copy, content, length);
	copy[length] = '\0';
	return add(p, id, path,
		(struct rule){ .effect = EFFECT_MASK,
			.literal = true,
			.content = copy,
			.content_length = length });
}

int policy_hide_as(struct policy *p, int rule, const char *path)
{
	int added = add(p, p->rules[rule].id, path,
		(struct rule){ .effect = EFFECT_HIDE,
			.literal = true,
			.built_in = p->rules[rule].built_in });

	if (added >= 0)
		p->rules[added].shown_as = p->rules[rule].shown_as;
	return added;
}

struct policy *policy_only_hides(const struct policy *p)
{
	struct policy *copy = policy_new();

	for (size_t i = 0; copy && i < p->count; i++) {
		const struct rule *r = &p->rules[i];

		if ((r->effect == EFFECT_HIDE || r->effect == EFFECT_ORDINARY) &&
			add(copy, r->id, r->pattern,
				(struct rule){ .effect = r->effect,
					.holds = r->holds,
					.literal = r->literal,
					.built_in = r->built_in }) < 0) {
			policy_free(copy);
			copy = NULL;
		}
	}
	return copy;
}

int policy_hide_secrets(struct policy *p)
{
	char id[64];

	for (size_t i = 0; i < sizeof SECRETS / sizeof *SECRETS; i++) {
		struct rule r = { .effect = SECRETS[i].effect,
			.holds = SECRETS[i].holds,
			.any_depth = true,
			.built_in = true };

		snprintf(id, sizeof id, "secret:%s", SECRETS[i].id);
		if (add(p, id, SECRETS[i].pattern, r) < 0)
			return -1;
	}
	return 0;
}

static bool matches(const struct rule *r, const char *path, const char *name, size_t length)
{
	if (r->literal)
		return r->last_length == length && memcmp(r->last, name, length) == 0 &&
			strcmp(r->pattern, path) == 0;
	if (r->last_literal ? r->last_length != length || memcmp(r->last, name, length) != 0
			    : strcmp(r->last, "**") != 0 &&
				!glob_component(r->last, r->last_length, name, length))
		return false;
	return r->any_depth || glob_path(r->pattern, path);
}

/* Whether a is to be preferred to b at the same depth. */
static bool beats(const struct rule *a, const struct rule *b)
{
	if (a->literal != b->literal)
		return a->literal;
	if (a->built_in != b->built_in)
		return !a->built_in;
	return a->effect == EFFECT_HIDE && b->effect != EFFECT_HIDE;
}

/* The best of the rules that match this very path, or NONE. */
static int best(const struct policy *p, const char *path, const char *name, unsigned leave)
{
	size_t length = strlen(name);
	unsigned char byte = (unsigned char)name[0];
	int found[2] = { POLICY_RULE_NONE, POLICY_RULE_NONE }; /* given, built in */
	bool ordinary = leave & LEAVE_BUILT_IN;

	for (size_t i = 0; i < p->by_byte[byte].count; i++) {
		int rule = p->by_byte[byte].rules[i];
		const struct rule *r = &p->rules[rule];

		if ((r->built_in && ordinary) ||
			(r->holds != POLICY_HOLDS_ANYTHING && leave & LEAVE_CONTENT) ||
			!matches(r, path, name, length))
			continue;
		if (r->effect == EFFECT_ORDINARY)
			ordinary = true;
		else if (found[r->built_in] < 0 || beats(r, &p->rules[found[r->built_in]]))
			found[r->built_in] = rule;
	}
	if (ordinary || found[true] < 0)
		return found[false];
	return found[false] >= 0 && beats(&p->rules[found[false]], &p->rules[found[true]])
		? found[false]
		: found[true];
}

/* Whether something that lies below path is named and not hidden at its own place. */
static bool leads_somewhere(const struct policy *p, const char *path, unsigned leave)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < p->count; i++) {
		const struct rule *r = &p->rules[i];
		int winner;

		if (r->effect == EFFECT_HIDE || !r->literal)
			continue;
		if (length > 0 &&
			(strncmp(r->pattern, path, length) != 0 || r->pattern[length] != '/'))
			continue;
		winner = best(p, r->pattern, r->last, leave);
		if (winner >= 0 && p->rules[winner].effect != EFFECT_HIDE)
			return true;
	}
	return false;
}

static struct policy_verdict settle(const struct policy *p, struct policy_verdict v,
	const char *path, int rule, uint16_t depth, unsigned leave)
{
	static const uint8_t DECISIONS[] = { [EFFECT_HIDE] = POLICY_HIDE,
		[EFFECT_SHOW] = POLICY_SHOW,
		[EFFECT_MASK] = POLICY_MASK };

	v.exact = false;
	if (rule >= 0) {
		v.decision = DECISIONS[p->rules[rule].effect];
		v.rule = (int16_t)rule;
		v.depth = depth;
		v.exact = p->rules[rule].literal;
	}
	if (v.decision == POLICY_WALK)
		v.decision = POLICY_HIDE;
	if (v.decision == POLICY_HIDE && leads_somewhere(p, path, leave))
		v.decision = POLICY_WALK;
	return v;
}

static uint16_t depth_of(const char *path)
{
	uint16_t depth = *path != '\0';

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static struct policy_verdict child(const struct policy *p, const struct policy_verdict *above,
	const char *path, const char *name, unsigned leave)
{
	struct policy_verdict inherited = *above;

	path += *path == '/';
	if (inherited.decision == POLICY_MASK) /* nothing lies below a file */
		inherited.decision = POLICY_HIDE;
	return settle(p, inherited, path, best(p, path, name, leave), depth_of(path), leave);
}

struct policy_verdict policy_child(const struct policy *p, const struct policy_verdict *above,
	const char *path, const char *name, bool runtime)
{
	return child(p, above, path, name, runtime ? LEAVE_BUILT_IN : 0);
}

struct policy_verdict policy_child_without(const struct policy *p,
	const struct policy_verdict *above, const char *path, const char *name)
{
	return child(p, above, path, name, LEAVE_CONTENT);
}

struct policy_verdict policy_decide(const struct policy *p, const char *path, bool runtime)
{
	struct policy_verdict v = { POLICY_HIDE, false, 0, POLICY_RULE_NONE };
	unsigned leave = runtime ? LEAVE_BUILT_IN : 0;
	char prefix[8192];
	size_t length;

	path += *path == '/';
	length = strlen(path);
	if (length >= sizeof prefix)
		return v;
	v = settle(p, v, "", best(p, "", "", leave), 0, leave);
	for (size_t at = 0, start = 0; length > 0 && at <= length; at++) {
		if (path[at] != '/' && path[at] != '\0')
			continue;
		memcpy(prefix, path, at);
		prefix[at] = '\0';
		/* What lies above something is a directory, and holds nothing. */
		v = child(
			p, &v, prefix, prefix + start, at < length ? leave | LEAVE_CONTENT : leave);
		start = at + 1;
	}
	return v;
}

enum policy_content policy_rule_content(const struct policy *p, int rule)
{
	return rule >= 0 && (size_t)rule < p->count ? p->rules[rule].holds : POLICY_HOLDS_ANYTHING;
}

/* The label of RFC 7468 before a key of any kind. */
static bool has_key(const char *bytes, size_t length)
{
	static const char BEGIN[] = "-----BEGIN ", KEY[] = "PRIVATE KEY";
	const char *stop = bytes + length, *at = bytes;

	while ((at = memmem(at, (size_t)(stop - at), BEGIN, sizeof BEGIN - 1))) {
		size_t label = 0;

		at += sizeof BEGIN - 1;
		while (at + label < stop &&
			((at[label] >= 'A' && at[label] <= 'Z') ||
				(at[label] >= '0' && at[label] <= '9') || at[label] == ' '))
			label++;
		if (memmem(at, label, KEY, sizeof KEY - 1))
			return true;
	}
	return false;
}

bool policy_content_found(enum policy_content content, const char *bytes, size_t length)
{
	/* npm-config's and Yarn's names of settings that hold a token or a password. */
	static const char *const TOKENS[] = { "_auth", "_password", "npmAuth" };

	if (content == POLICY_HOLDS_KEY)
		return has_key(bytes, length);
	for (size_t i = 0; content == POLICY_HOLDS_TOKEN && i < sizeof TOKENS / sizeof *TOKENS; i++)
		if (memmem(bytes, length, TOKENS[i], strlen(TOKENS[i])))
			return true;
	return content == POLICY_HOLDS_ANYTHING;
}

int policy_rule_shown(const struct policy *p, int rule)
{
	return rule >= 0 && (size_t)rule < p->count ? p->rules[rule].shown_as : rule;
}

size_t policy_rule_count(const struct policy *p)
{
	return p->count;
}

const char *policy_rule_id(const struct policy *p, int rule)
{
	return rule >= 0 && (size_t)rule < p->count ? p->rules[rule].id : "unnamed";
}

const char *policy_rule_pattern(const struct policy *p, int rule)
{
	return rule >= 0 && (size_t)rule < p->count ? p->rules[rule].pattern : "";
}

bool policy_rule_hides(const struct policy *p, int rule)
{
	return rule >= 0 && p->rules[rule].effect == EFFECT_HIDE;
}

bool policy_rule_masks(const struct policy *p, int rule)
{
	return rule >= 0 && p->rules[rule].effect == EFFECT_MASK;
}

bool policy_rule_is_built_in(const struct policy *p, int rule)
{
	return rule >= 0 && p->rules[rule].built_in;
}

const char *policy_mask_content(const struct policy *p, int rule, size_t *length)
{
	*length = p->rules[rule].content_length;
	return p->rules[rule].content;
}

bool policy_mask_in(
	const struct policy *p, const char *directory, size_t i, const char **name, int *rule)
{
	size_t length;

	directory += *directory == '/';
	length = strlen(directory);
	for (size_t r = 0; r < p->count; r++) {
		const struct rule *candidate = &p->rules[r];
		size_t above = (size_t)(candidate->last - candidate->pattern);

		if (candidate->effect != EFFECT_MASK ||
			strncmp(candidate->pattern, directory, length) != 0)
			continue;
		if (length == 0 ? above != 0
				: above != length + 1 || candidate->pattern[length] != '/')
			continue;
		if (i-- == 0) {
			*name = candidate->last;
			*rule = (int)r;
			return true;
		}
	}
	return false;
}

int policy_hide_unseen(struct policy *p)
{
	/* no path has that name: the rule is for its id alone */
	return p->unseen = policy_hide(p, "hard-link", "/\1", true);
}

int policy_rule_of_unseen(const struct policy *p)
{
	return p->unseen;
}

bool policy_hides_anything(const struct policy *p)
{
	return p->hides;
}
