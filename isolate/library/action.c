/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions. See action.h.
 *
 * Parameters are read once, into one structure, by a table; what each action needs of them it finds there, checked. The table of actions says which scope one needs and how
 * its library is opened, so neither can be forgotten in one of them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/library/action.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/library/acting.h"
#include "isolate/library/show.h"
#include "isolate/library/transfer.h"

#define REASON_MAX 4096
#define PATH_LENGTH_MAX 4096

enum opening { CREATE, OPEN, EACH };

/* ---- parameters ---- */

static int bad(struct acting *a, const char *key, const char *what)
{
	return error_set(a->err, FAILURE_BAD_OPTION, 0, "%s must be %s", key, what);
}

static const struct json_node *node_of(const struct acting *a, uint32_t node)
{
	return &a->params.nodes[node];
}

static int copy_text(struct acting *a, uint32_t node, const char *key, size_t most, char **out)
{
	const struct json_node *value = node_of(a, node);

	if (value->kind != JSON_STRING || value->length > most || memchr(value->bytes, '\0', value->length))
		return bad(a, key, "a string, and not longer than some pages");
	*out = strndup(value->bytes, value->length);
	return *out ? 0 : error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading %s", key);
}

static int take_id(struct acting *a, uint32_t node, const char *key, char **out)
{
	if (node_of(a, node)->kind != JSON_STRING)
		return bad(a, key, "a string");
	if (identity_check(key, node_of(a, node)->bytes, node_of(a, node)->length, a->err) < 0)
		return -1;
	return copy_text(a, node, key, IDENTITY_MAX, out);
}

static int take_user(struct acting *a, uint32_t node)
{
	if (json_tree_is(&a->params, node, "*")) {
		a->all_users = true;
		return 0;
	}
	if (node_of(a, node)->kind != JSON_STRING)
		return bad(a, "user", "a string");
	if (identity_check("the user", node_of(a, node)->bytes, node_of(a, node)->length, a->err) < 0)
		return -1;
	snprintf(a->user, sizeof a->user, "%.*s", (int)node_of(a, node)->length, node_of(a, node)->bytes);
	return 0;
}

static int take_name(struct acting *a, uint32_t node)
{
	if (node_of(a, node)->kind != JSON_STRING)
		return bad(a, "name", "a string");
	if (identity_check_tool(node_of(a, node)->bytes, node_of(a, node)->length, a->err) < 0)
		return -1;
	snprintf(a->name, sizeof a->name, "%.*s", (int)node_of(a, node)->length, node_of(a, node)->bytes);
	a->has_name = true;
	return 0;
}

static int take_number(struct acting *a, uint32_t node, const char *key, int64_t *out)
{
	const struct json_node *value = node_of(a, node);
	const char *text = a->params.text + value->raw;
	int64_t number = 0;

	if (value->kind != JSON_NUMBER || value->raw_length > 7)
		return bad(a, key, "a whole number from 1 to 1000000");
	for (uint32_t i = 0; i < value->raw_length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return bad(a, key, "a whole number from 1 to 1000000");
		number = number * 10 + (text[i] - '0');
	}
	*out = number;
	return number >= 1 && number <= PROMOTION_THRESHOLD_MAX ? 0 : bad(a, key, "a whole number from 1 to 1000000");
}

static int take_version(struct acting *a, uint32_t node)
{
	return take_number(a, node, "version", &a->reference.version);
}

static int take_threshold(struct acting *a, uint32_t node)
{
	return take_number(a, node, "threshold", &a->threshold);
}

static int take_hash(struct acting *a, uint32_t node)
{
	const struct json_node *value = node_of(a, node);
	bool good = value->kind == JSON_STRING && value->length >= 8 && value->length < SPEC_HASH_ROOM;

	for (uint32_t i = 0; good && i < value->length; i++)
		good = (value->bytes[i] >= '0' && value->bytes[i] <= '9') || (value->bytes[i] >= 'a' && value->bytes[i] <= 'f');
	if (!good)
		return bad(a, "hash", "8 to 64 hexadecimal digits, in small letters");
	snprintf(a->reference.hash, sizeof a->reference.hash, "%.*s", (int)value->length, value->bytes);
	return 0;
}

