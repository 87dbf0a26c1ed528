/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the view: patterns, and the table of which rule wins. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "fs/view/glob.h"
#include "fs/view/view_policy.h"
#include "tests/unit/tap.h"

static const struct {
	const char *pattern, *path;
	bool matches;
} PATTERNS[] = {
	{ "a", "a", true },
	{ "a", "b", false },
	{ "a", "a/b", false },
	{ "a/b", "a/b", true },
	{ "a/b", "a", false },
	{ "*", "a", true },
	{ "*", "a/b", false },
	{ "a*", "abc", true },
	{ "a*c", "abbbc", true },
	{ "a*c", "abbbd", false },
	{ "*.pem", "x.pem", true },
	{ "*.pem", ".pem", true },
	{ "?", "a", true },
	{ "?", "ab", false },
	{ "a?c", "abc", true },
	{ "[abc]", "b", true },
	{ "[abc]", "d", false },
	{ "[a-c]x", "bx", true },
	{ "[!a-c]", "d", true },
	{ "[^a-c]", "b", false },
	{ "[]]", "]", true },
	{ "[", "[", true },
	{ "[a", "[a", true },
	{ "a[", "a[", true },
	{ "\\*", "*", true },
	{ "\\*", "a", false },
	{ "\\", "\\", true },
	{ "[a-]", "-", true },
	{ "**", "a", true },
	{ "**", "a/b/c", true },
	{ "**/a", "a", true },
	{ "**/a", "x/a", true },
	{ "**/a", "x/y/a", true },
	{ "**/a", "a/x", false },
	{ "a/**", "a/b", true },
	{ "a/**", "a/b/c", true },
	{ "a/**", "a", true },
	{ "a/**/b", "a/b", true },
	{ "a/**/b", "a/x/y/b", true },
	{ "a/**/b", "a/x/c", false },
	{ "**/a/**/b", "x/a/y/b", true },
	{ "**/a/**/b", "x/b/y/a", false },
	{ "**/x/**/y/**/z", "x/y/y/x/z", true },
	{ "a**b", "axxb", true },
	{ "a**b", "a/b", false },
	{ "**/*.key", "deep/er/x.key", true },
	{ "**/.env.*", "p/.env.local", true },
	{ "**/.env.*", "p/.env", false },
	{ "\xff*", "\xff\xfe", true },
	{ "caf\xe9", "caf\xe9", true },
	{ "*a*a*a*a*a*a*a*a*a*b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

/* What a person may have meant, and whether it is a slip. */
static const struct {
	const char *pattern;
	bool slip;
} SLIPS[] = {
	{ "a", false },
	{ "*.key", false },
	{ "**/x", false },
	{ "/a/**/b", false },
	{ "/a/**", false },
	{ "[a-z]*", false },
	{ "[]]", false },
	{ "[!]a]", false },
	{ "[]-a]", false },
	{ "a\\[", false },
	{ "\\{a\\}", false },
	{ "/a/../b", false },
	{ "/a/./b", false },
	{ "a~", false },
	{ "~", false },
	{ "caf\xe9", false },
	{ "a/", false },
	{ "[a-]", false },
	{ "[-a]", false },
	{ "{a,b}", true },
	{ "a}", true },
	{ "[", true },
	{ "[a", true },
	{ "[]", true },
	{ "[!]", true },
	{ "x[a/b]y", true },
	{ "[z-a]", true },
	{ "[0-9z-a]", true },
	{ "a\\", true },
	{ "a\\/b", true },
	{ "a**b", true },
	{ "/a/**.key", true },
	{ "***", true },
	{ "./a", true },
	{ "a/../b", true },
	{ "/a/..", true },
	{ "/a*/../b", true },
	{ ".", true },
	{ "..", true },
	{ "a//b", true },
	{ "~somebody/x", true },
};

/* A policy as text: "+path" shows, "-pattern" hides, "=path" masks, "!" adds the secrets. */
static const struct {
	const char *rules[8], *path;
	enum policy_decision decision;
	const char *rule;
} CASES[] = {
	{ { "+/p" }, "/p", POLICY_SHOW, "+/p" },
	{ { "+/p" }, "/p/a/b", POLICY_SHOW, "+/p" },
	{ { "+/p" }, "/q", POLICY_HIDE, "unnamed" },
	{ { "+/p" }, "/", POLICY_WALK, "unnamed" },
	{ { "+/p/q/r" }, "/p", POLICY_WALK, "unnamed" },
	{ { "+/p/q/r" }, "/p/q", POLICY_WALK, "unnamed" },
	{ { "+/p/q/r" }, "/p/x", POLICY_HIDE, "unnamed" },
	{ { "+/p/q/r" }, "/p/q/rr", POLICY_HIDE, "unnamed" },
	{ { "+/p/q/r" }, "/p/q/r/s", POLICY_SHOW, "+/p/q/r" },
	{ { "+/p", "-/p/s" }, "/p/s", POLICY_HIDE, "-/p/s" },
	{ { "+/p", "-/p/s" }, "/p/s/deep/er", POLICY_HIDE, "-/p/s" },
	{ { "+/p", "-/p/s" }, "/p/ss", POLICY_SHOW, "+/p" },
	{ { "+/p", "-/p/s", "+/p/s/pub" }, "/p/s", POLICY_WALK, "-/p/s" },
	{ { "+/p", "-/p/s", "+/p/s/pub" }, "/p/s/pub", POLICY_SHOW, "+/p/s/pub" },
	{ { "+/p", "-/p/s", "+/p/s/pub" }, "/p/s/pub/x", POLICY_SHOW, "+/p/s/pub" },
	{ { "+/p", "-/p/s", "+/p/s/pub" }, "/p/s/other", POLICY_HIDE, "-/p/s" },
	{ { "+/p", "-/p" }, "/p", POLICY_HIDE, "-/p" },
	{ { "-/p", "+/p" }, "/p", POLICY_HIDE, "-/p" },
	{ { "+/p/s", "-s" }, "/p/s", POLICY_SHOW, "+/p/s" },
	{ { "+/p", "-s" }, "/p/s", POLICY_HIDE, "-s" },
	{ { "+/p", "-s" }, "/p/a/s/b", POLICY_HIDE, "-s" },
	{ { "+/p", "-*.key" }, "/p/a/x.key", POLICY_HIDE, "-*.key" },
	{ { "+/p", "-*.key" }, "/p/a/x.keys", POLICY_SHOW, "+/p" },
	{ { "+/p", "-/p/**/x" }, "/p/x", POLICY_HIDE, "-/p/**/x" },
	{ { "+/p", "-/p/**/x" }, "/p/a/b/x/c", POLICY_HIDE, "-/p/**/x" },
	{ { "+/p", "-/p/*/x" }, "/p/x", POLICY_SHOW, "+/p" },
	{ { "+/p", "-a/b" }, "/p/z/a/b", POLICY_HIDE, "-a/b" },
	{ { "+/p", "-a/b" }, "/p/b", POLICY_SHOW, "+/p" },
	{ { "+/p", "-/q/p" }, "/p/q/p", POLICY_SHOW, "+/p" },
	{ { "+/p", "-build/" }, "/p/build/o", POLICY_HIDE, "-build/" },
	{ { "+/p", "=/p/c" }, "/p/c", POLICY_MASK, "=/p/c" },
	{ { "+/p", "=/p/c" }, "/p/c/d", POLICY_HIDE, "=/p/c" },
	{ { "+/p", "=/p/c", "-/p/c" }, "/p/c", POLICY_HIDE, "-/p/c" },
	{ { "+/p", "=/p/c", "-c" }, "/p/c", POLICY_MASK, "=/p/c" },
	{ { "+/p", "=/p/.env", "!" }, "/p/.env", POLICY_MASK, "=/p/.env" },
	{ { "+/h", "!" }, "/h/.ssh", POLICY_HIDE, "secret:ssh" },
	{ { "+/h", "!" }, "/h/.ssh/config", POLICY_HIDE, "secret:ssh" },
	{ { "+/h", "!" }, "/h/.ssh/id_rsa", POLICY_HIDE, "secret:private-key" },
	{ { "+/h", "!" }, "/h/.config/gcloud/x", POLICY_HIDE, "secret:gcloud" },
	{ { "+/h", "!" }, "/h/.config/other", POLICY_SHOW, "+/h" },
	{ { "+/h", "!" }, "/h/.docker", POLICY_SHOW, "+/h" },
	{ { "+/h", "!" }, "/h/.docker/config.json", POLICY_HIDE, "secret:docker" },
	{ { "+/h", "!" }, "/h/p/.env.production", POLICY_HIDE, "secret:env" },
	{ { "+/h", "!" }, "/h/p/.environment", POLICY_SHOW, "+/h" },
	{ { "+/h", "!" }, "/h/.bash_history", POLICY_HIDE, "secret:history" },
	{ { "+/h", "!" }, "/h/x/cert.pem", POLICY_HIDE, "secret:pem" },
	{ { "+/h", "!" }, "/h/.mozilla/firefox", POLICY_HIDE, "secret:browser" },
	{ { "+/h", "+/h/.ssh", "!" }, "/h/.ssh/config", POLICY_SHOW, "+/h/.ssh" },
	{ { "+/h", "+/h/.ssh", "!" }, "/h/.ssh/id_rsa", POLICY_HIDE, "secret:private-key" },
	{ { "+/h", "+/h/.ssh/id_rsa", "!" }, "/h/.ssh/id_rsa", POLICY_SHOW, "+/h/.ssh/id_rsa" },
	{ { "+/h", "+/h/.ssh/id_rsa", "!" }, "/h/.ssh", POLICY_WALK, "secret:ssh" },
	{ { "+/h", "+/h/.ssh/id_rsa", "-/h/.ssh/id_rsa", "!" }, "/h/.ssh", POLICY_HIDE,
		"secret:ssh" },
	{ { "+/h", "-.env", "!" }, "/h/.env", POLICY_HIDE, "-.env" },
	{ { "+/", "!" }, "/home/u/.aws/credentials", POLICY_HIDE, "secret:aws" },
	{ { "+/" }, "/anything", POLICY_SHOW, "+/" },
	{ { "+/p", "-**" }, "/p/x", POLICY_HIDE, "-**" },
	{ { "+/p", "-**" }, "/p", POLICY_SHOW, "+/p" },
	{ { "+/p", "-/p/\xff*" }, "/p/\xff\x01", POLICY_HIDE, "-/p/\xff*" },
	{ { "-/nothing" }, "/nothing", POLICY_HIDE, "-/nothing" },
};

static struct policy *build(const char *const *rules)
{
	struct policy *p = policy_new();

	for (; p && *rules; rules++) {
		const char *rule = *rules;

		if (*rule == '+')
			policy_show(p, rule, rule + 1);
		else if (*rule == '-')
			policy_hide(p, rule, rule + 1, false);
		else if (*rule == '=')
			policy_mask(p, rule, rule + 1, "stand-in", 8);
		else
			policy_hide_secrets(p);
	}
	return p;
}

static void test_cases(void)
{
	static const char *const WORDS[] = { "hidden", "shown", "masked", "a way" };

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		struct policy *p = build(CASES[i].rules);
		struct policy_verdict v = policy_decide(p, CASES[i].path, false);

		ok(v.decision == CASES[i].decision &&
				strcmp(policy_rule_id(p, v.rule), CASES[i].rule) == 0,
			"case %zu: %s is %s by %s (got %s by %s)", i, CASES[i].path,
			WORDS[CASES[i].decision], CASES[i].rule, WORDS[v.decision],
			policy_rule_id(p, v.rule));
		policy_free(p);
	}
}

static void test_masks(void)
{
	static const char *const RULES[] = { "+/p", "=/p/a", "=/p/d/b", "=/p/c", NULL };
	struct policy *p = build(RULES);
	const char *name;
	size_t length;
	int rule;

	ok(policy_mask_in(p, "/p", 0, &name, &rule) && strcmp(name, "a") == 0,
		"the first stand-in of a directory");
	ok(policy_mask_in(p, "/p", 1, &name, &rule) && strcmp(name, "c") == 0,
		"the second, without those further down");
	ok(!policy_mask_in(p, "/p", 2, &name, &rule), "and no third");
	ok(policy_mask_in(p, "/p/d", 0, &name, &rule) && strcmp(name, "b") == 0,
		"one further down");
	is_str(policy_mask_content(p, rule, &length), "stand-in", "its content");
	ok(policy_hides_anything(p), "a stand-in hides something");
	policy_free(p);
}

static void test_runtime(void)
{
	static const char *const RULES[] = { "+/usr", "-*.key", "!", NULL };
	struct policy *p = build(RULES);

	ok(policy_decide(p, "/usr/x/cert.pem", true).decision == POLICY_SHOW,
		"the built-in list leaves the runtime alone");
	ok(policy_decide(p, "/usr/x/cert.pem", false).decision == POLICY_HIDE,
		"and not what is named");
	ok(policy_decide(p, "/usr/x/y.key", true).decision == POLICY_HIDE,
		"the user's own rules hold everywhere");
	policy_free(p);
}

/* A rule that hides a second place counts as the first wherever it is told of, and numbers stay. */
static void test_places(void)
{
	static const char *const RULES[] = { "+/p", "-/p/link", "!", NULL };
	struct policy *p = build(RULES), *hides;
	int added = policy_hide_as(p, 1, "/p/real");
	struct policy_verdict v = policy_decide(p, "/p/real/x", false);

	ok(added == (int)policy_rule_count(p) - 1 && v.decision == POLICY_HIDE && v.rule == added,
		"the second place is hidden");
	ok(policy_rule_shown(p, added) == 1 && policy_rule_shown(p, 1) == 1 &&
			policy_rule_shown(p, POLICY_RULE_NONE) == POLICY_RULE_NONE,
		"and counts as the first");
	is_str(policy_rule_id(p, added), "-/p/link", "with its id");
	ok(!policy_rule_is_built_in(p, added) &&
			policy_rule_is_built_in(p, policy_hide_as(p, 2, "/p/secret")),
		"and is whose that is");
	hides = policy_only_hides(p);
	ok(policy_decide(hides, "/p/real/x", false).decision == POLICY_HIDE &&
			policy_decide(hides, "/p/x", false).rule == POLICY_RULE_NONE &&
			policy_decide(hides, "/p/.ssh/x", false).rule >= 0,
		"the rules that hide alone");
	ok(policy_rule_count(hides) == policy_rule_count(p) - 1, "are all of those");
	policy_free(hides);
	policy_free(p);
}

/* Names that the built-in rules take, and those that only look like it. */
static void test_secrets(void)
{
	static const char *const RULES[] = { "+/p", "!", NULL };
	static const struct {
		const char *path;
		enum policy_decision decision;
		enum policy_content content;
	} NAMES[] = {
		{ "/p/.env", POLICY_HIDE, POLICY_HOLDS_ANYTHING },
		{ "/p/.env.local", POLICY_HIDE, POLICY_HOLDS_ANYTHING },
		{ "/p/.env.example", POLICY_SHOW, 0 },
		{ "/p/.env.sample", POLICY_SHOW, 0 },
		{ "/p/.env.template", POLICY_SHOW, 0 },
		{ "/p/.env.dist", POLICY_SHOW, 0 },
		{ "/p/example.env", POLICY_SHOW, 0 },
		{ "/p/id_rsa", POLICY_HIDE, POLICY_HOLDS_ANYTHING },
		{ "/p/id_ed25519_sk", POLICY_HIDE, POLICY_HOLDS_ANYTHING },
		{ "/p/id_generator.py", POLICY_HIDE, POLICY_HOLDS_KEY },
		{ "/p/x.pem", POLICY_HIDE, POLICY_HOLDS_KEY },
		{ "/p/x.key", POLICY_HIDE, POLICY_HOLDS_KEY },
		{ "/p/.npmrc", POLICY_HIDE, POLICY_HOLDS_TOKEN },
		{ "/p/id_tables/x", POLICY_SHOW, 0 },
		{ "/p/.ssh/id_x", POLICY_HIDE, POLICY_HOLDS_KEY },
	};
	struct policy *p = build(RULES);

	for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
		struct policy_verdict v = policy_decide(p, NAMES[i].path, false);

		ok(v.decision == NAMES[i].decision &&
				policy_rule_content(p, v.rule) == NAMES[i].content,
			"%s", NAMES[i].path);
	}
	policy_free(p);
	p = build((const char *const[]){ "+/p", "-.env.example", "!", NULL });
	ok(policy_decide(p, "/p/.env.example", false).decision == POLICY_HIDE,
		"a rule of the user's takes a template");
	policy_free(p);
}

