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

#include "isolate/tools/action_state.h"

#define REASON_MAX 4096
#define PATH_LENGTH_MAX 4096

int action_bad(struct action_context *a, const char *key, const char *what)
{
	return error_set(a->err, FAILURE_BAD_OPTION, 0, "%s must be %s", key, what);
}

const struct json_node *action_node(const struct action_context *a, uint32_t node)
{
	return &a->params.nodes[node];
}

static int copy_text(
	struct action_context *a, uint32_t node, const char *key, size_t most, char **out)
{
	const struct json_node *value = action_node(a, node);

	if (value->kind != JSON_STRING || value->length > most ||
		memchr(value->bytes, '\0', value->length))
		return action_bad(a, key, "a string, and not longer than some pages");
	*out = strndup(value->bytes, value->length);
	return *out ? 0 : error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading %s", key);
}

static int take_id(struct action_context *a, uint32_t node, const char *key, char **out)
{
	if (action_node(a, node)->kind != JSON_STRING)
		return action_bad(a, key, "a string");
	if (identity_check(key, action_node(a, node)->bytes, action_node(a, node)->length, a->err) <
		0)
		return -1;
	return copy_text(a, node, key, IDENTITY_MAX, out);
}

static int take_user(struct action_context *a, uint32_t node)
{
	if (json_tree_is(&a->params, node, "*")) {
		a->all_users = true;
		return 0;
	}
	if (action_node(a, node)->kind != JSON_STRING)
		return action_bad(a, "user", "a string");
	if (identity_check("the user", action_node(a, node)->bytes, action_node(a, node)->length,
		    a->err) < 0)
		return -1;
	snprintf(a->user, sizeof a->user, "%.*s", (int)action_node(a, node)->length,
		action_node(a, node)->bytes);
	return 0;
}

static int take_name(struct action_context *a, uint32_t node)
{
	if (action_node(a, node)->kind != JSON_STRING)
		return action_bad(a, "name", "a string");
	if (identity_check_tool(action_node(a, node)->bytes, action_node(a, node)->length, a->err) <
		0)
		return -1;
	snprintf(a->name, sizeof a->name, "%.*s", (int)action_node(a, node)->length,
		action_node(a, node)->bytes);
	a->has_name = true;
	return 0;
}

static int take_number(struct action_context *a, uint32_t node, const char *key, int64_t *out)
{
	const struct json_node *value = action_node(a, node);
	const char *text = value->raw.text;
	int64_t number = 0;

	if (value->kind != JSON_NUMBER || value->raw.length > 7)
		return action_bad(a, key, "a whole number from 1 to 1000000");
	for (uint32_t i = 0; i < value->raw.length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return action_bad(a, key, "a whole number from 1 to 1000000");
		number = number * 10 + (text[i] - '0');
	}
	*out = number;
	return number >= 1 && number <= PROMOTION_THRESHOLD_MAX
		? 0
		: action_bad(a, key, "a whole number from 1 to 1000000");
}

static int take_version(struct action_context *a, uint32_t node)
{
	return take_number(a, node, "version", &a->reference.version);
}

static int take_threshold(struct action_context *a, uint32_t node)
{
	return take_number(a, node, "threshold", &a->threshold);
}

static int take_hash(struct action_context *a, uint32_t node)
{
	const struct json_node *value = action_node(a, node);
	bool good =
		value->kind == JSON_STRING && value->length >= 8 && value->length < SPEC_HASH_ROOM;

	for (uint32_t i = 0; good && i < value->length; i++)
		good = (value->bytes[i] >= '0' && value->bytes[i] <= '9') ||
			(value->bytes[i] >= 'a' && value->bytes[i] <= 'f');
	if (!good)
		return action_bad(a, "hash", "8 to 64 hexadecimal digits, in small letters");
	snprintf(a->reference.hash, sizeof a->reference.hash, "%.*s", (int)value->length,
		value->bytes);
	return 0;
}

static int take_policy(struct action_context *a, uint32_t node)
{
	char *word = NULL;

	if (copy_text(a, node, "policy", 40, &word) < 0)
		return -1;
	a->policy = promotion_policy_of(word);
	a->has_policy = true;
	free(word);
	return a->policy == POLICY_COUNT
		? action_bad(a, "policy", "threshold, eager or operator_approval")
		: 0;
}

static int take_session(struct action_context *a, uint32_t node)
{
	return take_id(a, node, "session", &a->session);
}

static int take_agent(struct action_context *a, uint32_t node)
{
	return take_id(a, node, "agent", &a->agent);
}

static int take_reason(struct action_context *a, uint32_t node)
{
	return copy_text(a, node, "reason", REASON_MAX, &a->reason);
}

static int take_cwd(struct action_context *a, uint32_t node)
{
	return copy_text(a, node, "cwd", PATH_LENGTH_MAX, &a->cwd);
}

static int take_keep(struct action_context *a, uint32_t node)
{
	a->keep = action_node(a, node)->kind == JSON_TRUE;
	return 0;
}

static int take_first(struct action_context *a, uint32_t node)
{
	return take_number(a, node, "first", &a->first);
}

static const struct {
	const char *key;
	int (*take)(struct action_context *, uint32_t);
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
	if (json_tree_read(&a->params, a->request->params, a->request->length) < 0)
		return error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"reading the parameters of %s", a->request->name);
	for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
		uint32_t node = json_tree_member(&a->params, 0, PARAMETERS[i].key);

		if (node && action_node(a, node)->kind != JSON_NULL &&
			PARAMETERS[i].take(a, node) < 0)
			return -1;
	}
	return a->user[0] || a->all_users ? 0 : identity_default_user(a->user, a->err);
}
