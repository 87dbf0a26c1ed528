/* SPDX-License-Identifier: Apache-2.0 */
/* Events of one execution in a file. See event_log.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "isolate/json_write.h"

#define MOST_WAITING (1u << 20)
#define LAST_WAIT_MS 200

struct event_log {
	int fd;
	const char *subject;
	uint64_t sequence, dropped;
	struct buffer waiting;
	size_t written;        /* of what waits */
};

static const struct { uint32_t flag; const char *word; } FLAGS[] = {
	{ EVENT_READ, "read" }, { EVENT_WRITE, "write" }, { EVENT_CREATE, "create" }, { EVENT_EXECUTE, "execute" }, { EVENT_TRUNCATE, "truncate" },
	{ EVENT_APPEND, "append" }, { EVENT_REMOVE, "remove" }, { EVENT_CHANGE, "change" }, { EVENT_DIRECTORY, "directory" },
};

/* Everything before the data; the caller goes on inside it. */
static void begin(struct event_log *log, struct json_writer *w, struct buffer *line, const char *type, int64_t time_ns)
{
	char text[64], id[96];
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof text - 16, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + strlen(text), 16, ".%06dZ", (int)(time_ns % 1000000000 / 1000));
	snprintf(id, sizeof id, "%.40s-%llu", log->subject, (unsigned long long)log->sequence++);
	json_begin(w, line);
	json_open_object(w);
	json_key(w, "specversion");
	json_string(w, "1.0");
	json_key(w, "id");
	json_string(w, id);
	json_key(w, "source");
	json_string(w, "/cordon");
	json_key(w, "type");
	json_string(w, type);
	json_key(w, "subject");
	json_string(w, log->subject);
	json_key(w, "time");
	json_string(w, text);
	json_key(w, "data");
	json_open_object(w);
}

static void end(struct event_log *log, struct json_writer *w, struct buffer *line)
{
	json_close_object(w);
	json_close_object(w);
	buffer_add(line, "\n", 1);
	if (line->failed || log->waiting.length - log->written + line->length > MOST_WAITING)
		log->dropped++;
	else
		buffer_add(&log->waiting, line->data, line->length);
	buffer_free(line);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct event_log *event_log_open(const char *file, const char *subject, struct error *err)
{
	struct event_log *log = calloc(1, sizeof *log);
	struct buffer line = BUFFER_INIT;
	struct json_writer w;

	if (!log) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping the events");
		return NULL;
	}
	log->subject = subject;
	log->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (log->fd < 0) {
		error_set(err, FAILURE_PATH_MISSING, errno, "opening %s, to write events to%s", file, errno == ENXIO ? ": nobody reads from this pipe" : "");
		free(log);
		return NULL;
	}
	begin(log, &w, &line, "sandbox.started", now_ns());
	json_key(&w, "schema");
	json_integer(&w, 1);
	end(log, &w, &line);
	event_log_flush(log);
	return log;
}

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void write_base64(struct json_writer *w, const unsigned char *bytes, size_t length)
{
	char text[4 * (EVENT_PATH_MAX / 3 + 1) + 1], *at = text;

	for (size_t i = 0; i < length; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16 | (i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0) | (i + 2 < length ? bytes[i + 2] : 0);

		*at++ = BASE64[group >> 18];
		*at++ = BASE64[group >> 12 & 63];
		*at++ = i + 1 < length ? BASE64[group >> 6 & 63] : '=';
		*at++ = i + 2 < length ? BASE64[group & 63] : '=';
	}
	*at = '\0';
	json_string(w, text);
}

