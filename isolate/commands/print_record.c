/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers. See print_record.h. Text that may come from inside reaches a terminal through the
 * sanitiser only.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/print_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/base/failure_record.h"
#include "isolate/base/json_read.h"
#include "isolate/base/text.h"

int answer_line(const struct buffer *text)
{
	if (text->failed)
		return EXIT_FAILED;
	if (write_all(STDOUT_FILENO, text->data, text->length) == 0 &&
		write_all(STDOUT_FILENO, "\n", 1) == 0)
		return EXIT_OK;
	fprintf(stderr, "cordon: the answer could not be written to standard output\n");
	return EXIT_FAILED;
}

static void answer_failure_record(const struct error *err)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;

	failure_record_write(err, &out);
	answer_line(&out);
}

int answer_failure(const char *command, const struct error *err, bool json)
{
	char sentence[1400];

	fprintf(stderr, "cordon %s: %s [%s]\n", command,
		error_sentence(err, sentence, sizeof sentence), failure_name(err->code));
	if (json)
		answer_failure_record(err);
	return err->code == FAILURE_BAD_OPTION ? EXIT_USAGE : EXIT_FAILED;
}

int answer_usage(const char *command, const struct error *err, bool json)
{
	if (err->code != FAILURE_BAD_OPTION)
		return answer_failure(command, err, json);
	fprintf(stderr, "cordon %s: %s\nTry `cordon %s --help`.\n", command, err->context, command);
	if (json)
		answer_failure_record(err);
	return EXIT_USAGE;
}

void answer_outcome(const struct record *r)
{
	struct buffer line = BUFFER_INIT;
	char sentence[1400];

	if (r->export_error.code != FAILURE_NONE)
		fprintf(stderr, "cordon: the export is not complete: %s [%s]\n",
			error_sentence(&r->export_error, sentence, sizeof sentence),
			failure_name(r->export_error.code));
	/* A program that ended by itself has said what it had to say. */
	if (r->error.length == 0 || (r->exit_code >= 0 && !r->exec_errno))
		return;
	text_visible(&line, r->error.data, r->error.length, TEXT_ONE_LINE);
	fprintf(stderr, "cordon: %s\n", line.length ? line.data : "the program did not succeed");
	buffer_free(&line);
}

/* ---- print violations ---- */

/*
 * Violations for people. The details come from the runner as JSON that has passed the gate. What is
 * missing or of another type is left out.
 */

static void add_text(
	struct buffer *out, struct json_slice value, const char *before, const char *after)
{
	if (json_kind(value) != JSON_STRING)
		return;
	buffer_add_text(out, before);
	json_visible(value, out);
	buffer_add_text(out, after);
}

static void describe(struct json_slice violation, struct buffer *out)
{
	int64_t line = json_int(json_get(violation, "line"), -1),
		column = json_int(json_get(violation, "column"), -1);
	struct json_slice rewrite = json_get(violation, "rewrite");

	if (line >= 0 && column >= 0)
		buffer_printf(out, "line %" PRId64 ", column %" PRId64 ": ", line, column);
	add_text(out, json_get(violation, "message"), "", "");
	add_text(out, json_get(violation, "rule"), " [", "]");
	if (!json_is(rewrite, ""))
		add_text(out, rewrite, "; ", "");
}

void violations_describe(const struct record *r, struct buffer *out)
{
	struct json_slice list =
		json_get(json_slice(r->detail.data, r->detail.length), "violations");
	struct json_slice violation;
	bool any = false;

	for (size_t at = 0; json_item(list, &at, &violation); any = true) {
		buffer_add_text(out, any ? "\n" : "");
		describe(violation, out);
	}
	if (!any && r->error.length > 0)
		text_visible(out, r->error.data, r->error.length, TEXT_ONE_LINE);
	else if (!any)
		buffer_add_text(out, "no violation");
}

/* ---- summary ---- */