static int take_policy(struct acting *a, uint32_t node)
{
	char *word = NULL;

	if (copy_text(a, node, "policy", 40, &word) < 0)
		return -1;
	a->policy = promotion_policy_of(word);
	a->has_policy = true;
	free(word);
	return a->policy == POLICY_COUNT ? bad(a, "policy", "threshold, eager or operator_approval") : 0;
}

static int take_session(struct acting *a, uint32_t node)
{
	return take_id(a, node, "session", &a->session);
}

static int take_agent(struct acting *a, uint32_t node)
{
	return take_id(a, node, "agent", &a->agent);
}

static int take_reason(struct acting *a, uint32_t node)
{
	return copy_text(a, node, "reason", REASON_MAX, &a->reason);
}

static int take_cwd(struct acting *a, uint32_t node)
{
	return copy_text(a, node, "cwd", PATH_LENGTH_MAX, &a->cwd);
}

static int take_keep(struct acting *a, uint32_t node)
{
	a->keep = node_of(a, node)->kind == JSON_TRUE;
	return 0;
}

static const struct { const char *key; int (*take)(struct acting *, uint32_t); } PARAMETERS[] = {
	{ "user", take_user }, { "name", take_name }, { "version", take_version }, { "hash", take_hash }, { "session", take_session }, { "agent", take_agent }, { "policy", take_policy },
	{ "threshold", take_threshold }, { "reason", take_reason }, { "cwd", take_cwd }, { "keep", take_keep },
};

static int take_parameters(struct acting *a)
{
	if (json_tree_read(&a->params, a->request->params, a->request->length) < 0)
		return error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, errno, "reading the parameters of %s", a->request->name);
	for (size_t i = 0; i < sizeof PARAMETERS / sizeof *PARAMETERS; i++) {
		uint32_t node = json_tree_member(&a->params, 0, PARAMETERS[i].key);

		if (node && node_of(a, node)->kind != JSON_NULL && PARAMETERS[i].take(a, node) < 0)
			return -1;
	}
	return a->user[0] || a->all_users ? 0 : identity_default_user(a->user, a->err);
}

struct json_slice acting_raw(const struct acting *a, const char *key)
{
	uint32_t node = json_tree_member(&a->params, 0, key);

	return node ? (struct json_slice){ a->params.text + node_of(a, node)->raw, node_of(a, node)->raw_length } : (struct json_slice){ NULL, 0 };
}

struct tale acting_tale(const struct acting *a, const struct item *item)
{
	return (struct tale){ .user = a->user, .name = item && item->id ? item->name : a->name, .item = item, .by = a->request->authority.who, .reason = a->reason, .session = a->session,
			      .agent = a->agent };
}

int acting_write_item(struct acting *a, int64_t id)
{
	return item_write(&a->store, id, &a->w, a->err);
}

/* ---- those that only look ---- */

struct each {
	struct acting *acting;
	int (*show)(struct store *, struct json_writer *, struct error *);
	struct buffer broken;
};

static int show_user(const char *user, void *context)
{
	struct each *e = context;
	struct error err = ERROR_INIT;
	struct json_writer w;
	struct store s;

	if (store_open(&s, e->acting->request->base, user, false, 0, &err) == 0) {
		e->show(&s, &e->acting->w, &err);
		store_close(&s);
	}
	if (err.code == FAILURE_NONE)
		return 0;
	/* One library that is broken does not hide the others. */
	buffer_add_text(&e->broken, e->broken.length ? "," : "");
	json_begin(&w, &e->broken);
	json_open_object(&w);
	json_key(&w, "user");
	json_string(&w, user);
	json_key(&w, "code");
	json_string(&w, failure_name(err.code));
	json_key(&w, "error");
	json_string(&w, err.context);
	json_close_object(&w);
	return 0;
}

