/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of the daemon. See job.h.
 *
 * Workers are started with posix_spawn(3): no memory of the daemon is copied, and nothing but the
 * descriptors that are named gets across. What a worker says is read in lines of bounded length;
 * what is no event of its own execution is dropped by the bus.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/clock.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/failure_record.h"
#include "isolate/base/trace.h"
#include "isolate/daemon/connection.h"
#include "isolate/daemon/history.h"
#include "isolate/daemon/worker.h"
#include "isolate/tiers/tier.h"
#include "isolate/tools/action.h"
#include "isolate/wire/record.h"

#define PATIENCE_S 5
#define READS_AT_ONCE 16
#define ERRANDS_MAX 16

static const char *const STATES[] = {
	[JOB_WAITS] = "waiting", [JOB_RUNS] = "running", [JOB_PAUSED] = "paused"
};

static void start_next(struct server *s);

/* Where a job is counted, by what it is and does. */
static unsigned *counter(const struct job *j)
{
	struct server *s = j->server;

	if (j->state == JOB_WAITS)
		return j->is_errand ? &s->waiting_errands : &s->waiting;
	return j->is_errand ? &s->errands : &s->running;
}

static void link_job(struct server *s, struct job *j)
{
	j->previous = s->last_job;
	if (s->last_job)
		s->last_job->next = j;
	else
		s->jobs = j;
	s->last_job = j;
	++*counter(j);
}

static void free_job(struct job *j)
{
	struct server *s = j->server;
	int fds[] = { j->request, j->answer, j->channel, j->pidfd, j->streams[0], j->streams[1],
		j->streams[2] };
	struct event *events[] = { j->on_channel, j->on_exit, j->on_patience };

	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (events[i])
			event_free(events[i]);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*(j->previous ? &j->previous->next : &s->jobs) = j->next;
	*(j->next ? &j->next->previous : &s->last_job) = j->previous;
	assert(*counter(j) > 0);
	--*counter(j);
	free(j);
}

/*
 * Events of an execution have its id as their subject; a worker that acts on tools also sends those
 * of tools.
 */
static bool is_its_own(const struct job *j, const struct event_line *e)
{
	if (e->subject_length == strlen(j->id) && memcmp(e->subject, j->id, e->subject_length) == 0)
		return true;
	return action_exists(protocol_methods[j->method].name) && e->subject_length > 5 &&
		memcmp(e->subject, "tool:", 5) == 0;
}

static void publish(struct job *j, const char *line, size_t length)
{
	struct event_line e;

	if (event_line_read(line, length, &e) && is_its_own(j, &e)) {
		j->has_begun |= e.type_length == 15 && memcmp(e.type, "sandbox.started", 15) == 0;
		j->has_ended |= e.type_length == 16 && memcmp(e.type, "sandbox.executed", 16) == 0;
		if (e.type_length == 14 && memcmp(e.type, "sandbox.paused", 14) == 0)
			j->state = JOB_PAUSED;
		if (e.type_length == 15 && memcmp(e.type, "sandbox.resumed", 15) == 0)
			j->state = JOB_RUNS;
		bus_publish(j->server->bus, line, length);
	}
}

/* Takes what the worker has said. Returns false at the end of it. */
static bool read_channel(struct job *j)
{
	for (int reads = 0; reads < READS_AT_ONCE; reads++) {
		ssize_t got = read(j->channel, j->line + j->length, sizeof j->line - j->length);
		char *start = j->line, *newline;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		j->length += (size_t)got;
		while ((newline = memchr(start, '\n', (size_t)(j->line + j->length - start)))) {
			publish(j, start, (size_t)(newline - start));
			start = newline + 1;
		}
		j->length -= (size_t)(start - j->line);
		memmove(j->line, start, j->length);
		if (j->length == sizeof j->line)
			j->length = 0; /* longer than any line of an emitter: not one */
	}
	return true;
}

static void on_channel(evutil_socket_t fd, short what, void *argument)
{
	struct job *j = argument;

	(void)fd;
	(void)what;
	if (!read_channel(j))
		event_del(j->on_channel);
	server_publish(j->server);
}

/* One event of the daemon's own. Takes the emitter. */
static void publish_own(struct job *j, struct emitter *e)
{
	const char *lines;
	size_t length;

	emit_end(e);
	lines = emitter_lines(e, &length);
	if (length > 0)
		bus_publish(j->server->bus, lines, length - 1);
	emitter_close(e, NULL);
}

