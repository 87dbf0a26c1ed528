/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the control protocol. See request.h.
 *
 * Each either answers at once, or hands the request on as an execution, or refuses. Nothing here
 * waits.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/request.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/trace.h"
#include "isolate/daemon/connection.h"
#include "isolate/daemon/connection_state.h"
#include "isolate/daemon/history.h"
#include "isolate/daemon/job.h"
#include "isolate/monitor/event_table.h"
#include "isolate/tiers/tier.h"
#include "isolate/tools/store.h"

#define JOBS_MAX 256 /* of one connection */

static void say_result(
	struct connection *c, const struct protocol_request *r, struct buffer *result)
{
	struct buffer line = BUFFER_INIT;

	if (!result->failed && result->length > 0)
		protocol_result(&line, r->id, result->data, result->length);
	if (!line.failed && line.length > 0)
		connection_send(c, line.data, line.length);
	buffer_free(&line);
	buffer_free(result);
}

void request_refuse(struct connection *c, const struct protocol_request *r,
	const struct protocol_refusal *refusal)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;

	protocol_error(&line, r->id, refusal->code, refusal->message, NULL, 0);
	if (!line.failed && line.length > 0)
		connection_send(c, line.data, line.length);
}

static void say_true(struct connection *c, const struct protocol_request *r)
{
	struct buffer result = BUFFER_INIT;

	buffer_add_text(&result, "{\"ok\":true}");
	say_result(c, r, &result);
}

static bool refuse(struct protocol_refusal *refusal, int code, const char *message)
{
	refusal->code = code;
	snprintf(refusal->message, sizeof refusal->message, "%s", message);
	return false;
}

/* A member that is true or false; false where it is missing. */
static bool is_set(const struct protocol_request *r, const char *key)
{
	struct json_slice value = json_get(r->params, key);

	return value.text && value.length == 4 && memcmp(value.text, "true", 4) == 0;
}

/* The members that are true or false, where they are given. */
static bool check_flags(const struct protocol_request *r, struct protocol_refusal *refusal)
{
	static const char *const FLAGS[] = { "detach", "follow", "streams" };
	char sentence[64];

	for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
		struct json_slice value = json_get(r->params, FLAGS[i]);

		if (!value.text || is_set(r, FLAGS[i]) ||
			(value.length == 5 && memcmp(value.text, "false", 5) == 0))
			continue;
		snprintf(sentence, sizeof sentence, "%s must be true or false", FLAGS[i]);
		return refuse(refusal, ERROR_PARAMS, sentence);
	}
	return true;
}

/* The events of one execution, until it is answered. */
static void follow_job(struct connection *c, const struct job *j, uint64_t from)
{
	c->subscribed = c->follows = true;
	c->filter = (struct event_filter){ "", "" };
	snprintf(c->filter.subject, sizeof c->filter.subject, "%s", j->id);
	c->cursor = from;
}

/* An execution, or something to be done with tools: either is a worker's. */
static bool begin_job(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	struct server *s = c->server;
	int streams[STREAMS] = { -1, -1, -1 };
	bool detach = is_set(r, "detach"), follow = is_set(r, "follow");
	uint64_t from = bus_next(s->bus);
	struct buffer result = BUFFER_INIT;
	struct job *j;

	if (!check_flags(r, refusal))
		return false;
	if (follow && (detach || c->subscribed))
		return refuse(refusal, ERROR_PARAMS,
			"follow does not go with detach, nor with a subscription on the same "
			"connection");
	if (is_set(r, "streams")) {
		if (c->stream_count != STREAMS || detach)
			return refuse(refusal, ERROR_PARAMS,
				"streams needs three descriptors with the request, and does not go "
				"with detach");
		memcpy(streams, c->streams, sizeof streams);
		c->stream_count = 0;
	}
	if (!detach && (c->jobs >= JOBS_MAX || !r->id[0])) {
		for (size_t i = 0; i < STREAMS; i++)
			if (streams[i] >= 0)
				close(streams[i]);
		return refuse(refusal, c->jobs >= JOBS_MAX ? ERROR_BUSY : ERROR_REQUEST,
			c->jobs >= JOBS_MAX
				? "this connection has too many executions already"
				: "an execution needs an id to be answered with, or detach");
	}
	c->jobs += !detach;
	j = job_new(s, detach ? NULL : c, c->uid, r, streams, refusal);
	if (!j && refusal->code != 0)
		c->jobs -= !detach;
	if (j && follow)
		follow_job(c, j, from);
	if (!j || !detach)
		return refusal->code == 0;
	buffer_printf(&result, "{\"execution_id\":\"%s\"}", j->id);
	say_result(c, r, &result);
	return true;
}

