/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon events: the log, then what happens.
 *
 * The log is read as it lies on disk, so that needs no daemon. Going on from there is a
 * subscription since the last number that was read: nothing is missed between the two, unless the
 * daemon has forgotten it, and then it says so.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "isolate/options/options.h"
#include "isolate/daemon/audit.h"
#include "isolate/daemon/client.h"
#include "isolate/daemon/line.h"

#define OLDEST 1000

/*
 * The decisions that were there when the reading began, in sequence; those that the log still has
 * are not printed twice.
 */
struct decisions {
	FILE *file;
	int64_t left; /* bytes */
	char *line;   /* the next one; length 0: none was read ahead */
	size_t capacity, length;
	struct event_line envelope;
};

struct reading {
	const struct options *options;
	struct event_filter filter;
	uint64_t last;
	char *line;
	size_t capacity;
	struct decisions decisions;
};

static bool print_line(
	struct reading *r, const struct event_line *envelope, const char *line, size_t length)
{
	/* Files are renamed under our hands: what was seen is not seen again. */
	if (envelope->sequence <= r->last)
		return true;
	r->last = envelope->sequence;
	return !event_filter_wants(&r->filter, envelope) ||
		fwrite(line, 1, length, stdout) == length;
}

static bool has_decision(struct decisions *d)
{
	ssize_t length;

	while (d->length == 0 && d->left > 0 &&
		(length = getline(&d->line, &d->capacity, d->file)) > 0) {
		d->left -= length;
		if (d->line[length - 1] == '\n' &&
			event_line_read(d->line, (size_t)length - 1, &d->envelope))
			d->length = (size_t)length;
	}
	return d->length > 0;
}

/* Prints the decisions before a number that the log no longer has. */
static bool print_decisions(struct reading *r, uint64_t before)
{
	struct decisions *d = &r->decisions;

	for (; has_decision(d) && d->envelope.sequence < before; d->length = 0)
		if (!print_line(r, &d->envelope, d->line, d->length))
			return false;
	return true;
}

/* Prints the lines of one file that are wanted. Returns false when standard output is gone. */
static bool print_file(struct reading *r, FILE *file)
{
	ssize_t length;

	while ((length = getline(&r->line, &r->capacity, file)) > 0) {
		struct event_line envelope;

		if (r->line[length - 1] != '\n' ||
			!event_line_read(r->line, (size_t)length - 1, &envelope))
			continue; /* the line that is being written */
		if (!print_decisions(r, envelope.sequence) ||
			!print_line(r, &envelope, r->line, (size_t)length))
			return false;
	}
	return fflush(stdout) == 0;
}

/* The files of the log, newest first. */
struct log_files {
	int *fds;
	size_t count;
};

static void log_close(struct log_files *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->fds[i] >= 0)
			close(l->fds[i]);
	free(l->fds);
}

/*
 * Opens every file that there is before one is read. A rotation meanwhile gives a file a higher
 * number: so, from the newest on, none is missed, and what is met twice is printed once, since its
 * numbers have been seen.
 */
static int log_open(struct log_files *l, const char *path, struct error *err)
{
	char name[PATH_MAX + 16];

	l->fds = calloc(OLDEST + 1, sizeof *l->fds);
	if (!l->fds)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading the log of events");
	for (unsigned n = 0; n <= OLDEST; n++) {
		int fd;

		snprintf(name, sizeof name, n ? "%s.%u" : "%s", path, n);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return error_set(err, FAILURE_PATH_MISSING, errno,
				"reading the log of events, %s", name);
		if (fd < 0 && n > 0)
			break;
		if (fd < 0)
			continue; /* between two steps of a rotation */
		l->fds[l->count++] = fd;
	}
	return 0;
}

/*
 * Opened before the log, and read no further than it reached then: a decision stands in the log
 * first, so one beyond the end of what is read of the log has no events before it that were not
 * read.
 */
static int decisions_open(struct decisions *d, const char *log, struct error *err)
{
	char path[PATH_MAX + 16];
	struct stat st;

	audit_decisions_path(log, path, sizeof path);
	d->file = fopen(path, "re");
	if (!d->file && errno == ENOENT)
		return 0;
	if (!d->file || fstat(fileno(d->file), &st) != 0)
		return error_set(
			err, FAILURE_PATH_MISSING, errno, "reading the log of decisions, %s", path);
	d->left = st.st_size;
	return 0;
}

static void decisions_close(struct decisions *d)
{
	if (d->file)
		fclose(d->file);
	free(d->line);
}

