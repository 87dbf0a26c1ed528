/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results and records. See record.h.
 *
 * The record is written from what was observed: a layer is named when its bit is set, a limit when
 * something enforces it. JSON from the runner is spliced in as it came, because re-encoding would
 * round its numbers; it can be, because the gate has let it through.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "isolate/wire/limits.h"

static const struct {
	const char *name;
	bool is_namespace;
} LAYERS[] = {
#define LAYER(id, name, is_namespace) { name, is_namespace },
#include "isolate/wire/layers.def"
#undef LAYER
};

const struct limit_text limit_texts[LIMIT_NAMES] = {
#define LIMIT_NAME(id, word, option, how) [LIMIT_NAME_##id] = { word, option },
#include "isolate/options/limit_names.def"
#undef LIMIT_NAME
};

/* By the name of the filter in force. Most of what is refused nothing allows. */
static const struct {
	const char *call, *filter, *allow;
} ALLOWED_BY[] = {
	{ "memfd_create", "command",
		"a delegated cgroup, which counts its memory: see cordon doctor" },
	{ "socket", "command-offline", "--network allow" },
	{ "socket", "body", "--network allow" },
	{ "ptrace", "command-offline", "--tier namespace" },
	{ "ptrace", "command-shared", "--tier namespace" },
};

const char *const end_cause_words[END_CAUSES] = {
	[END_BY_TIMEOUT] = "timeout",
	[END_BY_MEMORY] = "memory",
	[END_BY_SIGNAL] = "signal",
	[END_BY_OPERATOR] = "operator",
	[END_BY_CLIENT] = "client",
	[END_BY_CLIENT_GONE] = "client_gone",
	[END_BY_DAEMON_STOP] = "daemon_stop",
};

int record_init(struct record *r, struct error *err)
{
	unsigned char random[16];
	char *at;

	memset(r, 0, sizeof *r);
	r->exit_code = -1;
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making an execution id");
	at = r->execution_id;
	for (size_t i = 0; i < sizeof random; i++)
		at += sprintf(at, "%02x", random[i]);
	return 0;
}

void record_free(struct record *r)
{
	buffer_free(&r->output);
	buffer_free(&r->error);
	buffer_free(&r->detail);
	buffer_free(&r->out.bytes);
	buffer_free(&r->err.bytes);
	buffer_free(&r->export_written.names);
	for (size_t i = 0; i < VIEW_REFUSALS; i++) {
		free(r->view.refused[i].path);
		free(r->view.refused[i].allow);
	}
	free(r->view.unlogged);
}

static int by_count(const void *a, const void *b)
{
	const struct view_refusal *x = a, *y = b;

	return x->count < y->count    ? 1
		: x->count > y->count ? -1
		: x->path && y->path  ? strcmp(x->path, y->path)
				      : 0;
}

void record_write_view(const struct view_summary *v, struct json_writer *w)
{
	struct view_refusal sorted[VIEW_REFUSALS];

	memcpy(sorted, v->refused, sizeof sorted);
	qsort(sorted, VIEW_REFUSALS, sizeof *sorted, by_count);
	json_open_object(w);
	json_key(w, "opened");
	json_integer(w, (int64_t)v->opened);
	json_key(w, "denied");
	json_integer(w, (int64_t)v->denied);
	json_key(w, "dropped");
	json_integer(w, (int64_t)v->dropped);
	json_key(w, "refused");
	json_open_array(w);
	for (size_t i = 0; i < VIEW_REFUSALS && sorted[i].path; i++) {
		json_open_object(w);
		json_key(w, "path");
		json_bytes(w, sorted[i].path, strlen(sorted[i].path));
		json_key(w, "rule");
		json_string(w, sorted[i].rule);
		json_key(w, "count");
		json_integer(w, (int64_t)sorted[i].count);
		json_key(w, "allow");
		if (sorted[i].allow)
			json_string(w, sorted[i].allow);
		else
			json_null(w);
		json_close_object(w);
	}
	json_close_array(w);
	json_close_object(w);
}

static void write_or_null(struct json_writer *w, const struct buffer *json)
{
	if (json->length > 0)
		json_raw(w, json->data, json->length);
	else
		json_null(w);
}

static void write_truncated(struct json_writer *w, const struct record *r)
{
	json_key(w, "truncated");
	json_open_object(w);
	json_key(w, "stdout");
	json_integer(w, (int64_t)r->out.dropped);
	json_key(w, "stderr");
	json_integer(w, (int64_t)r->err.dropped);
	json_close_object(w);
}

void record_write_usage(const struct record *r, struct json_writer *w)
{
	json_open_object(w);
	json_key(w, "cpu_user_ms");
	json_real(w, (double)r->user_us / 1000, 3);
	json_key(w, "cpu_system_ms");
	json_real(w, (double)r->system_us / 1000, 3);
	json_key(w, "peak_memory_bytes");
	json_integer(w, (int64_t)r->peak_memory_bytes);
	json_key(w, "peak_processes");
	json_integer(w, r->peak_processes);
	json_key(w, "written_bytes");
	json_integer(w, (int64_t)r->written_bytes);
	json_close_object(w);
}

