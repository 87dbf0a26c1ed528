/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the processes inside: that they come and go, what they use and what they were refused.
 * See event_log.h.
 *
 * Numbers and names come from the kernel, an address is written out from its bytes: nothing here is
 * text of the program's but its command line and its name, which the emitter makes valid.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "isolate/monitor/event_log_state.h"

#include <string.h>
#include <sys/wait.h>

#include "isolate/base/json_write.h"

#define NETWORK_NONE "network none"

static const struct {
	const char *name, *arguments[6];
} CALLS[] = {
#define CALL(name, a, b, c, d, e, f) { name, { a, b, c, d, e, f } },
#include "isolate/seccomp/call_arguments.def"
#undef CALL
};

void event_log_sample(
	struct event_log *log, const struct report *s, uint32_t refused, int64_t elapsed_us)
{
	if (!log)
		return;
	log->observes_network = true;
	if (refused > 0) {
		event_log_touched(log, "hosts", true, NETWORK_NONE, strlen(NETWORK_NONE));
		emit_begin(log->emitter, EVENT_TYPE_NET_DENIED, s->time_ns);
		emit_text(log->emitter, EVENT_FIELD_DECISION, "deny");
		emit_text(log->emitter, EVENT_FIELD_RULE, NETWORK_NONE);
		emit_number(log->emitter, EVENT_FIELD_COUNT, refused);
		emit_end(log->emitter);
	}
	emit_begin(log->emitter, EVENT_TYPE_RESOURCE_SAMPLE, s->time_ns);
	emit_number(log->emitter, EVENT_FIELD_CPU, (int64_t)(s->usage.user_us / 1000));
	emit_number(log->emitter, EVENT_FIELD_MEMORY,
		(int64_t)(s->usage.peak_memory_bytes & INT64_MAX));
	emit_number(log->emitter, EVENT_FIELD_PROCESSES, s->usage.peak_processes);
	emit_number(
		log->emitter, EVENT_FIELD_WORKSPACE, (int64_t)(s->usage.written_bytes & INT64_MAX));
	emit_duration(log->emitter, EVENT_FIELD_ELAPSED, elapsed_us);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

static void emit_process(
	struct event_log *log, enum event_type type, const struct process_seen *p, uint64_t count)
{
	log->observes_processes = true;
	emit_begin(log->emitter, type, p->time_ns);
	emit_number(log->emitter, EVENT_FIELD_PID, p->outside);
	emit_number(log->emitter, EVENT_FIELD_PID_INSIDE, p->inside);
	if (type == EVENT_TYPE_PROCESS_STARTED)
		emit_number(log->emitter, EVENT_FIELD_PARENT, p->parent);
	emit_bytes(log->emitter, EVENT_FIELD_COMMAND, p->command, strlen(p->command));
	if (type == EVENT_TYPE_PROCESS_EXECUTED)
		emit_number(log->emitter, EVENT_FIELD_COUNT, (int64_t)count);
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

void event_log_process(struct event_log *log, const struct process_seen *p)
{
	if (log)
		emit_process(log, EVENT_TYPE_PROCESS_STARTED, p, 1);
}

void event_log_became(struct event_log *log, const struct process_seen *p, uint64_t count)
{
	if (log)
		emit_process(log, EVENT_TYPE_PROCESS_EXECUTED, p, count);
}

void event_log_gone(struct event_log *log, const struct process_seen *p, bool is_known, int status)
{
	if (!log)
		return;
	emit_begin(log->emitter, EVENT_TYPE_PROCESS_EXITED, p->time_ns);
	if (p->outside > 0)
		emit_number(log->emitter, EVENT_FIELD_PID, p->outside);
	emit_number(log->emitter, EVENT_FIELD_PID_INSIDE, p->inside);
	if (is_known)
		emit_number(log->emitter, EVENT_FIELD_STATUS,
			WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	emit_end(log->emitter);
	emit_flush(log->emitter);
}

static void emit_arguments(struct event_log *log, const struct refused_call *call)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &text);
	json_open_object(&w);
	for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
		for (size_t n = 0; strcmp(CALLS[i].name, call->name) == 0 && n < 6; n++)
			if (CALLS[i].arguments[n]) {
				json_key(&w, CALLS[i].arguments[n]);
				json_integer(&w, call->arguments[n]);
			}
	json_close_object(&w);
	if (!text.failed)
		emit_json(log->emitter, EVENT_FIELD_ARGUMENTS, text.data, text.length);
}

static void emit_process_of_call(struct event_log *log, const struct refused_call *call)
{
	emit_number(log->emitter, EVENT_FIELD_PID, call->pid);
	emit_bytes(
		log->emitter, EVENT_FIELD_COMM, call->comm, strnlen(call->comm, sizeof call->comm));
	emit_number(log->emitter, EVENT_FIELD_COUNT, (int64_t)call->count);
}

static void emit_net_denied(
	struct event_log *log, const struct refused_call *call, const char *rule)
{
	const char *name = call->to.host[0] ? call->to.host : rule;

	event_log_touched(log, "hosts", true, name, strlen(name));
	emit_begin(log->emitter, EVENT_TYPE_NET_DENIED, call->time_ns);
	emit_text(log->emitter, EVENT_FIELD_DECISION, "deny");
	emit_text(log->emitter, EVENT_FIELD_RULE, rule);
	if (call->to.host[0]) {
		emit_text(log->emitter, EVENT_FIELD_HOST, call->to.host);
		emit_number(log->emitter, EVENT_FIELD_PORT, call->to.port);
		emit_text(log->emitter, EVENT_FIELD_SYSCALL, call->name);
	}
	emit_process_of_call(log, call);
	emit_end(log->emitter);
}

void event_log_call(struct event_log *log, const struct refused_call *call, const char *profile)
{
	char rule[40] = "seccomp ";

	if (!log)
		return;
	strncat(rule, profile, sizeof rule - strlen(rule) - 1);
	if (call->to.host[0]) {
		emit_net_denied(log, call, NETWORK_NONE);
	} else {
		event_log_touched(log, "syscalls", false, call->name, strlen(call->name));
		emit_begin(log->emitter, EVENT_TYPE_SYSCALL_DENIED, call->time_ns);
		emit_text(log->emitter, EVENT_FIELD_SYSCALL, call->name);
		emit_arguments(log, call);
		emit_text(log->emitter, EVENT_FIELD_DECISION, "deny");
		emit_text(log->emitter, EVENT_FIELD_RULE, rule);
		emit_process_of_call(log, call);
		emit_end(log->emitter);
	}
	if (call->internet)
		emit_net_denied(log, call, rule);
	emit_flush(log->emitter);
}