static int print_log(struct reading *r, const char *path, struct error *err)
{
	struct log_files log = { NULL, 0 };
	int status = decisions_open(&r->decisions, path, err);

	if (status == 0)
		status = log_open(&log, path, err);
	if (status == 0 && log.count == 0 && !r->decisions.file && !r->options->follow)
		status = error_set(
			err, FAILURE_PATH_MISSING, ENOENT, "reading the log of events, %s", path);
	for (size_t i = log.count; status == 0 && i-- > 0;) {
		FILE *file = fdopen(log.fds[i], "r");

		if (!file || !print_file(r, file))
			status = error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
				"writing events to standard output");
		if (file) {
			fclose(file);
			log.fds[i] = -1;
		}
	}
	if (status == 0 && (!print_decisions(r, UINT64_MAX) || fflush(stdout) != 0))
		status = error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"writing events to standard output");
	log_close(&log);
	decisions_close(&r->decisions);
	return status;
}

/* Where the daemon at a socket keeps its log. Returns false when no daemon answers. */
static bool ask_for_log(const char *socket_path, char *path, size_t size)
{
	static const char REQUEST[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\"}\n";
	struct client c = CLIENT_INIT;
	struct error ignored = ERROR_INIT;
	struct json_slice answer;
	bool found = false;

	if (client_open(&c, socket_path, &ignored) == 0 &&
		client_send(&c, REQUEST, sizeof REQUEST - 1, NULL, 0, &ignored) == 0 &&
		client_line(&c, -1, &answer, &ignored) > 0)
		found = json_copy(json_get(json_get(answer, "result"), "audit"), path, size) &&
			path[0] == '/';
	client_close(&c);
	return found;
}

static int subscribe(const struct reading *r, struct client *c, bool since, struct error *err)
{
	_cleanup_buffer_ struct buffer request = BUFFER_INIT;
	struct json_writer w;

	buffer_add_text(&request,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\",\"params\":");
	json_begin(&w, &request);
	json_open_object(&w);
	if (since) {
		json_key(&w, "since");
		json_integer(&w, (int64_t)r->last);
	}
	if (r->filter.type[0]) {
		json_key(&w, "type");
		json_string(&w, r->filter.type);
	}
	if (r->filter.subject[0]) {
		json_key(&w, "subject");
		json_string(&w, r->filter.subject);
	}
	json_close_object(&w);
	buffer_add_text(&request, "}\n");
	return request.failed
		? error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "writing a request")
		: client_send(c, request.data, request.length, NULL, 0, err);
}

static int follow(struct reading *r, bool since, struct error *err)
{
	struct client c = CLIENT_INIT;
	int status = client_open(&c, r->options->socket_path, err);

	if (status == 0)
		status = subscribe(r, &c, since, err);
	while (status == 0) {
		struct json_slice line, event;

		if (client_line(&c, -1, &line, err) < 0) {
			status = -1;
			break;
		}
		event = json_get(line, "params");
		if (json_get(line, "error").text)
			status = error_set(
				err, FAILURE_DAEMON_LOST, 0, "subscribing: the daemon refused");
		if (event.text &&
			(fwrite(event.text, 1, event.length, stdout) != event.length ||
				putchar('\n') == EOF || fflush(stdout) != 0))
			break; /* EPIPE: the reader ended the pipeline, which is no failure */
	}
	client_close(&c);
	return status;
}

static int print_events(const struct options *o)
{
	struct reading r = { .options = o, .last = (uint64_t)o->since };
	struct error err = ERROR_INIT;
	char path[PATH_MAX];
	int status = 0;

	if ((o->type_glob && strlen(o->type_glob) >= sizeof r.filter.type) ||
		(o->subject && strlen(o->subject) >= sizeof r.filter.subject)) {
		error_set(
			&err, FAILURE_BAD_OPTION, 0, "--type and --subject are shorter than that");
		return answer_usage("events", &err, false);
	}
	snprintf(r.filter.type, sizeof r.filter.type, "%s", o->type_glob ? o->type_glob : "");
	snprintf(r.filter.subject, sizeof r.filter.subject, "%s", o->subject ? o->subject : "");
	if (o->audit_file)
		snprintf(path, sizeof path, "%s", o->audit_file);
	if (!o->follow || o->since > 0) {
		if (!o->audit_file &&
			!(o->socket_path && ask_for_log(o->socket_path, path, sizeof path)) &&
			!audit_default_path(path, sizeof path))
			status = error_set(&err, FAILURE_PATH_MISSING, 0,
				"there is no place to look for the log: set XDG_STATE_HOME or "
				"HOME, or give --audit");
		else
			status = print_log(&r, path, &err);
	}
	if (status == 0 && o->follow)
		status = follow(&r, o->since > 0, &err);
	free(r.line);
	return status < 0 ? answer_failure("events", &err, false) : EXIT_OK;
}

int command_events(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct options options;
	bool help = false;
	int at, status;

	options_init(&options, FOR_EVENTS);
	at = options_parse(&options, FOR_EVENTS, argc, argv, &help, &err);
	if (!help && at >= 0 && at < argc)
		at = error_set(&err, FAILURE_BAD_OPTION, 0, "events takes no words, only options");
	if (help)
		status = print_command_help(FOR_EVENTS);
	else
		status = at < 0 ? answer_usage("events", &err, false) : print_events(&options);
	options_free(&options);
	return status;
}
