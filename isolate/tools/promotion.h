/* SPDX-License-Identifier: Apache-2.0 */
/* When a tool becomes permanent. Pure: numbers in, a step out; the store carries it out. */
#ifndef CORDON_ISOLATE_TOOLS_PROMOTION_H
#define CORDON_ISOLATE_TOOLS_PROMOTION_H

#include <stdbool.h>
#include <stdint.h>

enum tool_state {
#define STATE(id, word, meaning) STATE_##id,
#include "isolate/tools/promotion.def"
#undef STATE
	STATE_COUNT
};

enum tool_policy {
#define POLICY(id, word, threshold, meaning) POLICY_##id,
#include "isolate/tools/promotion.def"
#undef POLICY
	POLICY_COUNT
};

enum promotion_step { STEP_NONE, STEP_PROMOTE, STEP_WAIT };

#define PROMOTION_THRESHOLD_MAX 1000000

/* The words; the enumerator of a word, or STATE_COUNT and POLICY_COUNT for one that is none. */
const char *promotion_state_word(enum tool_state state);
const char *promotion_policy_word(enum tool_policy policy);
enum tool_state promotion_state_of(const char *word);
enum tool_policy promotion_policy_of(const char *word);
int64_t promotion_default_threshold(enum tool_policy policy);

/* Whether so many successes are enough. */
bool promotion_is_due(enum tool_policy policy, int64_t threshold, int64_t successes);

/*
 * What follows a successful call. Only a version in trial goes on by itself: what an operator has
 * decided or taken back is the operator's.
 */
enum promotion_step promotion_next(
	enum tool_policy policy, int64_t threshold, enum tool_state state, int64_t successes);

/*
 * The state of a version whose last decision was taken back: due, it waits for an operator,
 * whatever its policy.
 */
enum tool_state promotion_after_revoke(
	enum tool_policy policy, int64_t threshold, int64_t successes, bool is_newest);

#endif