static void write_layers(struct json_writer *w, uint32_t layers)
{
	json_key(w, "namespaces");
	json_open_array(w);
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		if (LAYERS[i].is_namespace && (layers & (1u << i)))
			json_string(w, LAYERS[i].name);
	json_close_array(w);
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		if (!LAYERS[i].is_namespace && i != LAYER_INDEX_SECCOMP) {
			json_key(w, LAYERS[i].name);
			json_bool(w, layers & (1u << i));
		}
}

static void write_enforcers(struct json_writer *w, const struct enforcers *e)
{
	const struct {
		const char *key, *value;
	} rows[] = {
		{ "wall_time", e->wall_time },
		{ "cpu_time", e->cpu_time },
		{ "memory", e->memory },
		{ "processes", e->processes },
		{ "file_size", e->file_size },
		{ "open_files", e->open_files },
		{ "output_size", e->output_size },
		{ "workspace_size", e->workspace_size },
	};

	json_key(w, "limits");
	json_open_object(w);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_key(w, rows[i].key);
		json_string(w, rows[i].value ? rows[i].value : "none");
	}
	json_close_object(w);
}

void record_write_calls(const struct refused_calls *c, struct json_writer *w)
{
	json_open_object(w);
	for (size_t i = 0; i < REFUSED_CALLS; i++)
		if (c->top[i].count > 0) {
			json_key(w, c->top[i].name);
			json_integer(w, (int64_t)c->top[i].count);
		}
	json_close_object(w);
}

/*
 * What an overlay that an ordinary user made cannot do: redirect_dir and metacopy are refused with
 * userxattr, index needs file handles of the upper layer, which the kernel decodes for the host's
 * root alone (ovl_can_decode_fh).
 */
static const char *const SCRATCH_DIFFERS[] = {
	"rename(2) of a directory that the host has is EXDEV; mv copies it instead",
	"a file with several names: a change by one name is not seen by the others",
	("the first change of a file, also of its mode or times alone, copies it whole: that takes "
	 "--workspace-size, and counts against --fsize"),
};

const char *record_allows_call(const struct record *r, const char *call)
{
	for (size_t i = 0; r->confinement.seccomp && i < sizeof ALLOWED_BY / sizeof *ALLOWED_BY;
		i++)
		if (strcmp(ALLOWED_BY[i].call, call) == 0 &&
			strcmp(ALLOWED_BY[i].filter, r->confinement.seccomp) == 0)
			return ALLOWED_BY[i].allow;
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct refused_call_sum *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->name, y->name);
}

/* Null where they were not counted. */
static void write_refused_calls(struct json_writer *w, const struct record *r)
{
	struct refused_call_sum sorted[REFUSED_CALLS];

	json_key(w, "refused_calls");
	if (!r->calls.watched) {
		json_null(w);
		return;
	}
	memcpy(sorted, r->calls.top, sizeof sorted);
	qsort(sorted, REFUSED_CALLS, sizeof *sorted, by_number);
	json_open_array(w);
	for (size_t i = 0; i < REFUSED_CALLS && sorted[i].count > 0; i++) {
		json_open_object(w);
		json_key(w, "call");
		json_string(w, sorted[i].name);
		json_key(w, "count");
		json_integer(w, (int64_t)sorted[i].count);
		json_key(w, "allow");
		json_string(w, record_allows_call(r, sorted[i].name));
		json_close_object(w);
	}
	json_close_array(w);
}

static void write_limits_hit(struct json_writer *w, const struct record *r)
{
	json_key(w, "limits_hit");
	json_open_array(w);
	for (size_t i = 0; i < LIMIT_NAMES; i++)
		if (r->limits[i].is_hit) {
			json_open_object(w);
			json_key(w, "limit");
			json_string(w, limit_texts[i].word);
			json_key(w, "value");
			json_integer(w, r->limits[i].value);
			json_key(w, "option");
			json_string(w, limit_texts[i].option);
			json_close_object(w);
		}
	json_close_array(w);
}

static void write_confinement(
	struct json_writer *w, const struct confinement *c, const struct view_summary *unlogged)
{
	json_open_object(w);
	write_layers(w, c->layers);
	json_key(w, "view");
	json_string(w, c->view);
	json_key(w, "unlogged");
	json_open_array(w);
	for (size_t at = 0; at < unlogged->unlogged_length;
		at += strlen(unlogged->unlogged + at) + 1)
		json_bytes(w, unlogged->unlogged + at, strlen(unlogged->unlogged + at));
	json_close_array(w);
	json_key(w, "seccomp");
	json_string(w, c->layers & LAYER_SECCOMP ? c->seccomp : "none");
	json_key(w, "cgroup_or_watchdog");
	json_string(w, c->memory ? c->memory : "none");
	json_key(w, "network");
	json_string(w, c->network);
	write_enforcers(w, &c->limits);
	if (c->clamped_open_files) {
		json_key(w, "open_files_of_caller");
		json_integer(w, c->clamped_open_files);
	}
	json_key(w, "permit");
	json_open_array(w);
	for (size_t i = 0; c->permit && i < c->permit->count; i++)
		json_string(w, c->permit->items[i]);
	json_close_array(w);
	if (c->host_sockets && c->host_sockets->count > 0) {
		json_key(w, "host_sockets");
		json_open_array(w);
		for (size_t i = 0; i < c->host_sockets->count; i++)
			json_bytes(w, c->host_sockets->items[i], strlen(c->host_sockets->items[i]));
		json_close_array(w);
	}
	if (c->scratch) {
		json_key(w, "scratch_differs");
		json_open_array(w);
		for (size_t i = 0; i < sizeof SCRATCH_DIFFERS / sizeof *SCRATCH_DIFFERS; i++)
			json_string(w, SCRATCH_DIFFERS[i]);
		json_close_array(w);
	}
	json_key(w, "does_not_stop");
	json_open_array(w);
	for (unsigned i = 0; i < c->note_count; i++)
		json_string(w, c->notes[i]);
	json_close_array(w);
	json_close_object(w);
}

