/* SPDX-License-Identifier: Apache-2.0 */
/* Observing. See observe.h. Lines are the emitter's, which escapes everything; still each is read through the gate before it is looked into. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "isolate/monitor/emitter.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_tree.h"

#define TOUCHED_MOST 500
#define NAME_MOST 1024

struct observer {
	int in, out, events;
	pthread_t thread;
	bool is_reading, out_is_lost;
	struct touched touched[TOUCHED_MOST];
	size_t count, length;
	char line[EMITTER_LINE_MAX];
};

static void keep(struct observer *o, const char *kind, const char *prefix, const char *what, size_t length)
{
	struct touched *t = o->touched;
	struct buffer name = BUFFER_INIT;

	buffer_add_text(&name, prefix);
	buffer_add(&name, what, length < NAME_MOST ? length : NAME_MOST);
	if (name.failed || name.length == 0)
		goto out;
	for (size_t i = 0; i < o->count; i++)
		if (strcmp(t[i].kind, kind) == 0 && strcmp(t[i].what, name.data) == 0) {
			t[i].count++;
			goto out;
		}
	if (o->count < TOUCHED_MOST) {
		t[o->count] = (struct touched){ strdup(kind), name.data, 1 };
		if (t[o->count].kind) {
			o->count++;
			return;
		}
	}
out:
	buffer_free(&name);
}

/* Which field of which event is the name of what was touched. A field that is not there is the rule's. */
static const struct { const char *type, *kind, *prefix, *field; } WATCHED[] = {
	{ "fs.opened", "files", "", "path" }, { "fs.denied", "files", "refused: ", "path" }, { "net.allowed", "hosts", "", "host" }, { "net.denied", "hosts", "refused: ", "host" },
	{ "syscall.denied", "syscalls", "", "syscall" },
};

static void look_into(struct observer *o, const char *line, size_t length)
{
	static const struct json_gate_rules RULES = { .max_bytes = EMITTER_LINE_MAX, .max_depth = 16, .must_be_object = true };
	struct json_tree tree;
	uint32_t type, data, field;
	char reason[240];

	/* Most lines are of none of the types, and are not read. */
	if (!memmem(line, length, "\"type\":\"fs.", 11) && !memmem(line, length, "\"type\":\"net.", 12) && !memmem(line, length, "\"type\":\"syscall.", 16))
		return;
	if (!json_gate_check(&RULES, line, length, reason, sizeof reason) || json_tree_read(&tree, line, length) < 0)
		return;
	type = json_tree_member(&tree, 0, "type");
	data = json_tree_member(&tree, 0, "data");
	for (size_t i = 0; type && data && i < sizeof WATCHED / sizeof *WATCHED; i++) {
		if (!json_tree_is(&tree, type, WATCHED[i].type))
			continue;
		field = json_tree_member(&tree, data, WATCHED[i].field);
		if (!field)
			field = json_tree_member(&tree, data, "rule");
		if (field && tree.nodes[field].kind == JSON_STRING)
			keep(o, WATCHED[i].kind, WATCHED[i].prefix, tree.nodes[field].bytes, tree.nodes[field].length);
	}
	json_tree_free(&tree);
}

/* A reader that does not read for a second loses what follows. */
static void pass_on(struct observer *o, const char *bytes, size_t length)
{
	while (length > 0 && o->out >= 0 && !o->out_is_lost) {
		ssize_t wrote = write(o->out, bytes, length);
		struct pollfd room = { o->out, POLLOUT, 0 };

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno == EAGAIN && poll(&room, 1, EMITTER_PATIENCE_MS) > 0)
			continue;
		o->out_is_lost = wrote <= 0;
		bytes += wrote > 0 ? wrote : 0;
		length -= wrote > 0 ? (size_t)wrote : 0;
	}
}

static void take_lines(struct observer *o)
{
	char *start = o->line, *newline;

	while ((newline = memchr(start, '\n', (size_t)(o->line + o->length - start)))) {
		pass_on(o, start, (size_t)(newline - start) + 1);
		look_into(o, start, (size_t)(newline - start));
		start = newline + 1;
	}
	o->length -= (size_t)(start - o->line);
	memmove(o->line, start, o->length);
	if (o->length == sizeof o->line)
		o->length = 0;
}

static void *listen_to(void *argument)
{
	struct observer *o = argument;

	for (;;) {
		ssize_t got = read(o->in, o->line + o->length, sizeof o->line - o->length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return NULL;
		o->length += (size_t)got;
		take_lines(o);
	}
}

struct observer *observe_begin(int out, int *events, struct error *err)
{
	struct observer *o = calloc(1, sizeof *o);
	sigset_t all, before;
	int pair[2];

	if (!o || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "listening to an execution");
		free(o);
		return NULL;
	}
	o->in = pair[0];
	o->events = pair[1];
	o->out = out;
	fcntl(o->events, F_SETFL, O_NONBLOCK);
	/* Signals are the caller's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	o->is_reading = pthread_create(&o->thread, NULL, listen_to, o) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!o->is_reading) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, EAGAIN, "listening to an execution");
		observe_free(o);
		return NULL;
	}
	*events = o->events;
	return o;
}

void observe_end(struct observer *o, const struct touched **touched, size_t *count)
{
	if (o->is_reading) {
		/* Not only closed: whoever has a copy of it must not keep us waiting. */
		shutdown(o->events, SHUT_WR);
		close(o->events);
		o->events = -1;
		pthread_join(o->thread, NULL);
		o->is_reading = false;
	}
	*touched = o->touched;
	*count = o->count;
}

void observe_free(struct observer *o)
{
	const struct touched *touched;
	size_t count;

	if (!o)
		return;
	observe_end(o, &touched, &count);
	for (size_t i = 0; i < o->count; i++) {
		free(o->touched[i].kind);
		free(o->touched[i].what);
	}
	close(o->in);
	if (o->events >= 0)
		close(o->events);
	free(o);
}
