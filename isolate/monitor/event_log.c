/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one execution. See event_log.h.
 *
 * Events of processes and their calls are in event_log_inside.c. Output comes in pieces of at most
 * 4 KiB, cut between characters, so that a reader may print each as it comes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "isolate/monitor/event_log_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "isolate/base/json_write.h"
#include "isolate/options/option_table.h"
#include "isolate/base/text.h"

#define PIECE 4096
#define EVENTS_BUDGET (UINT64_C(64) << 20) /* of one run; an audit log has room for several */

static const struct {
	uint32_t flag;
	const char *word;
} FLAGS[] = {
	{ EVENT_READ, "read" },
	{ EVENT_WRITE, "write" },
	{ EVENT_CREATE, "create" },
	{ EVENT_EXECUTE, "execute" },
	{ EVENT_TRUNCATE, "truncate" },
	{ EVENT_APPEND, "append" },
	{ EVENT_REMOVE, "remove" },
	{ EVENT_CHANGE, "change" },
	{ EVENT_DIRECTORY, "directory" },
	{ EVENT_LIST, "list" },
};

int event_log_open(const struct options *o, const struct streams *s, const char *subject,
	struct event_log **out, struct error *err)
{
	struct event_log *log = NULL;
	int fd = -1;

	*out = NULL;
	if (s->events < 0 && !o->events_file && !s->watcher)
		return 0;
	if (s->events >= 0)
		fd = fcntl(s->events, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(o->events_file ? o->events_file : "/dev/null",
			O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno,
			"opening %s, to write events to%s",
			s->events >= 0           ? "the channel"
				: o->events_file ? o->events_file
						 : "/dev/null",
			errno == ENXIO ? ": nobody reads from this pipe" : "");
	log = calloc(1, sizeof *log);
	if (log)
		log->emitter =
			emitter_new(fd, subject, s->events >= 0 ? EMITTER_WAITS : EMITTER_DROPS);
	if (!log || !log->emitter) {
		free(log);
		close(fd);
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping the events");
	}
	emitter_budget(log->emitter, EVENTS_BUDGET);
	log->output_limit = (uint64_t)o->output_limit_bytes;
	log->to_file = s->events < 0 && o->events_file;
	log->watcher = s->watcher;
	*out = log;
	return 0;
}

static void emit_policy(struct event_log *log, const struct options *o, enum command_set set)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	char text[2 * sizeof digest + 1];
	_cleanup_buffer_ struct buffer policy = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &policy);
	options_write(o, set, &w);
	crypto_hash_sha256(
		digest, (const unsigned char *)(policy.data ? policy.data : ""), policy.length);
	emit_text(log->emitter, EVENT_FIELD_POLICY,
		sodium_bin2hex(text, sizeof text, digest, sizeof digest));
}

static void emit_limits(struct event_log *log, const struct options *o)
{
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {
		{ "timeout_ms", o->timeout_us / 1000 },
		{ "memory_bytes", o->memory_bytes },
		{ "pids", o->pids },
		{ "nofile", o->nofile },
		{ "fsize_bytes", o->fsize_bytes },
		{ "workspace_bytes", o->workspace_bytes },
		{ "output_limit_bytes", o->output_limit_bytes },
	};
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &text);
	json_open_object(&w);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_key(&w, rows[i].key);
		json_integer(&w, rows[i].value);
	}
	json_close_object(&w);
	if (!text.failed)
		emit_json(log->emitter, EVENT_FIELD_LIMITS, text.data, text.length);
}

static void emit_confinement(struct event_log *log, const struct record *r)
{
	_cleanup_buffer_ struct buffer confinement = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &confinement);
	record_write_confinement(r, &w);
	if (!confinement.failed)
		emit_json(log->emitter, EVENT_FIELD_CONFINEMENT, confinement.data,
			confinement.length);
}

