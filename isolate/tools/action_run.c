/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two actions that run something: spawn, which validates, and call.
 *
 * What holds a call comes from the specification that was approved: imports and limits are the
 * tool's, and the caller's options cannot widen them. The code that runs is the row whose hash was
 * checked when it was read, and the answer is given after the run was counted.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/tools/action_state.h"
#include "isolate/options/options.h"
#include "isolate/wire/record.h"
#include "isolate/tiers/tier.h"

/* Parsing a megabyte of hostile text takes more than a call does. */
#define VALIDATION_SECONDS "60"
#define VALIDATION_MEGABYTES "1024"

/*
 * Of the names that one call touched; more are not kept, nor is what is beyond NAME_MOST bytes of
 * one.
 */
#define TOUCHED_MOST 500
#define NAME_MOST 1024

struct tool_run {
	struct options options;
	struct record result;
	const struct spec *spec;
	enum command_set set;
	unsigned flags;
	struct touched touched[TOUCHED_MOST];
	size_t touched_count;
};

/* ---- what both need ---- */

static int set_number(struct tool_run *p, const char *name, double value, struct error *err)
{
	char text[40];

	snprintf(text, sizeof text, "%.9f", value);
	return options_set(&p->options, FOR_EXEC, name, text, err);
}

/* The options of the request, then those that are the tool's. */
static int take_options(struct action_context *a, struct tool_run *p)
{
	struct json_slice profile = json_get(a->params, "options");

	options_init(&p->options, FOR_EXEC);
	if (profile.text &&
		options_profile(
			&p->options, p->set, "options", profile.text, profile.length, a->err) < 0)
		return -1;
	for (size_t i = 0; i < p->spec->import_count; i++)
		if (options_set(&p->options, FOR_EXEC, "allow", p->spec->imports[i], a->err) < 0)
			return -1;
	if (p->flags & EXECUTE_VALIDATE_ONLY)
		return options_set(&p->options, FOR_EXEC, "timeout", VALIDATION_SECONDS, a->err) < 0
			? -1
			: options_set(
				  &p->options, FOR_EXEC, "memory", VALIDATION_MEGABYTES, a->err);
	return set_number(p, "timeout", p->spec->timeout_s, a->err) < 0
		? -1
		: set_number(p, "memory", p->spec->memory_mb, a->err);
}

/* A struct touch_watcher: counts each name once. */
static void keep_touched(
	void *context, const char *kind, bool refused, const char *name, size_t length)
{
	struct tool_run *p = context;
	struct touched *t = p->touched;
	_cleanup_free_ char *what = NULL;

	if (asprintf(&what, "%s%.*s", refused ? "refused: " : "",
		    (int)(length < NAME_MOST ? length : NAME_MOST), name) < 0) {
		what = NULL;
		return;
	}
	for (size_t i = 0; i < p->touched_count; i++)
		if (strcmp(t[i].kind, kind) == 0 && strcmp(t[i].what, what) == 0) {
			t[i].count++;
			return;
		}
	if (p->touched_count < TOUCHED_MOST)
		t[p->touched_count++] = (struct touched){ kind, steal_pointer(what), 1 };
}

static int execute(struct action_context *a, struct tool_run *p)
{
	const struct program program = { .kind = PROGRAM_BODY,
		.text = p->spec->implementation,
		.length = p->spec->implementation_length,
		.name = p->spec->name };
	const struct touch_watcher watcher = { keep_touched, p };
	struct streams streams = STREAMS_CAPTURE;
	const struct tier *tier = tier_find(p->options.tier, a->err);

	streams.control = a->request->control;
	if (!(p->flags & EXECUTE_VALIDATE_ONLY)) {
		streams.events = a->request->events;
		streams.watcher = &watcher;
	}
	return tier ? tier->execute(&p->options, &program, &streams, p->flags, &p->result, a->err)
		    : -1;
}

static int begin(struct action_context *a, struct tool_run *p, const struct spec *spec,
	enum command_set set, unsigned flags)
{
	*p = (struct tool_run){ .spec = spec, .set = set, .flags = flags };
	if (record_init(&p->result, a->err) < 0)
		return -1;
	if (a->request->execution_id)
		snprintf(p->result.execution_id, sizeof p->result.execution_id, "%s",
			a->request->execution_id);
	return 0;
}

static void end(struct tool_run *p)
{
	options_free(&p->options);
	record_free(&p->result);
	for (size_t i = 0; i < p->touched_count; i++)
		free(p->touched[i].what);
}

