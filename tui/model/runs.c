/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of executions. See runs.h.
 *
 * One function a type of event, found through a table. All text is made visible as it is taken
 * over, into arrays of fixed size; JSON of events is kept as it came, for the view that shows it,
 * and is made visible there.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"
#include "isolate/base/json_read.h"

#define BUCKETS 1024u
#define RUNS_MAX 1000u
#define OUTPUT_BOUND (1u << 20)

struct runs {
	struct run *buckets[BUCKETS];
	struct run *newest, *oldest;
	struct run *last; /* the one that was asked for last */
	size_t count;
	uint64_t numbers;
};

struct runs *runs_new(void)
{
	return calloc(1, sizeof(struct runs));
}

static unsigned bucket_of(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash % BUCKETS;
}

static void remove_run(struct runs *r, struct run *run)
{
	struct run **at = &r->buckets[bucket_of(run->id)];

	while (*at != run)
		at = &(*at)->next_in_bucket;
	*at = run->next_in_bucket;
	*(run->newer ? &run->newer->older : &r->newest) = run->older;
	*(run->older ? &run->older->newer : &r->oldest) = run->newer;
	r->last = r->last == run ? NULL : r->last;
	r->count--;
	buffer_free(&run->limits);
	buffer_free(&run->confinement);
	buffer_free(&run->files);
	buffer_free(&run->shown);
	lines_free(&run->output);
	free(run);
}

void runs_free(struct runs *r)
{
	while (r && r->newest)
		remove_run(r, r->newest);
	free(r);
}

struct run *runs_find(struct runs *r, const char *id)
{
	struct run *run = r->last;

	if (run && strcmp(run->id, id) == 0)
		return run;
	for (run = r->buckets[bucket_of(id)]; run && strcmp(run->id, id) != 0;)
		run = run->next_in_bucket;
	if (run)
		r->last = run;
	return run;
}

/* Makes place among those that have ended; when all live, there are more of them for a while. */
static void keep_bound(struct runs *r)
{
	for (struct run *run = r->oldest, *newer; run && r->count >= RUNS_MAX; run = newer) {
		newer = run->newer;
		if (!run_is_live(run))
			remove_run(r, run);
	}
}

static struct run *add(struct runs *r, const char *id)
{
	struct run *run;
	unsigned bucket = bucket_of(id);

	keep_bound(r);
	run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	snprintf(run->id, sizeof run->id, "%s", id);
	run->number = ++r->numbers;
	run->state = RUN_RUNS;
	run->exit_code = run->signal = -1;
	run->open_stream = -1;
	run->output.bound = OUTPUT_BOUND;
	run->next_in_bucket = r->buckets[bucket];
	r->buckets[bucket] = run;
	run->older = r->newest;
	*(r->newest ? &r->newest->newer : &r->oldest) = run;
	r->newest = run;
	r->last = run;
	r->count++;
	return run;
}

static void take_text(struct json_slice data, const char *name, char *out, size_t size)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;

	if (json_get_bytes(data, name, &bytes))
		text_visible_into(out, size, bytes.data, bytes.length, TEXT_ONE_LINE);
}

/* "sandbox.execute" is execute. */
static void take_method(struct json_slice item, const char *name, char *out, size_t size)
{
	char method[64] = "";

	take_text(item, name, method, sizeof method);
	snprintf(out, size, "%s", strchr(method, '.') ? strchr(method, '.') + 1 : method);
}

static void take_json(struct json_slice data, const char *name, struct buffer *out)
{
	struct json_slice value = json_get(data, name);

	buffer_free(out);
	if (value.text)
		buffer_add(out, value.text, value.length);
}

/* The whole part of a number, in whichever locale. */
static int64_t whole_of(struct json_slice object, const char *name)
{
	struct json_slice value = json_get(object, name);

	for (size_t at = 0; at < value.length; at++)
		if (value.text[at] == '.')
			value.length = at;
	return json_int(value, 0);
}

static void on_queued(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run->state = run->has_started || run->state == RUN_ENDED ? run->state : RUN_WAITS;
	take_method(data, "program", run->program, sizeof run->program);
	take_text(data, "name", run->name, sizeof run->name);
	take_text(data, "command", run->command, sizeof run->command);
}