/* How many bytes at the end are the beginning of a character. */
static size_t cut_off(const char *bytes, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		const unsigned char *at = (const unsigned char *)bytes + length - back;
		uint32_t point;
		bool truncated = false;

		if (*at >= 0xc0)
			return text_decode(at, back, &point, &truncated) == 0 && truncated ? back
											   : 0;
		if (*at < 0x80)
			return 0;
	}
	return 0;
}

/*
 * The words, where they are more than the name, as far as a piece holds them. What is cut is cut in
 * front of a character.
 */
static void emit_command(struct event_log *log, const struct program *p)
{
	_cleanup_buffer_ struct buffer command = BUFFER_INIT;
	size_t words = p->kind == PROGRAM_SCRIPT;

	if (p->kind == PROGRAM_SCRIPT)
		buffer_add(&command, p->name, strnlen(p->name, PIECE));
	for (size_t i = 0; p->argv && p->argv[i] && command.length < PIECE; words++, i++) {
		buffer_add(&command, " ", command.length > 0);
		buffer_add(&command, p->argv[i], strnlen(p->argv[i], PIECE));
	}
	if (command.length > PIECE)
		command.length = PIECE - cut_off(command.data, PIECE);
	if (!command.failed && words > 1)
		emit_bytes(log->emitter, EVENT_FIELD_COMMAND, command.data, command.length);
}