/* The error line of a result, as text of its own. */
static char *error_line(const struct record *r)
{
	return r->error.length ? strndup(r->error.data, r->error.length) : strdup("it failed");
}

/* ---- spawn ---- */

/*
 * The name that a specification says it has, when it is one; for the events of one that was
 * refused.
 */
static void guess_name(struct action_context *a, struct json_slice spec)
{
	char name[IDENTITY_ROOM];
	struct error ignored = ERROR_INIT;

	if (json_copy(json_get(spec, "name"), name, sizeof name) &&
		identity_check_tool(name, strlen(name), &ignored) == 0)
		memcpy(a->name, name, sizeof name);
}

static int emit_refused(struct action_context *a, bool by_validation)
{
	struct tool_event t = action_event(a, NULL);

	t.reason = a->err->context;
	/* The cause first. */
	if (by_validation)
		action_emit(a, EVENT_TYPE_VALIDATION_REJECTED, &t);
	action_emit(a, EVENT_TYPE_TOOL_SPAWN_FAILED, &t);
	return -1;
}

/*
 * Validates the implementation in a sandbox. Returns 0, or -1 with TOOL_REFUSED and the record in
 * the answer's data.
 */
static int validate(struct action_context *a, struct tool_run *p)
{
	char *line;

	if (take_options(a, p) < 0 || execute(a, p) < 0)
		return -1;
	if (p->result.success)
		return 0;
	line = error_line(&p->result);
	error_set(a->err, FAILURE_TOOL_REFUSED, 0, "%s: %.400s", p->spec->name, line ? line : "");
	free(line);
	buffer_add_text(&a->answer->data, "\"validation\":");
	record_write(&p->result, &a->answer->data);
	return -1;
}

int action_validate(struct action_context *a, const struct spec *spec)
{
	struct tool_run p;
	int status = begin(a, &p, spec, FOR_TOOL_SPAWN, EXECUTE_VALIDATE_ONLY) < 0
		? -1
		: validate(a, &p);

	end(&p);
	return status;
}

static int keep(struct action_context *a, const struct spec *spec, const struct record *validation)
{
	const struct spawning s = { .spec = spec,
		.has_policy = a->has_policy,
		.policy = a->policy,
		.threshold = a->threshold,
		.session = a->session,
		.agent = a->agent,
		.who = a->request->authority.who,
		.fallback_policy = a->request->policy,
		.fallback_threshold = a->request->threshold };
	struct item item;
	struct tool_event t;
	bool is_new;

	if (versions_spawn(&a->store, &s, &item, &is_new, a->err) < 0)
		return emit_refused(a, false);
	t = action_event(a, &item);
	if (is_new)
		action_emit(a, EVENT_TYPE_TOOL_SPAWNED, &t);
	if (action_write_item(a, item.id) < 0)
		return -1;
	json_key(&a->w, "new");
	json_bool(&a->w, is_new);
	json_key(&a->w, "validation");
	{
		struct buffer record = BUFFER_INIT;

		record_write(validation, &record);
		a->answer->result.failed |= record.failed;
		json_raw(&a->w, record.length ? record.data : "null",
			record.length ? record.length : 4);
		buffer_free(&record);
	}
	return 0;
}

int action_spawn(struct action_context *a)
{
	struct json_slice text = json_get(a->params, "spec");
	struct tool_run p;
	struct spec spec;
	int status = -1;

	if (!text.text)
		return error_set(a->err, FAILURE_BAD_OPTION, 0, "spec is missing");
	guess_name(a, text);
	if (spec_read(&spec, text.text, text.length, a->err) < 0)
		return emit_refused(a, false);
	if (spec_check_ceilings(&spec, a->err) < 0) {
		spec_free(&spec);
		return emit_refused(a, false);
	}
	memcpy(a->name, spec.name, sizeof spec.name);
	if (begin(a, &p, &spec, FOR_TOOL_SPAWN, EXECUTE_VALIDATE_ONLY) == 0) {
		if (validate(a, &p) == 0)
			status = keep(a, &spec, &p.result);
		else if (a->err->code == FAILURE_TOOL_REFUSED)
			emit_refused(a, true);
	}
	end(&p);
	spec_free(&spec);
	return status;
}

/* ---- call ---- */