/* Whether bytes are UTF-8 as JSON can carry it: shortest forms, no surrogates, nothing beyond U+10FFFF. */
static bool is_utf8(const unsigned char *s, size_t length)
{
	static const uint32_t LEAST[] = { 0, 0x80, 0x800, 0x10000 };

	for (size_t i = 0; i < length;) {
		unsigned more = s[i] < 0x80 ? 0 : s[i] >= 0xf0 && s[i] < 0xf5 ? 3 : s[i] >= 0xe0 && s[i] < 0xf0 ? 2 : s[i] >= 0xc2 && s[i] < 0xe0 ? 1 : 4;
		uint32_t point = s[i] & (more == 0 ? 0x7f : 0x3f >> more);

		if (more == 4 || more >= length - i)
			return false;
		for (unsigned k = 1; k <= more; k++) {
			if ((s[i + k] & 0xc0) != 0x80)
				return false;
			point = point << 6 | (s[i + k] & 0x3f);
		}
		if (point < LEAST[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
			return false;
		i += more + 1;
	}
	return true;
}

void event_log_file(struct event_log *log, const struct event *e, const char *rule, const char *pattern)
{
	static const char *const TYPES[] = { [EVENT_OPENED] = "fs.opened", [EVENT_DENIED] = "fs.denied", [EVENT_DROPPED] = "events.dropped" };
	struct buffer line = BUFFER_INIT;
	struct json_writer w;

	if (e->head.kind >= EVENT_SUMMARY)
		return;
	begin(log, &w, &line, TYPES[e->head.kind], e->head.time_ns ? e->head.time_ns : now_ns());
	if (e->head.kind != EVENT_DROPPED) {
		json_key(&w, "path");
		json_bytes(&w, e->path, e->head.path_length);
		if (!is_utf8((const unsigned char *)e->path, e->head.path_length)) {
			json_key(&w, "path_b64");
			write_base64(&w, (const unsigned char *)e->path, e->head.path_length);
		}
		json_key(&w, "decision");
		json_string(&w, e->head.kind == EVENT_OPENED ? "allow" : "deny");
		json_key(&w, "rule");
		json_string(&w, rule);
		if (*pattern && e->head.kind == EVENT_DENIED) {
			json_key(&w, "pattern");
			json_string(&w, pattern);
		}
		json_key(&w, "pid");
		json_integer(&w, e->head.pid);
		json_key(&w, "comm");
		json_bytes(&w, e->head.comm, strlen(e->head.comm));
		json_key(&w, "flags");
		json_open_array(&w);
		for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
			if (e->head.flags & FLAGS[i].flag)
				json_string(&w, FLAGS[i].word);
		json_close_array(&w);
	}
	json_key(&w, "count");
	json_integer(&w, (int64_t)e->head.count);
	end(log, &w, &line);
}

void event_log_flush(struct event_log *log)
{
	while (log->written < log->waiting.length) {
		ssize_t wrote = write(log->fd, log->waiting.data + log->written, log->waiting.length - log->written);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno != EAGAIN) {
			log->dropped++; /* the disk is full, or the reader is gone */
			break;
		}
		if (wrote <= 0)
			return;
		log->written += (size_t)wrote;
	}
	buffer_free(&log->waiting);
	log->written = 0;
}

void event_log_close(struct event_log *log, const struct result *result)
{
	struct buffer line = BUFFER_INIT;
	struct json_writer w;
	struct pollfd out;

	if (!log)
		return;
	if (log->dropped > 0) {
		begin(log, &w, &line, "events.dropped", now_ns());
		json_key(&w, "count");
		json_integer(&w, (int64_t)log->dropped);
		end(log, &w, &line);
	}
	begin(log, &w, &line, "sandbox.executed", now_ns());
	json_key(&w, "success");
	json_bool(&w, result && result->success);
	if (result && result->view.present) {
		json_key(&w, "files");
		result_write_view(&result->view, &w);
	}
	end(log, &w, &line);
	out = (struct pollfd){ log->fd, POLLOUT, 0 };
	event_log_flush(log);
	if (log->written < log->waiting.length && poll(&out, 1, LAST_WAIT_MS) > 0)
		event_log_flush(log);
	close(log->fd);
	buffer_free(&log->waiting);
	free(log);
}
