/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a run. See summary.h. Paths are what a program asked for, so they pass the sanitiser. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/text.h"

static void print_files(const struct view_summary *v)
{
	const struct view_refusal *top = &v->refused[0];
	struct buffer shown = BUFFER_INIT;
	char path[512];

	for (size_t i = 1; i < VIEW_REFUSALS; i++)
		if (v->refused[i].path && (!top->path || v->refused[i].count > top->count))
			top = &v->refused[i];
	fprintf(stderr, "cordon: %" PRIu64 " file%s refused", v->denied, v->denied == 1 ? "" : "s");
	if (top->path) {
		text_visible_into(path, sizeof path, top->path, strlen(top->path), TEXT_ONE_LINE);
		fprintf(stderr, ", top: %s (%" PRIu64 " time%s, rule %s)", path, top->count, top->count == 1 ? "" : "s", top->rule);
		if (top->allow)
			text_visible(&shown, top->allow, strlen(top->allow), TEXT_ONE_LINE);
		/* What cannot be shown as it is cannot be pasted, either. */
		if (top->allow && shown.length > 0 && strcmp(shown.data, top->allow) == 0)
			fprintf(stderr, ", allow with: %s", shown.data);
	}
	fputc('\n', stderr);
	buffer_free(&shown);
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

	fprintf(stderr, "cordon: %" PRIu64 " %s%s refused, top: %s (%" PRIu64 " time%s)%s\n", c->total, what, c->total == 1 ? "" : "s", top->name, top->count,
		top->count == 1 ? "" : "s", advice);
}

/* Those that ended the program are in its error line. */
static void print_limits(const struct result *r)
{
	static const enum limit_name MORE[] = { LIMIT_NAME_PROCESSES, LIMIT_NAME_OUTPUT_SIZE, LIMIT_NAME_EVENT_SIZE, LIMIT_NAME_WORKSPACE_SIZE };

	for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++)
		if (r->limits[MORE[i]].is_hit)
			fprintf(stderr, "cordon: the limit %s was reached (%" PRId64 "), see %s\n", limit_texts[MORE[i]].word, r->limits[MORE[i]].value,
				limit_texts[MORE[i]].option);
}

static void print_refused_calls(const struct result *r)
{
	const char *allow = result_allows_call(r, top_of(&r->calls)->name);
	char advice[120] = "";

	if (allow)
		snprintf(advice, sizeof advice, ", allowed by: %s", allow);
	print_calls(&r->calls, "system call", advice);
}

void summary_print(const struct result *r, bool watched)
{
	if (!watched && !isatty(STDERR_FILENO))
		return;
	if (r->view.denied > 0)
		print_files(&r->view);
	if (r->view.hid_in_repository)
		fprintf(stderr, "cordon: hidden files look deleted to Git below --scratch: `git commit -a` there commits that; name them with --ro, or do not take it over\n");
	print_limits(r);
	if (r->calls.total > 0)
		print_refused_calls(r);
	if (r->hosts.total > 0)
		print_calls(&r->hosts, "connection", ", allow with: --network allow (all of the host's network)");
	if (r->events.error)
		fprintf(stderr, "cordon: the events could not be written: %s; %" PRIu64 " of them are missing\n", strerror(r->events.error), r->events.lost);
	else if (r->events.lost > 0)
		fprintf(stderr, "cordon: %" PRIu64 " events found no room, since their reader was slow, and are missing\n", r->events.lost);
}
