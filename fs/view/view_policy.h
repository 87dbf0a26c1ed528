/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the host a program may see: rules over host paths.
 *
 * A rule matches a path, and with it all that lies below. Of the rules that match a path or
 * something above it the most specific wins:
 *   1. the one that matches deeper down,
 *   2. at the same depth a path written out before a pattern,
 *   3. then one that the user gave before a built-in one;
 * and of two that are equal in all this the one that hides. What no rule matches is hidden. A
 * hidden directory that leads to something named can be walked through and shows nothing else.
 * Pure: no file is ever touched here, and a decision needs no more than the parent's decision and
 * the name.
 */
#ifndef CORDON_FS_VIEW_VIEW_POLICY_H
#define CORDON_FS_VIEW_VIEW_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_decision { POLICY_HIDE, POLICY_SHOW, POLICY_MASK, POLICY_WALK };

/* Rules that stand for themselves. */
enum { POLICY_RULE_NONE = -1, POLICY_RULES_MAX = 4096 };

/*
 * What a file must hold for a built-in rule to count; by its name alone it would be hidden without
 * need.
 */
enum policy_content { POLICY_HOLDS_ANYTHING, POLICY_HOLDS_KEY, POLICY_HOLDS_TOKEN };

struct policy_verdict {
	uint8_t decision; /* enum policy_decision */
	uint8_t exact;    /* a path written out matched this very path */
	uint16_t depth;   /* how many components the matching part has */
	int16_t rule;     /* index, or POLICY_RULE_NONE: hidden because never named */
};

struct policy;

/* An empty policy: everything is hidden. NULL without memory. */
struct policy *policy_new(void);
void policy_free(struct policy *p);

/*
 * Add a rule. Paths are absolute, without ".", ".." or double slashes. A pattern that begins with a
 * slash is matched from the host's root, any other at every depth. ids are kept as copies. Return
 * the rule's index, or -1: without memory, or when there are too many or the pattern is empty.
 */
int policy_show(struct policy *p, const char *id, const char *path);
int policy_hide(struct policy *p, const char *id, const char *pattern, bool built_in);
int policy_mask(
	struct policy *p, const char *id, const char *path, const void *content, size_t length);

/*
 * Adds a place where what a rule hides lies, too (it is a link to it). Events name that rule for
 * it; other rules keep their numbers. The index or -1.
 */
int policy_hide_as(struct policy *p, int rule, const char *path);
/* A new policy with only the rules that hide, in the same order. NULL without memory. */
struct policy *policy_only_hides(const struct policy *p);

/* Adds the built-in secrets (secrets.def) with ids "secret:ID". 0 or -1. */
int policy_hide_secrets(struct policy *p);

/* Decides on a path from its root down; runtime leaves the built-in rules out. */
struct policy_verdict policy_decide(const struct policy *p, const char *path, bool runtime);

/* Decides on path, whose last component is name, from the verdict on the directory above it. */
struct policy_verdict policy_child(const struct policy *p, const struct policy_verdict *above,
	const char *path, const char *name, bool runtime);

/*
 * Where a rule about what a file holds hides a name, the caller looks into the file (a regular one;
 * all else is ordinary). An ordinary one is decided on again by policy_child_without(), which
 * leaves these rules out.
 */
enum policy_content policy_rule_content(const struct policy *p, int rule);
bool policy_content_found(enum policy_content content, const char *bytes, size_t length);
struct policy_verdict policy_child_without(const struct policy *p,
	const struct policy_verdict *above, const char *path, const char *name);

/* The rule that events name for a rule: itself, or the one that policy_hide_as() was given. */
int policy_rule_shown(const struct policy *p, int rule);
size_t policy_rule_count(const struct policy *p);
/* "unnamed" for POLICY_RULE_NONE */
const char *policy_rule_id(const struct policy *p, int rule);
/* as it is matched; "" for none */
const char *policy_rule_pattern(const struct policy *p, int rule);
bool policy_rule_hides(const struct policy *p, int rule);
bool policy_rule_masks(const struct policy *p, int rule);
bool policy_rule_is_built_in(const struct policy *p, int rule);
/* The stand-in of a mask rule. */
const char *policy_mask_content(const struct policy *p, int rule, size_t *length);
/*
 * The i-th mask whose file lies directly in directory, as its name and rule; false when there are
 * no more.
 */
bool policy_mask_in(
	const struct policy *p, const char *directory, size_t i, const char **name, int *rule);
/*
 * Adds, as the last rule, the one by which a file with several names is hidden when they could not
 * all be looked for. Returns its number or -1.
 */
int policy_hide_unseen(struct policy *p);
/* The number of that rule. */
int policy_rule_of_unseen(const struct policy *p);
/* Whether anything is hidden by a rule at all. */
bool policy_hides_anything(const struct policy *p);

#endif