static int show_items(struct acting *a, const char *key, int (*show)(struct store *, struct json_writer *, struct error *))
{
	struct each each = { a, show, BUFFER_INIT };
	int status = 0;

	json_key(&a->w, key);
	json_open_array(&a->w);
	if (a->all_users)
		store_each_user(a->request->base, show_user, &each);
	else
		status = show(&a->store, &a->w, a->err);
	json_close_array(&a->w);
	if (a->all_users) {
		json_key(&a->w, "broken");
		json_open_array(&a->w);
		if (each.broken.length)
			json_raw(&a->w, each.broken.data, each.broken.length);
		json_close_array(&a->w);
	}
	a->answer->result.failed |= each.broken.failed;
	buffer_free(&each.broken);
	return status;
}

static int list(struct acting *a)
{
	return show_items(a, "tools", show_current);
}

static int pending(struct acting *a)
{
	return show_items(a, "pending", show_pending);
}

static int show(struct acting *a)
{
	struct item item;

	if (versions_look_up(&a->store, a->name, &a->reference, &item, a->err) < 0)
		return -1;
	return show_tool(&a->store, &item, &a->w, a->err);
}

static int history(struct acting *a)
{
	int status;

	json_key(&a->w, "history");
	json_open_array(&a->w);
	status = show_history(&a->store, a->has_name ? a->name : NULL, &a->w, a->err);
	json_close_array(&a->w);
	return status;
}

/* ---- those that decide ---- */

static struct decision decision_of(const struct acting *a)
{
	return (struct decision){ .name = a->name, .reference = a->reference, .who = a->request->authority.who, .reason = a->reason };
}

static int decide(struct acting *a, int (*function)(struct store *, const struct decision *, struct item *, struct error *), enum event_type event)
{
	const struct decision d = decision_of(a);
	struct item item;
	struct tale t;

	if (function(&a->store, &d, &item, a->err) < 0)
		return -1;
	t = acting_tale(a, &item);
	tell(a->request->events, event, &t);
	return acting_write_item(a, item.id);
}

static int promote(struct acting *a)
{
	return decide(a, decisions_promote, EVENT_TYPE_TOOL_PROMOTED);
}

static int reject(struct acting *a)
{
	return decide(a, decisions_reject, EVENT_TYPE_TOOL_REJECTED);
}

static int revoke(struct acting *a)
{
	const struct decision d = decision_of(a);
	struct item item, restored;
	struct tale t;

	if (decisions_revoke(&a->store, &d, &item, &restored, a->err) < 0)
		return -1;
	t = acting_tale(a, &item);
	tell(a->request->events, EVENT_TYPE_TOOL_REVOKED, &t);
	if (restored.id) {
		t.item = &restored;
		tell(a->request->events, EVENT_TYPE_TOOL_PROMOTED, &t);
	}
	return acting_write_item(a, item.id);
}

static int forget(struct acting *a)
{
	const struct decision d = decision_of(a);
	struct tale t = acting_tale(a, NULL);

	if (decisions_forget(&a->store, &d, &t.count, a->err) < 0)
		return -1;
	tell(a->request->events, EVENT_TYPE_TOOL_FORGOTTEN, &t);
	json_key(&a->w, "forgotten");
	json_integer(&a->w, t.count);
	return 0;
}

/* ---- transfer ---- */

static int export(struct acting *a)
{
	int status;

	json_key(&a->w, "lines");
	json_open_array(&a->w);
	status = transfer_export(&a->store, &a->w, a->err);
	json_close_array(&a->w);
	return status;
}

