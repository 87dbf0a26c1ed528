/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one execution from the daemon into a file. See remote.h.
 *
 * The daemon waits for no reader: one that is slow, a pipe for example, misses events and gets
 * their number. So writing may wait here. The numbers are the daemon's, whose log has the same
 * events.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/commands/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/commands/print_record.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"

int follow_open(struct follow *f, const char *file, struct error *err)
{
	f->on = true;
	if (!file)
		return 0;
	f->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
	return f->fd < 0 ? error_set(err, FAILURE_PATH_MISSING, errno,
				   "opening %s, to write events to", file)
			 : 0;
}

void follow_close(struct follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->on = false;
	buffer_free(&f->last);
}

static void write_line(struct follow *f, const char *text, size_t length)
{
	if (f->fd >= 0 && !f->error && write_all(f->fd, text, length) < 0)
		f->error = errno;
	f->lost += f->error != 0;
}

static uint64_t number(struct json_slice value)
{
	int64_t number = json_int(value, 0);

	return number > 0 ? (uint64_t)number : 0;
}

void follow_event(struct follow *f, struct json_slice event)
{
	struct json_slice type = json_get(event, "type"), data = json_get(event, "data");
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (json_is(type, "events.dropped")) {
		f->lost += number(json_get(data, "count"));
	} else if (json_is(type, "sandbox.executed") && data.text) {
		buffer_free(&f->last);
		buffer_add(&f->last, data.text, data.length);
	}
	buffer_add(&text, event.text, event.length);
	buffer_add_text(&text, "\n");
	if (!text.failed)
		write_line(f, text.data, text.length);
}

bool follow_take(struct follow *f, struct json_slice line)
{
	struct json_slice event = json_get(line, "params");

	if (!f->on || !json_is(json_get(line, "method"), "event"))
		return false;
	if (event.text)
		follow_event(f, event);
	return true;
}

static void read_files(struct json_slice files, struct view_summary *v)
{
	_cleanup_free_ char *rule = NULL;
	struct json_slice top;
	size_t at = 0;

	v->denied = number(json_get(files, "denied"));
	if (!json_item(json_get(files, "refused"), &at, &top) ||
		!(rule = json_dup(json_get(top, "rule"))))
		return;
	v->refused[0].path = json_dup(json_get(top, "path"));
	v->refused[0].allow = json_dup(json_get(top, "allow"));
	v->refused[0].count = number(json_get(top, "count"));
	snprintf(v->refused[0].rule, sizeof v->refused[0].rule, "%s", rule);
}

static void read_calls(struct json_slice refused, struct refused_calls *calls)
{
	struct json_slice name, times;
	size_t count = 0;

	for (size_t at = 0; json_next(refused, &at, &name, &times);) {
		calls->total += number(times);
		if (count < REFUSED_CALLS) {
			snprintf(calls->top[count].name, sizeof calls->top[count].name, "%.*s",
				(int)name.length, name.text);
			calls->top[count++].count = number(times);
		}
	}
}

void follow_summary(const struct follow *f)
{
	struct record r = { .events = { true, f->lost, f->error } };
	struct json_slice last = json_slice(f->last.data, f->last.length);
	char reason[240];

	if (!f->on)
		return;
	if (f->last.failed ||
		!json_gate_check(
			&JSON_GATE_DOCUMENT, last.text, last.length, reason, sizeof reason))
		last = JSON_NONE;
	read_files(json_get(last, "files"), &r.view);
	read_calls(json_get(last, "refused"), &r.calls);
	summary_print(&r, true);
	free(r.view.refused[0].path);
	free(r.view.refused[0].allow);
}
