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

#include "isolate/text.h"

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

static void print_calls(const struct refused_calls *c, const char *what, const char *advice)
{
	const struct refused_call_sum *top = &c->top[0];

	for (size_t i = 1; i < REFUSED_CALLS; i++)
		if (c->top[i].count > top->count)
			top = &c->top[i];
	fprintf(stderr, "cordon: %" PRIu64 " %s%s refused, top: %s (%" PRIu64 " time%s)%s\n", c->total, what, c->total == 1 ? "" : "s", top->name, top->count,
		top->count == 1 ? "" : "s", advice);
}

void summary_print(const struct result *r, bool watched)
{
	if (!watched && !isatty(STDERR_FILENO))
		return;
	if (r->view.denied > 0)
		print_files(&r->view);
	if (r->view.hid_in_repository)
		fprintf(stderr, "cordon: hidden files look deleted to Git below --scratch: `git commit -a` there commits that; name them with --ro, or do not take it over\n");
	if (r->calls.total > 0)
		print_calls(&r->calls, "system call", "");
	if (r->hosts.total > 0)
		print_calls(&r->hosts, "connection", ", allow with: --network allow (all of the host's network)");
	if (r->events.error)
		fprintf(stderr, "cordon: the events could not be written: %s; %" PRIu64 " of them are missing\n", strerror(r->events.error), r->events.lost);
	else if (r->events.lost > 0)
		fprintf(stderr, "cordon: %" PRIu64 " events found no room, since their reader was slow, and are missing\n", r->events.lost);
}