static int import(struct acting *a)
{
	uint32_t lines = json_tree_member(&a->params, 0, "lines");
	int64_t imported = 0, skipped = 0;

	if (!lines || node_of(a, lines)->kind != JSON_ARRAY)
		return bad(a, "lines", "an array of what tool.export gives");
	for (uint32_t at = lines + 1; at < node_of(a, lines)->end; at = node_of(a, at)->end) {
		int status = node_of(a, at)->kind != JSON_OBJECT ? bad(a, "lines", "an array of objects")
								 : transfer_import(&a->store, a->params.text + node_of(a, at)->raw, node_of(a, at)->raw_length, a->keep,
										   a->request->authority.who, a->err);

		if (status < 0)
			return -1;
		imported += status;
		skipped += !status;
	}
	json_key(&a->w, "imported");
	json_integer(&a->w, imported);
	json_key(&a->w, "skipped");
	json_integer(&a->w, skipped);
	return 0;
}

/* ---- the table ---- */

static const struct action {
	const char *name;
	int (*perform)(struct acting *);
	enum scope scope;
	enum opening opening;
	bool needs_name, runs_code;
} ACTIONS[] = {
#define ACTION(name, function, scope, opening, needs_name, runs_code) { name, function, scope, opening, needs_name, runs_code },
#include "isolate/library/actions.def"
#undef ACTION
};

static const struct action *find(const char *name)
{
	for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
		if (strcmp(ACTIONS[i].name, name) == 0)
			return &ACTIONS[i];
	return NULL;
}

bool action_exists(const char *name)
{
	return find(name) != NULL;
}

bool action_runs_code(const char *name)
{
	const struct action *action = find(name);

	return action && action->runs_code;
}

static int perform(struct acting *a, const struct action *action)
{
	if (take_parameters(a) < 0 || authority_check(&a->request->authority, action->scope, action->name, a->err) < 0)
		return -1;
	/* Under which policy a tool becomes permanent is no business of whoever wrote it. */
	if ((a->has_policy || a->threshold) && authority_check(&a->request->authority, SCOPE_OPERATOR, "choosing a policy of promotion", a->err) < 0)
		return -1;
	if (action->needs_name && !a->has_name)
		return error_set(a->err, FAILURE_BAD_OPTION, 0, "the name of a tool is missing");
	if (a->all_users && action->opening != EACH)
		return error_set(a->err, FAILURE_BAD_OPTION, 0, "the user \"*\" goes with lists only");
	if (!a->all_users && store_open(&a->store, a->request->base, a->user, action->opening == CREATE, 0, a->err) < 0)
		return -1;
	json_begin(&a->w, &a->answer->result);
	json_open_object(&a->w);
	if (action->perform(a) < 0)
		return -1;
	json_close_object(&a->w);
	return a->answer->result.failed ? error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "writing the answer of %s", action->name) : 0;
}

int action_perform(const struct action_request *r, struct action_answer *answer, struct error *err)
{
	const struct action *action = find(r->name);
	struct acting a = { .request = r, .answer = answer, .err = err };
	int status;

	if (!action)
		return error_set(err, FAILURE_INTERNAL, 0, "there is no action %s", r->name);
	status = perform(&a, action);
	store_close(&a.store);
	json_tree_free(&a.params);
	free(a.session);
	free(a.agent);
	free(a.reason);
	free(a.cwd);
	if (status < 0)
		answer->status = action_exit_status(err);
	return status;
}

void action_answer_free(struct action_answer *answer)
{
	buffer_free(&answer->result);
	buffer_free(&answer->data);
}

int action_exit_status(const struct error *err)
{
	switch (err->code) {
	case FAILURE_SPEC_REFUSED:
	case FAILURE_TOOL_REFUSED:
	case FAILURE_ARGUMENTS_REFUSED:
		return 2;
	case FAILURE_BAD_OPTION:
	case FAILURE_IDENTITY_REFUSED:
		return 64;
	default:
		return 125;
	}
}