static void emit_call(struct action_context *a, const struct item *item, const struct tool_run *p,
	const char *error)
{
	struct tool_event t = action_event(a, item);

	t.subject = p->result.execution_id;
	t.duration_us = p->result.duration_us;
	t.error = error;
	action_emit(a, error ? EVENT_TYPE_TOOL_FAILED : EVENT_TYPE_TOOL_COMPLETED, &t);
}

static void emit_step(struct action_context *a, const struct item *item, enum promotion_step step)
{
	struct tool_event t = action_event(a, item);
	char who[40], reason[80];

	snprintf(who, sizeof who, "policy:%s", promotion_policy_word(item->policy));
	snprintf(reason, sizeof reason, "%" PRId64 " successful calls", item->successes);
	t.by = who;
	t.reason = reason;
	if (step != STEP_NONE)
		action_emit(a,
			step == STEP_WAIT ? EVENT_TYPE_TOOL_PENDING : EVENT_TYPE_TOOL_PROMOTED, &t);
}

static int write_call(struct action_context *a, const struct tool_run *p, const struct item *item)
{
	struct buffer record = BUFFER_INIT;

	a->answer->status = record_exit_status(&p->result, true);
	json_key(&a->w, "status");
	json_integer(&a->w, a->answer->status);
	json_key(&a->w, "record");
	record_write(&p->result, &record);
	a->answer->result.failed |= record.failed;
	json_raw(&a->w, record.length ? record.data : "null", record.length ? record.length : 4);
	buffer_free(&record);
	json_key(&a->w, "tool");
	if (!item->id) {
		json_null(&a->w);
		return 0;
	}
	json_open_object(&a->w);
	if (action_write_item(a, item->id) < 0)
		return -1;
	json_close_object(&a->w);
	return 0;
}

/* Runs it, counts it, emits its events, in this order. */
static int run_and_count(struct action_context *a, struct tool_run *p, const struct item *called)
{
	struct run run = { .execution_id = p->result.execution_id };
	enum promotion_step step = STEP_NONE;
	struct item item = { .id = 0 };
	char *line = NULL;
	int status;

	status = execute(a, p);
	run.touched = p->touched;
	run.touched_count = p->touched_count;
	if (status < 0) {
		emit_call(a, called, p, a->err->context);
	} else {
		line = p->result.success ? NULL : error_line(&p->result);
		run.error = p->result.success ? NULL : line ? line : "it failed";
		run.duration_us = p->result.duration_us;
		status = versions_record(&a->store, called->id, &run, &item, &step, a->err);
		if (status == 0) {
			emit_call(a, item.id ? &item : called, p, run.error);
			emit_step(a, &item, step);
			status = write_call(a, p, &item);
		}
	}
	free(line);
	return status;
}

static int take_arguments(struct action_context *a, struct tool_run *p)
{
	struct json_slice args = json_get(a->params, "args");
	char *text;
	int status;

	if (args.text && json_kind(args) != JSON_OBJECT)
		return error_set(a->err, FAILURE_ARGUMENTS_REFUSED, 0,
			"%s: the arguments are a JSON object", p->spec->name);
	text = args.text ? strndup(args.text, args.length) : strdup("{}");
	if (!text)
		return error_set(a->err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping arguments");
	status = options_set(&p->options, FOR_EXEC, "args", text, a->err);
	free(text);
	if (status < 0 && a->err->code == FAILURE_BAD_OPTION)
		a->err->code = FAILURE_ARGUMENTS_REFUSED;
	return status < 0 ? -1
			  : spec_check_arguments(p->spec, p->options.args_json,
				    strlen(p->options.args_json), a->err);
}

int action_call(struct action_context *a)
{
	struct tool_run p;
	struct item item;
	struct spec spec;
	int status = -1;

	if (versions_find(&a->store, a->name, &a->reference, a->session, &item, a->err) < 0 ||
		versions_spec(&a->store, item.id, &spec, a->err) < 0)
		return -1;
	if (begin(a, &p, &spec, FOR_TOOL_CALL, 0) == 0 && spec_check_ceilings(&spec, a->err) == 0 &&
		take_options(a, &p) == 0) {
		if (take_arguments(a, &p) < 0)
			emit_call(a, &item, &p, a->err->context);
		else if (a->cwd && chdir(a->cwd) != 0)
			error_set(a->err, FAILURE_PATH_MISSING, errno,
				"entering the caller's directory %.200s", a->cwd);
		else
			status = run_and_count(a, &p, &item);
	}
	end(&p);
	spec_free(&spec);
	return status;
}