static void test_contents(void)
{
	static const struct {
		enum policy_content content;
		const char *text;
		bool found;
	} TEXTS[] = {
		{ POLICY_HOLDS_KEY, "", false },
		{ POLICY_HOLDS_KEY, "-----BEGIN CERTIFICATE-----\nMII\n", false },
		{ POLICY_HOLDS_KEY,
			"-----BEGIN CERTIFICATE-----\nMII\n-----BEGIN PRIVATE KEY-----\n", true },
		{ POLICY_HOLDS_KEY, "-----BEGIN OPENSSH PRIVATE KEY-----\n", true },
		{ POLICY_HOLDS_KEY, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", true },
		{ POLICY_HOLDS_KEY, "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true },
		{ POLICY_HOLDS_KEY, "-----BEGIN PUBLIC KEY-----\n", false },
		{ POLICY_HOLDS_KEY, "say \"PRIVATE KEY\"", false },
		{ POLICY_HOLDS_KEY, "-----BEGIN ", false },
		{ POLICY_HOLDS_TOKEN, "registry=https://r/\nalways-auth=true\n", false },
		{ POLICY_HOLDS_TOKEN, "//r/:_authToken=x\n", true },
		{ POLICY_HOLDS_TOKEN, "//r/:_password=x\n", true },
		{ POLICY_HOLDS_TOKEN, "_auth=x\n", true },
		{ POLICY_HOLDS_TOKEN, "npmAuthToken: x\n", true },
	};

	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
		ok(policy_content_found(TEXTS[i].content, TEXTS[i].text, strlen(TEXTS[i].text)) ==
				TEXTS[i].found,
			"what %zu holds", i);
}

static void test_limits(void)
{
	struct policy *p = policy_new();
	int rule = 0;

	ok(policy_hide(p, "x", "", false) < 0, "an empty pattern is refused");
	for (int i = 0; i < POLICY_RULES_MAX + 10 && rule >= 0; i++)
		rule = policy_hide(p, "x", "y", false);
	ok(rule < 0 && policy_rule_count(p) == POLICY_RULES_MAX, "the number of rules has an end");
	policy_free(p);
}

int main(void)
{
	plan(0);
	for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++)
		ok(glob_path(PATTERNS[i].pattern, PATTERNS[i].path) == PATTERNS[i].matches,
			"%s %s %s", PATTERNS[i].pattern,
			PATTERNS[i].matches ? "matches" : "does not match", PATTERNS[i].path);
	for (size_t i = 0; i < sizeof SLIPS / sizeof *SLIPS; i++)
		ok(!!glob_fault(SLIPS[i].pattern) == SLIPS[i].slip, "%s is %s slip (%s)",
			SLIPS[i].pattern, SLIPS[i].slip ? "a" : "no", glob_fault(SLIPS[i].pattern));
	test_cases();
	test_places();
	test_masks();
	test_runtime();
	test_secrets();
	test_contents();
	test_limits();
	return done();
}