void event_log_started(struct event_log *log, const struct options *o, const struct program *p,
	const struct record *r)
{
	static const char *const KINDS[] = {
		[PROGRAM_BODY] = "body", [PROGRAM_SCRIPT] = "script", [PROGRAM_COMMAND] = "command"
	};
	const char *name = p->kind == PROGRAM_COMMAND ? p->argv[0] : p->name;
	if (!log || log->has_begun)
		return;
	log->has_begun = true;
	emit_begin(log->emitter, EVENT_TYPE_SANDBOX_STARTED, 0);
	emit_number(log->emitter, EVENT_FIELD_SCHEMA, EVENTS_SCHEMA);
	emit_text(log->emitter, EVENT_FIELD_VERSION, PACKAGE_VERSION);
	emit_policy(log, o, p->kind == PROGRAM_BODY ? FOR_EXEC : FOR_RUN);
	emit_text(log->emitter, EVENT_FIELD_PROGRAM, KINDS[p->kind]);
	if (name)
		emit_bytes(log->emitter, EVENT_FIELD_NAME, name, strnlen(name, PIECE));
	if (p->kind != PROGRAM_BODY)
		emit_command(log, p);
	emit_text(log->emitter, EVENT_FIELD_TIER, r->tier ? r->tier : o->tier);
	emit_limits(log, o);
	emit_confinement(log, r);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

void event_log_confined(struct event_log *log, const struct record *r)
{
	if (!log)
		return;
	emit_begin(log->emitter, EVENT_TYPE_SANDBOX_CONFINED, 0);
	emit_confinement(log, r);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

void event_log_file(
	struct event_log *log, const struct event *e, const char *rule, const char *pattern)
{
	static const enum event_type TYPES[] = {
		[EVENT_OPENED] = EVENT_TYPE_FS_OPENED,
		[EVENT_DENIED] = EVENT_TYPE_FS_DENIED,
		[EVENT_DROPPED] = EVENT_TYPE_EVENTS_DROPPED,
	};
	const char *words[sizeof FLAGS / sizeof *FLAGS];
	size_t count = 0;

	if (!log || e->head.kind >= EVENT_SUMMARY)
		return;
	emit_begin(log->emitter, TYPES[e->head.kind], e->head.time_ns);
	if (e->head.kind != EVENT_DROPPED) {
		event_log_touched(
			log, "files", e->head.kind == EVENT_DENIED, e->path, e->head.path_length);
		emit_bytes(log->emitter, EVENT_FIELD_PATH, e->path, e->head.path_length);
		emit_text(log->emitter, EVENT_FIELD_DECISION,
			e->head.kind == EVENT_OPENED ? "allow" : "deny");
		emit_text(log->emitter, EVENT_FIELD_RULE, rule);
		if (*pattern && e->head.kind == EVENT_DENIED)
			emit_bytes(log->emitter, EVENT_FIELD_PATTERN, pattern,
				strnlen(pattern, PIECE));
		emit_number(log->emitter, EVENT_FIELD_PID, e->head.pid);
		emit_bytes(log->emitter, EVENT_FIELD_COMM, e->head.comm, strlen(e->head.comm));
		for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
			if (e->head.flags & FLAGS[i].flag)
				words[count++] = FLAGS[i].word;
		emit_words(log->emitter, EVENT_FIELD_FLAGS, words, count);
	}
	emit_number(log->emitter, EVENT_FIELD_COUNT, (int64_t)e->head.count);
	emit_end(log->emitter);
}

static void emit_output(struct event_log *log, bool is_error, const char *bytes, size_t length)
{
	emit_begin(log->emitter, is_error ? EVENT_TYPE_OUTPUT_STDERR : EVENT_TYPE_OUTPUT_STDOUT, 0);
	emit_bytes(log->emitter, EVENT_FIELD_TEXT, bytes, length);
	emit_end(log->emitter);
}

/* How much of a piece of output fits the limit. The first that does not is a limit.hit. */
static size_t within_limit(struct event_log *log, bool is_error, size_t length)
{
	uint64_t room = log->output_limit - log->output[is_error];
	size_t most = length <= room ? length : (size_t)room;

	log->output[is_error] += most;
	if (most < length && !log->output_is_cut) {
		log->output_is_cut = true;
		event_log_limit(
			log, limit_texts[LIMIT_NAME_OUTPUT_SIZE].word, (int64_t)log->output_limit);
	}
	return most;
}

void event_log_output(struct event_log *log, bool is_error, const char *bytes, size_t length)
{
	char piece[PIECE];

	length = log ? within_limit(log, is_error, length) : 0;
	while (log && length > 0) {
		size_t had = log->rest[is_error].length,
		       taken = length < PIECE - had ? length : PIECE - had, cut;

		memcpy(piece, log->rest[is_error].bytes, had);
		memcpy(piece + had, bytes, taken);
		cut = cut_off(piece, had + taken);
		if (cut < had + taken)
			emit_output(log, is_error, piece, had + taken - cut);
		memcpy(log->rest[is_error].bytes, piece + had + taken - cut, cut);
		log->rest[is_error].length = cut;
		bytes += taken;
		length -= taken;
	}
	event_log_flush(log);
}

void event_log_limit(struct event_log *log, const char *limit, int64_t value)
{
	if (!log)
		return;
	emit_begin(log->emitter, EVENT_TYPE_LIMIT_HIT, 0);
	emit_text(log->emitter, EVENT_FIELD_LIMIT, limit);
	emit_number(log->emitter, EVENT_FIELD_VALUE, value);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

void event_log_paused(struct event_log *log, bool paused, int64_t elapsed_us, int64_t time_ns)
{
	if (!log)
		return;
	emit_begin(log->emitter, paused ? EVENT_TYPE_SANDBOX_PAUSED : EVENT_TYPE_SANDBOX_RESUMED,
		time_ns);
	emit_duration(log->emitter, EVENT_FIELD_ELAPSED, elapsed_us);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

void event_log_unseen(struct event_log *log, uint64_t count)
{
	if (!log || count == 0)
		return;
	emit_begin(log->emitter, EVENT_TYPE_EVENTS_DROPPED, 0);
	emit_number(log->emitter, EVENT_FIELD_COUNT, (int64_t)count);
	emit_end(log->emitter);
}

void event_log_flush(struct event_log *log)
{
	if (log)
		emit_flush(log->emitter);
}

int event_log_blocked(const struct event_log *log)
{
	return log && emitter_is_waiting(log->emitter) ? emitter_fd(log->emitter) : -1;
}

/* The others had their limit.hit when they were reached. */
static void emit_limits_hit(struct event_log *log, const struct record *r)
{
	for (size_t i = 0; i < LIMIT_NAMES; i++)
		if (r->limits[i].is_hit && i != LIMIT_NAME_WALL_TIME &&
			i != LIMIT_NAME_EVENT_SIZE &&
			!(i == LIMIT_NAME_OUTPUT_SIZE && log->output_is_cut))
			event_log_limit(log, limit_texts[i].word, r->limits[i].value);
}

static void emit_sums(struct event_log *log, const struct record *r)
{
	const struct {
		bool is;
		const char *word;
	} seen[] = {
		{ r->view.present, "files" },
		{ r->calls.watched, "syscalls" },
		{ log->observes_processes, "processes" },
		{ log->observes_network, "network" },
	};
	const struct {
		const struct refused_calls *of;
		enum event_field field;
	} sums[] = { { &r->calls, EVENT_FIELD_REFUSED }, { &r->hosts, EVENT_FIELD_HOSTS } };
	const char *words[4];
	struct buffer text = BUFFER_INIT;
	struct json_writer w;
	size_t count = 0;

	if (r->view.present) {
		json_begin(&w, &text);
		record_write_view(&r->view, &w);
		if (!text.failed)
			emit_json(log->emitter, EVENT_FIELD_FILES, text.data, text.length);
		buffer_free(&text);
	}
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		if (sums[i].of->watched) {
			json_begin(&w, &text);
			record_write_calls(sums[i].of, &w);
			if (!text.failed)
				emit_json(log->emitter, sums[i].field, text.data, text.length);
			buffer_free(&text);
		}
	for (size_t i = 0; i < 4; i++)
		if (seen[i].is)
			words[count++] = seen[i].word;
	emit_words(log->emitter, EVENT_FIELD_OBSERVED, words, count);
}

static void emit_usage(struct event_log *log, const struct record *r)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &text);
	record_write_usage(r, &w);
	if (!text.failed)
		emit_json(log->emitter, EVENT_FIELD_USAGE, text.data, text.length);
}

void event_log_close(struct event_log *log, struct record *r, const struct error *err)
{
	enum end_cause cause = r->timed_out ? END_BY_TIMEOUT
		: r->oom                    ? END_BY_MEMORY
					    : r->end_cause;

	if (!log)
		return;
	r->limits[LIMIT_NAME_EVENT_SIZE].is_hit = emitter_is_spent(log->emitter);
	r->limits[LIMIT_NAME_EVENT_SIZE].value = EVENTS_BUDGET;
	emit_last(log->emitter);
	for (int is_error = 0; is_error < 2; is_error++)
		if (log->rest[is_error].length > 0)
			emit_output(log, is_error, log->rest[is_error].bytes,
				log->rest[is_error].length);
	if (!err)
		emit_limits_hit(log, r);
	emit_begin(log->emitter, EVENT_TYPE_SANDBOX_EXECUTED, 0);
	emit_truth(log->emitter, EVENT_FIELD_SUCCESS, !err && r->success);
	if (err)
		emit_text(log->emitter, EVENT_FIELD_ERROR, err->context);
	else if (r->error.length > 0)
		emit_bytes(log->emitter, EVENT_FIELD_ERROR, r->error.data,
			r->error.length < PIECE ? r->error.length : PIECE);
	if (err)
		emit_text(log->emitter, EVENT_FIELD_FAILURE, failure_name(err->code));
	if (!err && r->exit_code >= 0)
		emit_number(log->emitter, EVENT_FIELD_EXIT_CODE, r->exit_code);
	if (!err && r->signal > 0)
		emit_number(log->emitter, EVENT_FIELD_SIGNAL, r->signal);
	if (cause != END_BY_ITSELF)
		emit_text(log->emitter, EVENT_FIELD_ENDED_BY, end_cause_words[cause]);
	emit_duration(log->emitter, EVENT_FIELD_DURATION, r->duration_us);
	if (!err)
		emit_usage(log, r);
	emit_sums(log, r);
	emit_number(log->emitter, EVENT_FIELD_LOST, (int64_t)emitter_lost(log->emitter));
	emit_end(log->emitter);
	r->events.asked = log->to_file;
	r->events.lost = emitter_close(log->emitter, &r->events.error);
	free(log);
}
