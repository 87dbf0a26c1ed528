/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: rules and paths of the view.
 *
 * The input is lines: "+path" shows, "-pattern" hides, "=path" masks, "!" adds the secrets,
 * anything else is a path to decide on. Each decision is compared with a slow and plain one, which
 * looks at every rule for every part of the path, and patterns are compared with a matcher that
 * tries everything.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/view/glob.h"
#include "fs/view/object.h"
#include "fs/view/view_policy.h"
#include "fs/view/node_tree.h"

enum { LINES_MAX = 24, LINE_MAX_BYTES = 48 };

struct rule {
	char kind;
	char text[LINE_MAX_BYTES + 4];
	bool literal;
};

/*
 * Without slashes at the ends and twice in a row, dots as names, and control of its length: what
 * the callers of the policy promise.
 */
static void tidy(const char *line, size_t length, char *out)
{
	size_t used = 0;

	for (size_t i = 0; i < length && used < LINE_MAX_BYTES; i++) {
		if (line[i] == '\0' || (line[i] == '/' && (used == 0 || out[used - 1] == '/')))
			continue;
		out[used++] = line[i];
	}
	while (used > 0 && out[used - 1] == '/')
		used--;
	out[used] = '\0';
}

/* Tries everything; only for short patterns with few stars. */
static bool slow_match(const char *p, const char *s)
{
	if (strcmp(p, "**") == 0)
		return true;
	if (strncmp(p, "**/", 3) == 0) {
		if (*s && slow_match(p + 3, s))
			return true;
		s = *s ? s + strcspn(s, "/") : s;
		return *s ? slow_match(p, s + 1) : slow_match(p + 3, "");
	}
	if (!*s)
		return !*p;
	if (!*p)
		return false;
	size_t pn = strcspn(p, "/"), sn = strcspn(s, "/");

	if (!glob_component(p, pn, s, sn))
		return false;
	if (!p[pn])
		return !s[sn];
	if (!s[sn])
		return slow_match(p + pn + 1, "");
	return slow_match(p + pn + 1, s + sn + 1);
}

static bool rule_matches(const struct rule *r, const char *path)
{
	char pattern[LINE_MAX_BYTES + 8];

	if (r->literal || r->kind != '-')
		return strcmp(r->text, path) == 0;
	snprintf(pattern, sizeof pattern, "**/%s", r->text);
	return slow_match(pattern, path);
}

/* What the header of policy.h says, taken word by word; WALK is left to the other. */
static int slow_decide(const struct rule *rules, size_t count, const char *path)
{
	char prefix[LINE_MAX_BYTES + 4];
	int decision = POLICY_HIDE;

	for (size_t at = 0;; at++) {
		const struct rule *best = NULL;

		if (path[at] != '/' && path[at] != '\0')
			continue;
		memcpy(prefix, path, at);
		prefix[at] = '\0';
		for (size_t i = 0; i < count; i++) {
			bool exact = rules[i].literal || rules[i].kind != '-',
			     best_exact = best && (best->literal || best->kind != '-');

			if (!rule_matches(&rules[i], prefix))
				continue;
			if (!best || (exact && !best_exact) ||
				(exact == best_exact && rules[i].kind == '-'))
				best = &rules[i];
		}
		if (best)
			decision = best->kind == '+' ? POLICY_SHOW
				: best->kind == '='  ? POLICY_MASK
						     : POLICY_HIDE;
		else if (decision == POLICY_MASK && at > 0)
			decision = POLICY_HIDE;
		if (!path[at])
			return decision;
	}
}

static void check(const struct policy *p, const struct rule *rules, size_t count, bool secrets,
	const char *path)
{
	struct policy_verdict v = policy_decide(p, path, true);
	int wanted = slow_decide(rules, count, path),
	    got = v.decision == POLICY_WALK ? POLICY_HIDE : v.decision;
	struct policy_verdict with = policy_decide(p, path, false);

	if (got != wanted)
		abort();
	if (!secrets && (with.decision != v.decision || with.rule != v.rule))
		abort();
	if (policy_rule_shown(p, v.rule) != v.rule)
		abort();
	if (v.rule != POLICY_RULE_NONE &&
		((size_t)v.rule >= policy_rule_count(p) || !*policy_rule_id(p, v.rule)))
		abort();
}

/*
 * The rules that hide, alone, hide all that they hide among the others; a second place that is
 * hidden for one of them is hidden, or named exactly.
 */
static void check_hides(struct policy *p, const char *path)
{
	struct policy *hides = policy_only_hides(p);
	struct policy_verdict v = policy_decide(p, path, false), alone;

	if (!hides)
		return;
	alone = policy_decide(hides, path, false);
	if (policy_rule_hides(p, v.rule) && alone.rule == POLICY_RULE_NONE)
		abort();
	if (alone.rule != POLICY_RULE_NONE && *path &&
		policy_hide_as(hides, alone.rule, path) >= 0) {
		v = policy_decide(hides, path, false);
		if (v.decision == POLICY_SHOW ||
			strcmp(policy_rule_id(hides, v.rule),
				policy_rule_id(hides, policy_rule_shown(hides, v.rule))) != 0)
			abort();
	}
	policy_free(hides);
}

/* Nodes come and go with the names of the input, and their paths are put together again. */
static void check_tree(const char *path)
{
	struct tree *t = tree_new();
	struct node_identity id = { .kind = NODE_HOST, .is_directory = true, .ino = 1 };
	struct node *n = t ? tree_enter(t, tree_top(t), "0", &id) : NULL;
	char copy[LINE_MAX_BYTES + 4], back[LINE_MAX_BYTES + 4], *save = NULL;
	uint64_t ids[LINE_MAX_BYTES + 4];
	size_t depth = 0;

	if (!n)
		return;
	ids[depth++] = n->id;
	strcpy(copy, path);
	for (char *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		id.ino++;
		n = tree_enter(t, n, name, &id);
		ids[depth++] = n->id;
	}
	if (tree_path(n, back, sizeof back) != (ssize_t)strlen(path) || strcmp(back, path) != 0)
		abort();
	for (size_t i = 0; i < depth; i++)
		tree_forget(t, ids[i], 1);
	if (tree_size(t) != 1)
		abort();
	tree_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rule rules[LINES_MAX];
	struct policy *p = policy_new();
	size_t count = 0, lines = 0;
	bool secrets = false;

	for (const char *at = (const char *)data, *end = at + size;
		p && at < end && lines < LINES_MAX; lines++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
		struct rule r = { .kind = length ? *at : '\0' };

		if (r.kind == '!') {
			secrets |= policy_hide_secrets(p) == 0;
		} else if (r.kind == '+' || r.kind == '-' || r.kind == '=') {
			char anchored[sizeof r.text + 1];

			tidy(at + 1, length - 1, r.text);
			r.literal = r.kind != '-' ||
				(length > 1 && at[1] == '/' &&
					glob_is_literal(r.text, strlen(r.text)));
			snprintf(anchored, sizeof anchored, "%s%s", r.literal ? "/" : "", r.text);
			if (*r.text &&
				(r.kind == '+' ? policy_show(p, "s", anchored)
						: r.kind == '-'
						? policy_hide(p, "h", anchored, false)
						: policy_mask(p, "m", anchored, "x", 1)) >= 0)
				rules[count++] = r;
		} else if (length > 0) {
			tidy(at, length, r.text);
			check(p, rules, count, secrets, r.text);
			check_hides(p, r.text);
			if (glob_fault(r.text) && !*glob_fault(r.text))
				abort();
			check_tree(r.text);
		}
		at += length + 1;
	}
	policy_free(p);
	return 0;
}
