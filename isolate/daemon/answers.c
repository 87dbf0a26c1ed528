/* SPDX-License-Identifier: Apache-2.0 */
/* The result of daemon.info, from a table: a number that is added to the server is one line here. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/answers.h"

#include <unistd.h>

#include "isolate/monitor/event_table.h"
#include "isolate/tools/store.h"

void answers_info(const struct server *s, struct buffer *out)
{
	const struct { const char *key; int64_t value; } numbers[] = {
		{ "pid", getpid() },
		{ "schema", EVENTS_SCHEMA },
		{ "uptime_ms", (server_now_us() - s->started_us) / 1000 },
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