void record_write_confinement(const struct record *r, struct json_writer *w)
{
	write_confinement(w, &r->confinement, &r->view);
}

static void write_exported_names(struct json_writer *w, const struct workspace_written *written)
{
	const char *at = written->names.data, *end = at ? at + written->names.length : NULL,
		   *newline;

	json_key(w, "names");
	json_open_array(w);
	for (; at && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		json_bytes(w, at, (size_t)(newline - at));
	json_close_array(w);
	json_key(w, "more");
	json_integer(w, (int64_t)written->more);
}

static void write_end(struct json_writer *w, const struct record *r)
{
	json_key(w, "exit_code");
	if (r->exit_code >= 0)
		json_integer(w, r->exit_code);
	else
		json_null(w);
	json_key(w, "signal");
	if (r->signal > 0)
		json_integer(w, r->signal);
	else
		json_null(w);
	json_key(w, "timed_out");
	json_bool(w, r->timed_out);
	json_key(w, "oom");
	json_bool(w, r->oom);
	json_key(w, "duration_ms");
	json_real(w, (double)r->duration_us / 1000, 3);
}

void record_write(const struct record *r, struct buffer *out)
{
	struct json_writer w;

	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "success");
	json_bool(&w, r->success);
	json_key(&w, "output");
	write_or_null(&w, &r->output);
	json_key(&w, "error");
	if (r->error.length > 0)
		json_bytes(&w, r->error.data, r->error.length);
	else
		json_null(&w);
	json_key(&w, "error_detail");
	write_or_null(&w, &r->detail);
	if (r->note) {
		json_key(&w, "note");
		json_string(&w, r->note);
	}
	json_key(&w, "stdout");
	json_bytes(&w, r->out.bytes.data, r->out.bytes.length);
	json_key(&w, "stderr");
	json_bytes(&w, r->err.bytes.data, r->err.bytes.length);
	write_truncated(&w, r);
	write_end(&w, r);
	json_key(&w, "usage");
	record_write_usage(r, &w);
	write_limits_hit(&w, r);
	write_refused_calls(&w, r);
	if (r->view.present) {
		json_key(&w, "files");
		record_write_view(&r->view, &w);
	}
	if (r->events.asked) {
		json_key(&w, "events");
		json_open_object(&w);
		json_key(&w, "lost");
		json_integer(&w, (int64_t)r->events.lost);
		json_key(&w, "error");
		if (r->events.error)
			json_string(&w, strerror(r->events.error));
		else
			json_null(&w);
		json_close_object(&w);
	}
	if (r->exported) {
		json_key(&w, "exported");
		json_open_object(&w);
		json_key(&w, "files");
		json_integer(&w, (int64_t)r->exported_files);
		json_key(&w, "skipped");
		json_integer(&w, (int64_t)r->export_skipped);
		write_exported_names(&w, &r->export_written);
		json_key(&w, "error");
		json_string(
			&w, r->export_error.code != FAILURE_NONE ? r->export_error.context : NULL);
		if (r->has_scratch) {
			json_key(&w, "changes");
			json_integer(&w, (int64_t)r->scratch_changes);
		}
		json_close_object(&w);
	}
	json_key(&w, "tier");
	json_string(&w, r->tier);
	json_key(&w, "confinement");
	write_confinement(&w, &r->confinement, &r->view);
	json_key(&w, "execution_id");
	json_string(&w, r->execution_id);
	json_close_object(&w);
}

static int status_of_program(const struct record *r, bool is_body)
{
	if (is_body && r->refused)
		return 2;
	if (r->timed_out)
		return is_body ? 1 : 124;
	if (is_body)
		return r->success ? 0 : 1;
	if (r->exec_errno)
		return r->exec_errno == ENOENT || r->exec_errno == ENOTDIR ? 127 : 126;
	return r->exit_code >= 0 ? r->exit_code : 128 + r->signal;
}

int record_exit_status(const struct record *r, bool is_body)
{
	int status = status_of_program(r, is_body);

	/* What the program did comes first; but 0 would say that its files are there. */
	return status == 0 && r->export_error.code != FAILURE_NONE ? 125 : status;
}