/* The execution that a request names. */
static struct job *named_job(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	char id[EMITTER_SUBJECT_MAX] = "";
	struct job *j;

	if (!protocol_text(r, "execution_id", id, sizeof id, refusal))
		return NULL;
	j = job_find(c->server, id);
	if (!j)
		refuse(refusal, ERROR_NO_SUCH, "there is no such execution, or it has ended");
	return j;
}

static bool show(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	char id[EMITTER_SUBJECT_MAX] = "";
	struct json_slice kept;
	struct buffer result = BUFFER_INIT;
	const struct job *j;

	if (!protocol_text(r, "execution_id", id, sizeof id, refusal))
		return false;
	j = job_find(c->server, id);
	kept = history_find(c->server->history, id);
	if (j)
		job_show(j, &result);
	else if (kept.text)
		buffer_add(&result, kept.text, kept.length);
	else
		return refuse(refusal, ERROR_NO_SUCH,
			"there is no such execution, or it ended too long ago");
	say_result(c, r, &result);
	return true;
}

static bool control(struct connection *c, const struct protocol_request *r, unsigned char byte,
	struct protocol_refusal *refusal)
{
	struct job *j = named_job(c, r, refusal);
	char by[16] = "";

	if (!j || (byte == SIGKILL && !protocol_text(r, "by", by, sizeof by, refusal)))
		return false;
	if (by[0] && strcmp(by, "operator") != 0 && strcmp(by, "client") != 0)
		return refuse(refusal, ERROR_PARAMS, "by must be operator or client");
	if (byte == SIGKILL) {
		/* The answer first: ending an execution that waits answers its owner at once. */
		say_true(c, r);
		job_end(j, strcmp(by, "operator") == 0 ? END_BY_OPERATOR : END_BY_CLIENT);
		return true;
	}
	if (!job_control(j, byte))
		return refuse(
			refusal, ERROR_BUSY, "the execution has not begun, or does not listen");
	say_true(c, r);
	return true;
}

static bool signal_jobs(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	int64_t number = 0;

	if (!protocol_number(r, "signal", 1, 63, &number, refusal))
		return false;
	if (number == 0)
		return refuse(refusal, ERROR_PARAMS, "signal is missing");
	if (json_get(r->params, "execution_id").text)
		return control(c, r, (unsigned char)number, refusal);
	for (struct job *j = c->server->jobs; j; j = j->next)
		if (j->owner == c)
			job_control(j, (unsigned char)number);
	say_true(c, r);
	return true;
}

static bool subscribe(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	struct bus *bus = c->server->bus;
	int64_t since = (int64_t)bus_next(bus) - 1;
	struct event_filter filter = { "", "" };
	struct buffer result = BUFFER_INIT;

	if (!protocol_number(r, "since", 0, INT64_C(900000000000000000), &since, refusal) ||
		!protocol_text(r, "type", filter.type, sizeof filter.type, refusal) ||
		!protocol_text(r, "subject", filter.subject, sizeof filter.subject, refusal))
		return false;
	/* A quarter of the places is for those who run, list and kill. */
	if (!c->subscribed &&
		connection_subscribers(c->server) >=
			c->server->options->connections - c->server->options->connections / 4)
		return refuse(refusal, ERROR_BUSY,
			"the daemon has as many subscribers as it takes (three quarters of "
			"--connections)");
	c->subscribed = true;
	c->follows = false;
	c->filter = filter;
	c->cursor = (uint64_t)since + 1;
	if (c->cursor > bus_next(bus))
		c->cursor = bus_next(bus);
	buffer_printf(&result, "{\"next\":%llu,\"oldest\":%llu}", (unsigned long long)bus_next(bus),
		(unsigned long long)bus_oldest(bus));
	say_result(c, r, &result);
	return true;
}