static void publish_queued(struct job *j)
{
	struct emitter *e = emitter_new(-1, j->id, EMITTER_DROPS);

	if (!e)
		return;
	emit_begin(e, EVENT_TYPE_SANDBOX_QUEUED, 0);
	emit_text(e, EVENT_FIELD_PROGRAM, j->program.kind);
	if (j->program.name[0])
		emit_bytes(e, EVENT_FIELD_NAME, j->program.name, strlen(j->program.name));
	if (j->program.command[0])
		emit_bytes(e, EVENT_FIELD_COMMAND, j->program.command, strlen(j->program.command));
	publish_own(j, e);
	j->is_queued = true;
}

/*
 * sandbox.executed in place of a supervisor that sent none; failure NULL: it was asked to end
 * before it began.
 */
static void publish_end(struct job *j, const char *sentence, const char *failure)
{
	struct emitter *e = emitter_new(-1, j->id, EMITTER_DROPS);

	if (!e)
		return;
	emit_begin(e, EVENT_TYPE_SANDBOX_EXECUTED, 0);
	emit_truth(e, EVENT_FIELD_SUCCESS, false);
	emit_text(e, EVENT_FIELD_ERROR, sentence);
	if (failure)
		emit_text(e, EVENT_FIELD_FAILURE, failure);
	if (j->end_cause != END_BY_ITSELF)
		emit_text(e, EVENT_FIELD_ENDED_BY, end_cause_words[j->end_cause]);
	emit_duration(e, EVENT_FIELD_DURATION, clock_now_us() - j->begun_us);
	emit_words(e, EVENT_FIELD_OBSERVED, NULL, 0);
	emit_number(e, EVENT_FIELD_LOST, 0);
	publish_own(j, e);
}

/*
 * A detached execution has no client, and a queued one already has an event: the failure to begin
 * becomes its last event.
 */
static void publish_failure(struct job *j, struct json_slice record)
{
	struct error err = { .code = FAILURE_INTERNAL };

	failure_record_read(record, &err);
	publish_end(j, err.context[0] ? err.context : "the execution could not begin",
		failure_name(err.code));
}

/* Maps the answer, or returns NULL when there is none. */
static char *map_answer(const struct job *j, size_t *length)
{
	struct stat st;
	char *text;

	if (fstat(j->answer, &st) != 0 || st.st_size < 2)
		return NULL;
	*length = (size_t)st.st_size;
	text = mmap(NULL, *length, PROT_READ, MAP_SHARED, j->answer, 0);
	return text == MAP_FAILED ? NULL : text;
}

/* The request as it was written for the worker; text NULL when it cannot be had. To be unmapped. */
static struct json_slice map_request(const struct job *j)
{
	char *text = j->request < 0 || j->request_length == 0
		? MAP_FAILED
		: mmap(NULL, j->request_length, PROT_READ, MAP_SHARED, j->request, 0);

	return text == MAP_FAILED ? JSON_NONE : json_slice(text, j->request_length);
}

static void remember(const struct job *j, struct json_slice record)
{
	struct json_slice request = map_request(j);

	history_keep(j->server->history, j->id, request, record);
	if (request.text)
		munmap((void *)request.text, request.length);
}

void job_show(const struct job *j, struct buffer *out)
{
	struct json_slice request = map_request(j), none = { NULL, 0 };

	history_describe(out, j->id, STATES[j->state], request, none);
	if (request.text)
		munmap((void *)request.text, request.length);
}

static void answer(struct job *j, const char *sentence)
{
	struct buffer out = BUFFER_INIT;
	size_t length;
	char *text = map_answer(j, &length);

	if (text && text[0] == WORKER_RECORD) {
		protocol_result(&out, j->request_id, text + 1, length - 1);
	} else if (text && text[0] == WORKER_ERROR) {
		protocol_error_raw(&out, j->request_id, text + 1, length - 1);
	} else if (text) {
		protocol_error(
			&out, j->request_id, ERROR_FAILED, "cordon failed", text + 1, length - 1);
		if ((j->is_detached || j->is_queued) && !j->has_begun)
			publish_failure(j, json_slice(text + 1, length - 1));
	} else {
		if (!j->has_ended && (j->has_begun || j->is_detached || j->is_queued))
			publish_end(j, sentence,
				j->state == JOB_WAITS && j->end_cause != END_BY_ITSELF
					? NULL
					: failure_name(FAILURE_INTERNAL));
		protocol_error(&out, j->request_id, ERROR_FAILED, sentence,
			"{\"code\":\"internal\"}", strlen("{\"code\":\"internal\"}"));
	}
	if (!j->is_errand)
		remember(j,
			text && text[0] == WORKER_RECORD
				? json_get(json_slice(text + 1, length - 1), "record")
				: JSON_NONE);
	if (j->owner)
		connection_answer(j->owner, j, out.failed ? NULL : &out);
	buffer_free(&out);
	if (text)
		munmap(text, length);
}