static void on_started(struct run *run, struct json_slice data, int64_t time_ns)
{
	struct json_slice limits = json_get(data, "limits");

	run->has_started = true;
	run->state = RUN_RUNS;
	run->started_ns = time_ns;
	run->timeout_ms = json_int(json_get(limits, "timeout_ms"), 0);
	run->memory_limit = json_int(json_get(limits, "memory_bytes"), 0);
	take_text(data, "name", run->name, sizeof run->name);
	take_text(data, "command", run->command, sizeof run->command);
	take_text(data, "program", run->program, sizeof run->program);
	take_text(data, "tier", run->tier, sizeof run->tier);
	take_text(data, "policy", run->policy, sizeof run->policy);
	take_json(data, "limits", &run->limits);
	take_json(data, "confinement", &run->confinement);
}

static void on_confined(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run->is_confined = true;
	take_json(data, "confinement", &run->confinement);
}

static void take_usage(struct run *run, struct json_slice usage)
{
	if (!usage.text)
		return;
	run->cpu_ms = whole_of(usage, "cpu_user_ms") + whole_of(usage, "cpu_system_ms");
	run->cpu_percent =
		run->duration_ms > 0 ? 100.0 * (double)run->cpu_ms / (double)run->duration_ms : 0;
	run->memory_top = whole_of(usage, "peak_memory_bytes");
	run->processes = whole_of(usage, "peak_processes");
}

static void on_executed(struct run *run, struct json_slice data, int64_t time_ns)
{
	run->state = RUN_ENDED;
	run->ended_ns = time_ns;
	run->success = json_is_true(json_get(data, "success"));
	run->exit_code = json_int(json_get(data, "exit_code"), -1);
	run->signal = json_int(json_get(data, "signal"), -1);
	run->duration_ms = json_int(json_get(data, "duration_ms"), 0);
	run->cpu_percent = 0;
	take_usage(run, json_get(data, "usage"));
	take_text(data, "ended_by", run->ended_by, sizeof run->ended_by);
	take_text(data, "error", run->error, sizeof run->error);
	take_text(data, "failure", run->failure, sizeof run->failure);
	take_json(data, "files", &run->files);
}

static void on_paused(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)data;
	(void)time_ns;
	run->state = run->state == RUN_ENDED ? RUN_ENDED : RUN_PAUSED;
}

static void on_resumed(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)data;
	(void)time_ns;
	run->state = run->state == RUN_ENDED ? RUN_ENDED : RUN_RUNS;
}

static void on_sample(struct run *run, struct json_slice data, int64_t time_ns)
{
	int64_t elapsed = json_int(json_get(data, "elapsed_ms"), 0),
		cpu = json_int(json_get(data, "cpu_ms"), 0);

	(void)time_ns;
	if (elapsed > run->elapsed_ms && cpu >= run->cpu_ms)
		run->cpu_percent =
			100.0 * (double)(cpu - run->cpu_ms) / (double)(elapsed - run->elapsed_ms);
	run->elapsed_ms = elapsed;
	run->cpu_ms = cpu;
	run->memory = json_int(json_get(data, "memory_bytes"), 0);
	run->memory_top = run->memory > run->memory_top ? run->memory : run->memory_top;
	run->processes = json_int(json_get(data, "processes"), 0);
	run->workspace = json_int(json_get(data, "workspace_bytes"), 0);
	series_add(&run->cpu, run->cpu_percent);
	series_add(&run->use, (double)run->memory);
}

static void on_limit(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run->timed_out |= json_is(json_get(data, "limit"), "wall-time");
}

static void on_opened(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run->opened += (uint64_t)json_int(json_get(data, "count"), 1);
}

static void on_denied(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run->denied += (uint64_t)json_int(json_get(data, "count"), 1);
}

static void on_tool(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	take_text(data, "tool_name", run->tool.name, sizeof run->tool.name);
	take_text(data, "user", run->tool.user, sizeof run->tool.user);
	run->tool.version = json_int(json_get(data, "tool_version"), 0);
	if (!run->name[0])
		snprintf(run->name, sizeof run->name, "%s", run->tool.name);
}

static void on_stdout(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run_output_add(run, 0, data);
}

static void on_stderr(struct run *run, struct json_slice data, int64_t time_ns)
{
	(void)time_ns;
	run_output_add(run, 1, data);
}

