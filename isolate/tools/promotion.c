/* SPDX-License-Identifier: Apache-2.0 */
/* Promotion. See promotion.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/promotion.h"

#include <string.h>

static const char *const STATES[] = {
#define STATE(id, word, meaning) [STATE_##id] = word,
#include "isolate/tools/promotion.def"
#undef STATE
};

static const struct {
	const char *word;
	int64_t threshold;
} POLICIES[] = {
#define POLICY(id, word, threshold, meaning) [POLICY_##id] = { word, threshold },
#include "isolate/tools/promotion.def"
#undef POLICY
};

const char *promotion_state_word(enum tool_state state)
{
	return STATES[state];
}

const char *promotion_policy_word(enum tool_policy policy)
{
	return POLICIES[policy].word;
}

enum tool_state promotion_state_of(const char *word)
{
	int i = 0;

	while (i < STATE_COUNT && strcmp(STATES[i], word) != 0)
		i++;
	return (enum tool_state)i;
}

enum tool_policy promotion_policy_of(const char *word)
{
	int i = 0;

	while (i < POLICY_COUNT && strcmp(POLICIES[i].word, word) != 0)
		i++;
	return (enum tool_policy)i;
}

int64_t promotion_default_threshold(enum tool_policy policy)
{
	return POLICIES[policy].threshold;
}

bool promotion_is_due(enum tool_policy policy, int64_t threshold, int64_t successes)
{
	return successes >= (policy == POLICY_EAGER ? 1 : threshold);
}

enum promotion_step promotion_next(
	enum tool_policy policy, int64_t threshold, enum tool_state state, int64_t successes)
{
	if (state != STATE_TRIAL || !promotion_is_due(policy, threshold, successes))
		return STEP_NONE;
	return policy == POLICY_OPERATOR ? STEP_WAIT : STEP_PROMOTE;
}

enum tool_state promotion_after_revoke(
	enum tool_policy policy, int64_t threshold, int64_t successes, bool is_newest)
{
	if (!is_newest)
		return STATE_SUPERSEDED;
	return promotion_is_due(policy, threshold, successes) ? STATE_PENDING : STATE_TRIAL;
}