static bool perform(
	struct connection *c, const struct protocol_request *r, struct protocol_refusal *refusal)
{
	struct buffer result = BUFFER_INIT;

	switch (r->method) {
	case METHOD_RUN:
	case METHOD_EXECUTE:
	case METHOD_VALIDATE:
	case METHOD_TOOL_SPAWN:
	case METHOD_TOOL_CALL:
	case METHOD_TOOL_LIST:
	case METHOD_TOOL_PENDING:
	case METHOD_TOOL_SHOW:
	case METHOD_TOOL_PROMOTE:
	case METHOD_TOOL_REJECT:
	case METHOD_TOOL_REVOKE:
	case METHOD_TOOL_FORGET:
	case METHOD_TOOL_HISTORY:
	case METHOD_TOOL_EXPORT:
	case METHOD_TOOL_IMPORT:
		return begin_job(c, r, refusal);
	case METHOD_KILL:
		return control(c, r, SIGKILL, refusal);
	case METHOD_PAUSE:
		return control(c, r, CONTROL_PAUSE, refusal);
	case METHOD_RESUME:
		return control(c, r, CONTROL_RESUME, refusal);
	case METHOD_SIGNAL:
		return signal_jobs(c, r, refusal);
	case METHOD_SUBSCRIBE:
		return subscribe(c, r, refusal);
	case METHOD_UNSUBSCRIBE:
		c->subscribed = false;
		say_true(c, r);
		return true;
	case METHOD_SHOW:
		return show(c, r, refusal);
	case METHOD_LIST:
		job_list(c->server, &result);
		break;
	case METHOD_INFO:
		request_info(c->server, &result);
		break;
	case METHOD_COUNT:
		break;
	}
	say_result(c, r, &result);
	return true;
}

void request_take(struct connection *c, const char *line, size_t length)
{
	struct protocol_request request;
	struct protocol_refusal refusal = { 0, "" };

	/* An empty line keeps a connection alive, as it does elsewhere. */
	if (length == 0)
		return;
	if (protocol_read(line, length, &request, &refusal)) {
		trace("daemon", "%s, %zu bytes, by uid %u", protocol_methods[request.method].name,
			length, c->uid);
		if (perform(c, &request, &refusal))
			return;
	}
	trace("daemon", "refused: %d %s", refusal.code, refusal.message);
	request_refuse(c, &request, &refusal);
}

/* ---- answers ---- */

/*
 * The result of daemon.info, from a table: a number that is added to the server is one line here.
 */

void request_info(const struct server *s, struct buffer *out)
{
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{ "pid", getpid() },
		{ "schema", EVENTS_SCHEMA },
		{ "uptime_ms", (clock_now_us() - s->started_us) / 1000 },
		{ "next", (int64_t)bus_next(s->bus) },
		{ "oldest", (int64_t)bus_oldest(s->bus) },
		{ "malformed", (int64_t)bus_malformed(s->bus) },
		{ "audit_failed_writes", s->audit ? (int64_t)audit_failed_writes(s->audit) : 0 },
		{ "executions", (int64_t)s->executions },
		{ "running", s->running },
		{ "waiting", s->waiting },
		{ "connections", s->connection_count },
		{ "jobs_limit", s->options->jobs },
		{ "queue_limit", s->options->queue },
		{ "connections_limit", s->options->connections },
	};
	char library[PATH_MAX];
	struct json_writer w;

	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "version");
	json_string(&w, PACKAGE_VERSION);
	json_key(&w, "audit");
	json_string(&w, s->options->audit);
	if (store_identity(library)) {
		json_key(&w, "library");
		json_string(&w, library);
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		json_key(&w, numbers[i].key);
		json_integer(&w, numbers[i].value);
	}
	json_close_object(&w);
}