static const struct {
	const char *type;
	void (*apply)(struct run *run, struct json_slice data, int64_t time_ns);
} HANDLERS[] = {
	{ "fs.opened", on_opened },
	{ "output.stdout", on_stdout },
	{ "output.stderr", on_stderr },
	{ "resource.sample", on_sample },
	{ "fs.denied", on_denied },
	{ "syscall.denied", on_denied },
	{ "net.denied", on_denied },
	{ "limit.hit", on_limit },
	{ "sandbox.queued", on_queued },
	{ "sandbox.started", on_started },
	{ "sandbox.confined", on_confined },
	{ "sandbox.executed", on_executed },
	{ "sandbox.paused", on_paused },
	{ "sandbox.resumed", on_resumed },
	{ "tool.invocation_completed", on_tool },
	{ "tool.invocation_failed", on_tool },
};

/* The run that an event or a listing speaks of; NULL where the subject is none, such as a tool. */
static struct run *run_of(struct runs *r, struct json_slice subject)
{
	char id[RUN_ID_MAX] = "", shown[RUN_ID_MAX];
	struct run *run;

	if (!subject.text || !json_copy(subject, id, sizeof id) || !id[0] || strchr(id, ':'))
		return NULL;
	text_visible_into(shown, sizeof shown, id, strlen(id), TEXT_ONE_LINE);
	run = runs_find(r, shown);
	return run ? run : add(r, shown);
}

struct run *runs_apply(struct runs *r, struct json_slice event)
{
	struct json_slice type = json_get(event, "type"), data = json_get(event, "data");
	struct run *run = run_of(r, json_get(event, "subject"));

	if (!run)
		return NULL;
	run->events++;
	for (size_t i = 0; i < sizeof HANDLERS / sizeof *HANDLERS; i++)
		if (json_is(type, HANDLERS[i].type)) {
			int64_t time_ns = json_time(json_get(event, "time"));

			if (run->started_ns == 0)
				run->started_ns = time_ns;
			HANDLERS[i].apply(run, data, time_ns);
			break;
		}
	return run;
}

static enum run_state listed_state(struct json_slice state)
{
	return json_is(state, "waiting")   ? RUN_WAITS
		: json_is(state, "paused") ? RUN_PAUSED
					   : RUN_RUNS;
}

/* The check of a tool's source runs nothing: it has no events, so it is no row. */
static bool runs_nothing(struct json_slice item)
{
	char method[64] = "";

	take_text(item, "method", method, sizeof method);
	return strcmp(method, "tool.spawn") == 0;
}

void runs_apply_list(struct runs *r, struct json_slice list)
{
	struct json_slice item;

	for (struct run *run = r->newest; run; run = run->older)
		run->listed = false;
	for (size_t at = 0; json_item(list, &at, &item);) {
		struct run *run =
			runs_nothing(item) ? NULL : run_of(r, json_get(item, "execution_id"));

		if (!run)
			continue;
		run->listed = true;
		if (run->state != RUN_ENDED)
			run->state = listed_state(json_get(item, "state"));
		if (run->has_started)
			continue;
		take_method(item, json_get(item, "program").text ? "program" : "method",
			run->program, sizeof run->program);
		take_text(item, "name", run->name, sizeof run->name);
		take_text(item, "command", run->command, sizeof run->command);
	}
	for (struct run *run = r->newest; run; run = run->older)
		if (!run->listed && run_is_live(run))
			run->state = RUN_GONE;
}

size_t runs_count(const struct runs *r)
{
	return r->count;
}

struct run *runs_newest(const struct runs *r)
{
	return r->newest;
}

bool run_is_live(const struct run *run)
{
	return run->state < RUN_ENDED;
}

int64_t run_left_ms(const struct run *run)
{
	int64_t left = run->timeout_ms - run->elapsed_ms;

	return run->timeout_ms <= 0 || !run_is_live(run) ? -1 : left < 0 ? 0 : left;
}

const char *run_label(const struct run *run)
{
	return run->command[0]    ? run->command
		: run->name[0]    ? run->name
		: run->program[0] ? run->program
				  : "?";
}

int64_t run_memory(const struct run *run)
{
	return run_is_live(run) ? run->memory : run->memory_top;
}

