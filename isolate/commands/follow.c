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
#include "isolate/commands/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

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
	while (f->fd >= 0 && length > 0 && !f->error) {
		ssize_t wrote = write(f->fd, text, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			f->error = wrote < 0 ? errno : EIO;
			break;
		}
		text += wrote;
		length -= (size_t)wrote;
	}
	f->lost += f->error != 0;
}

static uint64_t number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) && value->valuedouble > 0 ? (uint64_t)value->valuedouble : 0;
}

void follow_event(struct follow *f, struct json_slice event)
{
	struct json_slice type = json_get(event, "type"), data = json_get(event, "data");
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	if (json_is(type, "events.dropped")) {
		cJSON *tree = cJSON_ParseWithLength(data.text, data.length);

		f->lost += number(tree, "count");
		cJSON_Delete(tree);
	} else if (json_is(type, "sandbox.executed") && data.text) {
		buffer_free(&f->last);
		buffer_add(&f->last, data.text, data.length);
	}
	buffer_add(&text, event.text, event.length);
	buffer_add_text(&text, "\n");
	if (!text.failed)
		write_line(f, text.data, text.length);
}

bool follow_take(struct follow *f, const char *line, size_t length)
{
	struct json_slice event;

	if (!f->on || !json_is(json_get(json_slice(line, length), "method"), "event"))
		return false;
	event = json_get(json_slice(line, length), "params");
	if (event.text)
		follow_event(f, event);
	return true;
}

static void read_files(const cJSON *files, struct view_summary *v)
{
	const cJSON *top =
		cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(files, "refused"), 0);
	const cJSON *path = cJSON_GetObjectItemCaseSensitive(top, "path"),
		    *rule = cJSON_GetObjectItemCaseSensitive(top, "rule"),
		    *allow = cJSON_GetObjectItemCaseSensitive(top, "allow");

	v->denied = number(files, "denied");
	if (!cJSON_IsString(path) || !cJSON_IsString(rule))
		return;
	v->refused[0].path = strdup(path->valuestring);
	v->refused[0].allow = cJSON_IsString(allow) ? strdup(allow->valuestring) : NULL;
	v->refused[0].count = number(top, "count");
	strncpy(v->refused[0].rule, rule->valuestring, sizeof v->refused[0].rule - 1);
}

static void read_calls(const cJSON *refused, struct refused_calls *calls)
{
	const cJSON *item;
	size_t count = 0;

	cJSON_ArrayForEach (item, refused) {
		uint64_t times = cJSON_IsNumber(item) && item->valuedouble > 0
			? (uint64_t)item->valuedouble
			: 0;

		calls->total += times;
		if (count < REFUSED_CALLS) {
			strncpy(calls->top[count].name, item->string,
				sizeof calls->top[count].name - 1);
			calls->top[count++].count = times;
		}
	}
}

void follow_summary(const struct follow *f)
{
	struct record r = { .events = { true, f->lost, f->error } };
	char reason[240];
	cJSON *tree = NULL;

	if (!f->on)
		return;
	if (f->last.length > 0 && !f->last.failed &&
		json_gate_check(
			&JSON_GATE_DOCUMENT, f->last.data, f->last.length, reason, sizeof reason))
		tree = cJSON_ParseWithLength(f->last.data, f->last.length);
	read_files(cJSON_GetObjectItemCaseSensitive(tree, "files"), &r.view);
	read_calls(cJSON_GetObjectItemCaseSensitive(tree, "refused"), &r.calls);
	summary_print(&r, true);
	free(r.view.refused[0].path);
	free(r.view.refused[0].allow);
	cJSON_Delete(tree);
}
