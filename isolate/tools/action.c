/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions. See action.h.
 *
 * Parameters are read once, into one structure (action_params.c); what each action needs of them it
 * finds there, checked. The table of actions says which scope one needs and how its library is
 * opened, so neither can be forgotten in one of them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/action.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/trace.h"
#include "isolate/tools/action_state.h"
#include "isolate/tools/tool_show.h"

enum opening { CREATE, OPEN, EACH };

struct tool_event action_event(const struct action_context *a, const struct item *item)
{
	return (struct tool_event){ .user = a->user,
		.name = item && item->id ? item->name : a->name,
		.item = item,
		.by = a->request->authority.who,
		.reason = a->reason,
		.session = a->session,
		.agent = a->agent };
}

void action_emit(const struct action_context *a, enum event_type type, const struct tool_event *t)
{
	tool_event_emit(a->request->events, type, t);
}

int action_write_item(struct action_context *a, int64_t id)
{
	return item_write(&a->store, id, &a->w, a->err);
}

/* ---- those that only look ---- */

struct each {
	struct action_context *action;
	int (*show)(struct store *, struct json_writer *, struct error *);
	struct buffer broken;
};

static int show_user(const char *user, void *context)
{
	struct each *e = context;
	struct error err = ERROR_INIT;
	struct json_writer w;
	struct store s;

	if (store_open(&s, e->action->request->base, user, false, 0, &err) == 0) {
		e->show(&s, &e->action->w, &err);
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

static int show_items(struct action_context *a, const char *key,
	int (*show)(struct store *, struct json_writer *, struct error *))
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

static int list(struct action_context *a)
{
	return show_items(a, "tools", show_current);
}

static int pending(struct action_context *a)
{
	return show_items(a, "pending", show_pending);
}

static int show(struct action_context *a)
{
	struct item item;

	if (versions_look_up(&a->store, a->name, &a->reference, &item, a->err) < 0)
		return -1;
	return show_tool(&a->store, &item, &a->w, a->err);
}

static int history(struct action_context *a)
{
	int status;

	json_key(&a->w, "history");
	json_open_array(&a->w);
	status = show_history(&a->store, a->has_name ? a->name : NULL, &a->w, a->err);
	json_close_array(&a->w);
	return status;
}

/* ---- those that decide ---- */

static struct decision decision_of(const struct action_context *a)
{
	return (struct decision){ .name = a->name,
		.reference = a->reference,
		.who = a->request->authority.who,
		.reason = a->reason };
}

static int promote(struct action_context *a)
{
	const struct decision d = decision_of(a);
	struct item item;
	struct tool_event t;

	if (decisions_promote(&a->store, &d, &item, a->err) < 0)
		return -1;
	t = action_event(a, &item);
	action_emit(a, EVENT_TYPE_TOOL_PROMOTED, &t);
	return action_write_item(a, item.id);
}

/*
 * A decision against the promoted version may restore the one before it: that is an event and a
 * member of the answer, too.
 */
static int emit_restored(struct action_context *a, const struct item *restored)
{
	struct tool_event t = action_event(a, restored);

	if (!restored->id)
		return 0;
	action_emit(a, EVENT_TYPE_TOOL_PROMOTED, &t);
	json_key(&a->w, "restored");
	json_open_object(&a->w);
	if (action_write_item(a, restored->id) < 0)
		return -1;
	json_close_object(&a->w);
	return 0;
}

static int take_away(struct action_context *a,
	int (*function)(struct store *, const struct decision *, struct item *, struct item *,
		struct error *),
	enum event_type event)
{
	const struct decision d = decision_of(a);
	struct item item, restored;
	struct tool_event t;

	if (function(&a->store, &d, &item, &restored, a->err) < 0)
		return -1;
	t = action_event(a, &item);
	action_emit(a, event, &t);
	return action_write_item(a, item.id) < 0 ? -1 : emit_restored(a, &restored);
}

static int reject(struct action_context *a)
{
	return take_away(a, decisions_reject, EVENT_TYPE_TOOL_REJECTED);
}

static int revoke(struct action_context *a)
{
	return take_away(a, decisions_revoke, EVENT_TYPE_TOOL_REVOKED);
}

static int forget(struct action_context *a)
{
	const struct decision d = decision_of(a);
	struct tool_event t = action_event(a, NULL);
	struct item restored;

	if (decisions_forget(&a->store, &d, &t.count, &restored, a->err) < 0)
		return -1;
	action_emit(a, EVENT_TYPE_TOOL_FORGOTTEN, &t);
	json_key(&a->w, "forgotten");
	json_integer(&a->w, t.count);
	return emit_restored(a, &restored);
}

/* ---- transfer ---- */

static int export(struct action_context *a)
{
	int status;

	json_key(&a->w, "lines");
	json_open_array(&a->w);
	status = transfer_export(&a->store, &a->w, a->err);
	json_close_array(&a->w);
	return status;
}

static int validate_imported(const struct spec *spec, void *context)
{
	return action_validate(context, spec);
}

/* One line; what is wrong with it is said with its number. */
static int import_line(
	struct action_context *a, struct json_slice line, int64_t number, bool *is_new)
{
	struct transfer t = { .keep = a->keep,
		.who = a->request->authority.who,
		.validate = validate_imported,
		.context = a };
	int status = json_kind(line) != JSON_OBJECT ? action_bad(a, "lines", "an array of objects")
						    : transfer_import(&a->store, &t, line, a->err);
	struct error inner = *a->err;
	struct tool_event event;

	if (status < 0)
		return error_set(a->err, inner.code, inner.sys_errno, "line %lld: %s",
			(long long)number, inner.context);
	event = action_event(a, &t.item);
	if (t.is_new)
		action_emit(a, EVENT_TYPE_TOOL_SPAWNED, &event);
	event.reason = TRANSFER_REASON;
	if (t.promoted)
		action_emit(a, EVENT_TYPE_TOOL_PROMOTED, &event);
	event.reason = TRANSFER_REJECTED_REASON;
	if (t.rejected)
		action_emit(a, EVENT_TYPE_TOOL_REJECTED, &event);
	*is_new = t.is_new;
	return 0;
}

static int import(struct action_context *a)
{
	struct json_slice lines = json_get(a->params, "lines"), line;
	int64_t imported = 0, skipped = 0;
	bool is_new;

	if (json_kind(lines) != JSON_ARRAY)
		return action_bad(a, "lines", "an array of what tool.export gives");
	for (size_t at = 0; json_item(lines, &at, &line);) {
		if (import_line(a, line, (a->first ? a->first : 1) + imported + skipped, &is_new) <
			0)
			return -1;
		imported += is_new;
		skipped += !is_new;
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
	int (*perform)(struct action_context *);
	enum scope scope;
	enum opening opening;
	bool needs_name, runs_code;
} ACTIONS[] = {
#define ACTION(name, function, scope, opening, needs_name, runs_code) \
	{ name, function, scope, opening, needs_name, runs_code },
#include "isolate/tools/actions.def"
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

static int perform(struct action_context *a, const struct action *action)
{
	if (action_take_parameters(a) < 0 ||
		authority_check(&a->request->authority, action->scope, action->name, a->err) < 0)
		return -1;
	/* An agent does not choose the policy under which its own tool becomes permanent. */
	if ((a->has_policy || a->threshold) &&
		authority_check(&a->request->authority, SCOPE_OPERATOR,
			"choosing a policy of promotion", a->err) < 0)
		return -1;
	if (action->needs_name && !a->has_name)
		return error_set(a->err, FAILURE_BAD_OPTION, 0, "the name of a tool is missing");
	if (a->all_users && action->opening != EACH)
		return error_set(
			a->err, FAILURE_BAD_OPTION, 0, "the user \"*\" goes with lists only");
	if (!a->all_users &&
		store_open(&a->store, a->request->base, a->user, action->opening == CREATE, 0,
			a->err) < 0)
		return -1;
	json_begin(&a->w, &a->answer->result);
	json_open_object(&a->w);
	if (action->perform(a) < 0)
		return -1;
	json_close_object(&a->w);
	return a->answer->result.failed ? error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
						  "writing the answer of %s", action->name)
					: 0;
}

int action_perform(const struct action_request *r, struct action_answer *answer, struct error *err)
{
	const struct action *action = find(r->name);
	struct action_context a = { .request = r, .answer = answer, .err = err };
	int status;

	if (!action)
		return error_set(err, FAILURE_INTERNAL, 0, "there is no action %s", r->name);
	trace("tools", "%s for %s", action->name, r->authority.who);
	status = perform(&a, action);
	trace("tools", "%s of \"%s\" %s", action->name, a.name, status < 0 ? "failed" : "is done");
	store_close(&a.store);
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