/* The summary of a run. Paths are what a program asked for, so they pass the sanitiser. */

static void print_files(const struct view_summary *v)
{
	const struct view_refusal *top = &v->refused[0];
	_cleanup_buffer_ struct buffer shown = BUFFER_INIT;
	char path[512];

	for (size_t i = 1; i < VIEW_REFUSALS; i++)
		if (v->refused[i].path && (!top->path || v->refused[i].count > top->count))
			top = &v->refused[i];
	fprintf(stderr, "cordon: %" PRIu64 " file%s refused", v->denied, v->denied == 1 ? "" : "s");
	if (top->path) {
		text_visible_into(path, sizeof path, top->path, strlen(top->path), TEXT_ONE_LINE);
		fprintf(stderr, ", top: %s (%" PRIu64 " time%s, rule %s)", path, top->count,
			top->count == 1 ? "" : "s", top->rule);
		if (top->allow)
			text_visible(&shown, top->allow, strlen(top->allow), TEXT_ONE_LINE);
		/* What cannot be shown as it is cannot be pasted, either. */
		if (top->allow && shown.length > 0 && strcmp(shown.data, top->allow) == 0)
			fprintf(stderr, ", allow with: %s", shown.data);
	}
	fputc('\n', stderr);
}

static const struct refused_call_sum *top_of(const struct refused_calls *c)
{
	const struct refused_call_sum *top = &c->top[0];

	for (size_t i = 1; i < REFUSED_CALLS; i++)
		if (c->top[i].count > top->count)
			top = &c->top[i];
	return top;
}

static void print_calls(const struct refused_calls *c, const char *what, const char *advice)
{
	const struct refused_call_sum *top = top_of(c);

	fprintf(stderr, "cordon: %" PRIu64 " %s%s refused, top: %s (%" PRIu64 " time%s)%s\n",
		c->total, what, c->total == 1 ? "" : "s", top->name, top->count,
		top->count == 1 ? "" : "s", advice);
}

/* Those that ended the program are in its error line. */
static void print_limits(const struct record *r)
{
	static const enum limit_name MORE[] = { LIMIT_NAME_PROCESSES, LIMIT_NAME_OUTPUT_SIZE,
		LIMIT_NAME_EVENT_SIZE, LIMIT_NAME_WORKSPACE_SIZE };

	for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++)
		if (r->limits[MORE[i]].is_hit)
			fprintf(stderr, "cordon: the limit %s was reached (%" PRId64 "), see %s\n",
				limit_texts[MORE[i]].word, r->limits[MORE[i]].value,
				limit_texts[MORE[i]].option);
}

static void print_refused_calls(const struct record *r)
{
	const char *allow = record_allows_call(r, top_of(&r->calls)->name);
	char advice[120] = "";

	if (allow)
		snprintf(advice, sizeof advice, ", allowed by: %s", allow);
	print_calls(&r->calls, "system call", advice);
}

void summary_print(const struct record *r, bool watched)
{
	if (!watched && !isatty(STDERR_FILENO))
		return;
	if (r->view.denied > 0)
		print_files(&r->view);
	if (r->view.hid_in_repository)
		fprintf(stderr,
			"cordon: hidden files look deleted to Git below --scratch: `git commit -a` "
			"there commits that; name them with --ro, or do not take it over\n");
	print_limits(r);
	if (r->calls.total > 0)
		print_refused_calls(r);
	if (r->hosts.total > 0)
		print_calls(&r->hosts, "connection",
			", allow with: --network allow (all of the host's network)");
	if (r->events.error)
		fprintf(stderr,
			"cordon: the events could not be written: %s; %" PRIu64
			" of them are missing\n",
			strerror(r->events.error), r->events.lost);
	else if (r->events.lost > 0)
		fprintf(stderr,
			"cordon: %" PRIu64
			" events found no room, since their reader was slow, and are missing\n",
			r->events.lost);
}