/* What ended it: ended_by of the last event. */
static const struct cause {
	const char *name, *word, *why;
} CAUSES[] = {
	{ "timeout", "timed out", "its time was over (--timeout)" },
	{ "memory", "oom", "its processes used more memory than they may (--memory)" },
	{ "operator", "killed: operator", "an operator ended it (K)" },
	{ "client", "killed: client", "a client asked for its end" },
	{ "client_gone", "client gone", "the client that waited for it went away" },
	{ "daemon_stop", "killed: daemon", "the daemon ended, and it with it" },
	{ "signal", NULL, "a signal that was passed on to it ended it" },
};

static const struct cause *cause_of(const struct run *run)
{
	for (size_t i = 0; i < sizeof CAUSES / sizeof *CAUSES; i++)
		if (strcmp(CAUSES[i].name, run->ended_by) == 0)
			return &CAUSES[i];
	return NULL;
}

const char *run_state_why(const struct run *run)
{
	const struct cause *cause = cause_of(run);

	return run->state == RUN_GONE ? "the daemon has it no more, and no event told of its end"
		: cause               ? cause->why
				      : "";
}

const char *run_state_text(const struct run *run, char text[32])
{
	const struct cause *cause = cause_of(run);
	static const char *const LIVE[] = { [RUN_WAITS] = "waiting",
		[RUN_RUNS] = "running",
		[RUN_PAUSED] = "paused",
		[RUN_GONE] = "gone" };

	if (run->state != RUN_ENDED)
		return LIVE[run->state];
	if (cause && cause->word)
		return cause->word;
	if (run->timed_out)
		return "timed out";
	if (run->failure[0]) {
		/* The code, in words: view_lost is "view lost". */
		snprintf(text, 32, "%.31s", run->failure);
		for (char *at = text; *at; at++)
			*at = *at == '_' ? ' ' : *at;
		return text;
	}
	if (run->signal > 0)
		snprintf(text, 32, "signal %d", (int)run->signal);
	else if (run->exit_code > 0)
		snprintf(text, 32, "exit %d", (int)run->exit_code);
	else
		return run->success ? "done" : "error";
	return text;
}

enum style run_style(const struct run *run)
{
	switch (run->state) {
	case RUN_RUNS:
		return STYLE_GOOD;
	case RUN_PAUSED:
	case RUN_WAITS:
		return STYLE_WARN;
	default:
		return run->state == RUN_ENDED && run->success ? STYLE_PLAIN : STYLE_DENY;
	}
}

/* ---- run output ---- */

/*
 * The output of a run.
 *
 * The two streams come in pieces that end anywhere, in the middle of a character too: such an end
 * is kept back until its rest comes. A piece goes on in the line that its stream left open, unless
 * the other stream wrote in between.
 */

/* How many bytes at the end are the beginning of a character. */
static size_t cut_end(const char *text, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		uint32_t c;
		bool truncated;

		if (((unsigned char)text[length - back] & 0xc0) != 0xc0)
			continue;
		return text_decode((const unsigned char *)text + length - back, back, &c,
			       &truncated) == 0 &&
				truncated
			? back
			: 0;
	}
	return 0;
}

void run_output_add(struct run *run, int stream, struct json_slice data)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	size_t at = 0, cut;

	assert(stream == 0 || stream == 1);
	buffer_add(&text, run->rest[stream], run->rest_length[stream]);
	run->rest_length[stream] = 0;
	if (!json_get_bytes(data, "text", &text) || text.failed || text.length == 0)
		return;
	cut = cut_end(text.data, text.length);
	memcpy(run->rest[stream], text.data + text.length - cut, cut);
	run->rest_length[stream] = cut;
	text.length -= cut;
	if (run->open_stream == stream) {
		const char *newline = memchr(text.data, '\n', text.length);

		at = newline ? (size_t)(newline - text.data) : text.length;
		lines_extend(&run->output, text.data, at);
		at += newline != NULL;
		run->open_stream = newline ? -1 : stream;
	}
	if (at < text.length) {
		lines_foreign(&run->output, stream ? STYLE_WARN : STYLE_PLAIN, text.data + at,
			text.length - at, 0);
		run->open_stream = text.data[text.length - 1] == '\n' ? -1 : stream;
	}
}