static void on_worker_exit(evutil_socket_t fd, short what, void *argument)
{
	struct job *j = argument;
	struct server *s = j->server;
	siginfo_t info = { .si_pid = 0 };
	char sentence[120];

	(void)fd;
	(void)what;
	if (waitid(P_PIDFD, (id_t)j->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return;
	/* It is dead, so what the socket still holds is all there is. */
	while (read_channel(j) && j->length < sizeof j->line) {
		char more;

		if (recv(j->channel, &more, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
			break;
	}
	snprintf(sentence, sizeof sentence, "the supervisor of this execution %s %d",
		info.si_code == CLD_EXITED ? "ended without an answer, with status"
					   : "was ended by signal",
		info.si_status);
	trace("daemon", "execution %s: worker %d is gone, %s %d", j->id, (int)j->pid,
		info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
	answer(j, sentence);
	free_job(j);
	server_publish(s);
	start_next(s);
	server_check_stop(s);
}

static void on_patience(evutil_socket_t fd, short what, void *argument)
{
	const struct job *j = argument;

	(void)fd;
	(void)what;
	if (j->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0);
}

static int spawn(struct job *j, int worker_end)
{
	char *argv[] = { (char *)"cordon", (char *)"worker", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	extern char **environ;
	int status, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Out of the way of the numbers that they are copied to. */
	int moved[] = { fcntl(j->request, F_DUPFD_CLOEXEC, 20),
		fcntl(worker_end, F_DUPFD_CLOEXEC, 20), fcntl(j->answer, F_DUPFD_CLOEXEC, 20) };
	sigset_t none;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	for (int standard = 0; standard <= 2; standard++)
		posix_spawn_file_actions_adddup2(&actions,
			j->streams[standard] >= 0 ? j->streams[standard] : null, standard);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, moved[i], WORKER_REQUEST + i);
	status = posix_spawn(&j->pid, "/proc/self/exe", &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	for (int i = 0; i < 3; i++)
		if (moved[i] >= 0)
			close(moved[i]);
	if (null >= 0)
		close(null);
	if (status == 0)
		j->pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	if (j->pidfd >= 0)
		fcntl(j->pidfd, F_SETFD, FD_CLOEXEC);
	errno = status ? status : errno;
	return j->pidfd < 0 ? -1 : 0;
}

static int start(struct job *j)
{
	struct event_base *base = j->server->base;
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		return -1;
	j->channel = pair[0];
	j->answer = memfd_create("answer", MFD_CLOEXEC);
	status = j->answer < 0 ? -1 : spawn(j, pair[1]);
	close(pair[1]);
	if (status < 0)
		return -1;
	/* The worker has copies of its own. */
	for (int i = 0; i < 3; i++)
		if (j->streams[i] >= 0) {
			close(j->streams[i]);
			j->streams[i] = -1;
		}
	j->on_channel = event_new(base, j->channel, EV_READ | EV_PERSIST, on_channel, j);
	j->on_exit = event_new(base, j->pidfd, EV_READ | EV_PERSIST, on_worker_exit, j);
	j->on_patience = event_new(base, -1, 0, on_patience, j);
	if (!j->on_channel || !j->on_exit || !j->on_patience ||
		event_add(j->on_channel, NULL) != 0 || event_add(j->on_exit, NULL) != 0) {
		syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0);
		waitpid(j->pid, NULL, 0);
		return -1;
	}
	trace("daemon", "execution %s: worker %d", j->id, (int)j->pid);
	return 0;
}

static void start_next(struct server *s)
{
	for (struct job *j = s->jobs, *next; j; j = next) {
		next = j->next;
		if (j->state != JOB_WAITS ||
			(j->is_errand ? s->errands >= ERRANDS_MAX : s->running >= s->options->jobs))
			continue;
		--*counter(j);
		j->state = JOB_RUNS;
		++*counter(j);
		j->begun_us = clock_now_us();
		if (start(j) == 0)
			continue;
		answer(j, "no worker could be started for this execution");
		free_job(j);
	}
}

/* What the worker is to do, in a file. */
static int write_request(struct job *j, unsigned uid, const struct protocol_request *r)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int status = -1;

	buffer_printf(&text,
		"{\"method\":\"%s\",\"execution_id\":\"%s\",\"uid\":%u,\"streams\":%s,\"policy\":"
		"\"%s\",\"threshold\":%lld,\"params\":",
		protocol_methods[r->method].name, j->id, uid, j->streams[0] >= 0 ? "true" : "false",
		promotion_policy_word(j->server->options->policy),
		(long long)j->server->options->threshold);
	buffer_add(&text, r->params.text, r->params.length);
	buffer_add_text(&text, "}");
	j->request = text.failed ? -1 : memfd_create("request", MFD_CLOEXEC);
	if (j->request >= 0 && write(j->request, text.data, text.length) == (ssize_t)text.length)
		status = 0;
	j->request_length = text.length;
	return status;
}

/* Errands and validations run no program and have no events. */
static bool has_events(const struct job *j)
{
	return !j->is_errand &&
		(j->method == METHOD_RUN || j->method == METHOD_EXECUTE ||
			j->method == METHOD_TOOL_CALL);
}

struct job *job_new(struct server *s, struct connection *owner, unsigned uid,
	const struct protocol_request *r, int streams[3], struct protocol_refusal *refusal)
{
	bool is_errand = action_exists(protocol_methods[r->method].name) &&
		!action_runs_code(protocol_methods[r->method].name);
	struct job *j = (s->waiting < s->options->queue || is_errand) && !s->stopping
		? calloc(1, sizeof *j)
		: NULL;
	struct error err = ERROR_INIT;
	struct record name;

	if (!j || record_init(&name, &err) < 0) {
		for (int i = 0; i < 3; i++)
			if (streams[i] >= 0)
				close(streams[i]);
		free(j);
		refusal->code = ERROR_BUSY;
		snprintf(refusal->message, sizeof refusal->message, "%s",
			s->stopping ? "the daemon is stopping"
				    : "too many executions wait already");
		return NULL;
	}
	j->server = s;
	j->owner = owner;
	j->method = r->method;
	j->is_errand = is_errand;
	j->is_detached = !owner && !is_errand;
	j->request = j->answer = j->channel = j->pidfd = -1;
	j->begun_us = clock_now_us();
	memcpy(j->streams, streams, sizeof j->streams);
	snprintf(j->request_id, sizeof j->request_id, "%s", r->id);
	snprintf(j->id, sizeof j->id, "%s", name.execution_id);
	record_free(&name);
	job_program_take(&j->program, protocol_methods[r->method].name, r->params);
	link_job(s, j);
	s->executions += !is_errand;
	if (write_request(j, uid, r) < 0) {
		free_job(j);
		refusal->code = ERROR_BUSY;
		snprintf(
			refusal->message, sizeof refusal->message, "no memory to keep the request");
		return NULL;
	}
	start_next(s);
	j = job_find(s, name.execution_id);
	if (j && j->state == JOB_WAITS && has_events(j))
		publish_queued(j);
	return j;
}

struct job *job_find(struct server *s, const char *id)
{
	for (struct job *j = s->jobs; j; j = j->next)
		if (strcmp(j->id, id) == 0)
			return j;
	return NULL;
}

bool job_control(struct job *j, unsigned char byte)
{
	return j->channel >= 0 && send(j->channel, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void job_end(struct job *j, enum end_cause cause)
{
	const struct timeval patience = { PATIENCE_S, 0 };
	struct server *s = j->server;

	if (j->end_cause == END_BY_ITSELF)
		j->end_cause = cause;
	if (j->state == JOB_WAITS) {
		answer(j, "this execution was ended before it began");
		free_job(j);
		server_check_stop(s);
		return;
	}
	job_control(j, (unsigned char)(CONTROL_CAUSE + j->end_cause));
	job_control(j, SIGKILL);
	event_add(j->on_patience, &patience);
}

void job_disown(struct server *s, const struct connection *owner)
{
	for (struct job *j = s->jobs, *next; j; j = next) {
		next = j->next;
		if (j->owner != owner)
			continue;
		j->owner = NULL;
		job_end(j, END_BY_CLIENT_GONE);
	}
}

void job_list(const struct server *s, struct buffer *out)
{
	struct json_writer w;

	json_begin(&w, out);
	json_open_array(&w);
	for (const struct job *j = s->jobs; j; j = j->next) {
		if (j->is_errand)
			continue;
		json_open_object(&w);
		json_key(&w, "execution_id");
		json_string(&w, j->id);
		json_key(&w, "method");
		json_string(&w, protocol_methods[j->method].name);
		job_program_write(&j->program, &w);
		json_key(&w, "state");
		json_string(&w, STATES[j->state]);
		json_key(&w, "supervisor");
		json_integer(&w, j->pid);
		json_key(&w, "elapsed_ms");
		json_integer(&w, (clock_now_us() - j->begun_us) / 1000);
		json_key(&w, "attached");
		json_bool(&w, j->owner != NULL);
		json_close_object(&w);
	}
	json_close_array(&w);
}
