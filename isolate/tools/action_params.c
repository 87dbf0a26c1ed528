/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of actions. See action_state.h.
 *
 * A table has each with the function that reads it; ids and names are checked here, before anything
 * is done with them. A parameter that an action has no use for was refused by the protocol, or was
 * never written by the command line.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/tools/action_state.h"

#define REASON_MAX 4096
#define PATH_LENGTH_MAX 4096

int action_bad(struct action_context *a, const char *key, const char *what)
{
	return error_set(a->err, FAILURE_BAD_OPTION, 0, "%s must be %s", key, what);
}

/* The bytes of a string; text is empty before and owned afterwards. */
static int decode(
	struct action_context *a, struct json_slice value, const char *key, struct buffer *text)
{
	if (!json_decode(value, text))
		return action_bad(a, key, "a string");
	buffer_add(text, "", 1);
	text->length--;
	return text->failed
		? error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading %s", key)
		: 0;
}

static int copy_text(
	struct action_context *a, struct json_slice value, const char *key, size_t most, char **out)
{
	*out = json_dup(value);
	return *out && strlen(*out) <= most
		? 0
		: action_bad(a, key, "a string, and not longer than some pages");
}

static int take_id(struct action_context *a, struct json_slice value, const char *key, char **out)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (decode(a, value, key, &text) < 0 ||
		identity_check(key, text.data, text.length, a->err) < 0)
		return -1;
	*out = steal_pointer(text.data);
	return 0;
}

static int take_user(struct action_context *a, struct json_slice value)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (json_is(value, "*")) {
		a->all_users = true;
		return 0;
	}
	if (decode(a, value, "user", &text) < 0 ||
		identity_check("the user", text.data, text.length, a->err) < 0)
		return -1;
	snprintf(a->user, sizeof a->user, "%s", text.data);
	return 0;
}

static int take_name(struct action_context *a, struct json_slice value)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (decode(a, value, "name", &text) < 0 ||
		identity_check_tool(text.data, text.length, a->err) < 0)
		return -1;
	snprintf(a->name, sizeof a->name, "%s", text.data);
	a->has_name = true;
	return 0;
}

static int take_number(
	struct action_context *a, struct json_slice value, const char *key, int64_t *out)
{
	int64_t number = 0;

	if (json_kind(value) != JSON_NUMBER || value.length > 7)
		return action_bad(a, key, "a whole number from 1 to 1000000");
	for (size_t i = 0; i < value.length; i++) {
		if (value.text[i] < '0' || value.text[i] > '9')
			return action_bad(a, key, "a whole number from 1 to 1000000");
		number = number * 10 + (value.text[i] - '0');
	}
	*out = number;
	return number >= 1 && number <= PROMOTION_THRESHOLD_MAX
		? 0
		: action_bad(a, key, "a whole number from 1 to 1000000");
}

static int take_version(struct action_context *a, struct json_slice value)
{
	return take_number(a, value, "version", &a->reference.version);
}

static int take_threshold(struct action_context *a, struct json_slice value)
{
	return take_number(a, value, "threshold", &a->threshold);
}

static int take_hash(struct action_context *a, struct json_slice value)
{
	char *hash = a->reference.hash;

	if (!json_copy(value, hash, sizeof a->reference.hash) || strlen(hash) < 8 ||
		strspn(hash, "0123456789abcdef") != strlen(hash))
		return action_bad(a, "hash", "8 to 64 hexadecimal digits, in small letters");
	return 0;
}

static int take_policy(struct action_context *a, struct json_slice value)
{
	_cleanup_free_ char *word = NULL;

	if (copy_text(a, value, "policy", 40, &word) < 0)
		return -1;
	a->policy = promotion_policy_of(word);
	a->has_policy = true;
	return a->policy == POLICY_COUNT
		? action_bad(a, "policy", "threshold, eager or operator_approval")
		: 0;
}

static int take_session(struct action_context *a, struct json_slice value)
{
	return take_id(a, value, "session", &a->session);
}

static int take_agent(struct action_context *a, struct json_slice value)
{
	return take_id(a, value, "agent", &a->agent);
}

static int take_reason(struct action_context *a, struct json_slice value)
{
	return copy_text(a, value, "reason", REASON_MAX, &a->reason);
}

static int take_cwd(struct action_context *a, struct json_slice value)
{
	return copy_text(a, value, "cwd", PATH_LENGTH_MAX, &a->cwd);
}

static int take_keep(struct action_context *a, struct json_slice value)
{
	a->keep = json_is_true(value);
	return 0;
}

static int take_first(struct action_context *a, struct json_slice value)
{
	return take_number(a, value, "first", &a->first);
}

static const struct {
	const char *key;
	int (*take)(struct action_context *, struct json_slice);
} PARAMETERS[] = {
	{ "user", take_user },
	{ "name", take_name },
	{ "version", take_version },
	{ "hash", take_hash },
	{ "session", take_session },
	{ "agent", take_agent },
	{ "policy", take_policy },
	{ "threshold", take_threshold },
	{ "reason", take_reason },
	{ "cwd", take_cwd },
	{ "keep", take_keep },
	{ "first", take_first },
};

int action_take_parameters(struct action_context *a)
{
	a->params = json_slice(a->request->params, a->request->length);
	for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
		struct json_slice value = json_get(a->params, PARAMETERS[i].key);

		if (!json_is_null(value) && PARAMETERS[i].take(a, value) < 0)
			return -1;
	}
	return a->user[0] || a->all_users ? 0 : identity_default_user(a->user, a->err);
}
