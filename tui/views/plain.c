/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain mode: for a screen reader, a log, a pipe, a terminal that can do nothing.
 *
 * Events are lines that are appended, whole and visible, with no picture, no colour and no
 * movement. Commands are lines, too; runs are named by number. The end of the input ends the
 * commands and not the events; a closed standard output ends the console.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "tui/model/console.h"
#include "tui/draw/lines.h"
#include "isolate/base/json_read.h"

#define INPUT_MAX 4096

struct plain {
	uint64_t next; /* serial of the next event to be printed */
	char filter[LOG_FILTER_MAX];
	bool quiet, input_ended;
	char input[INPUT_MAX];
	size_t length;
	char menu[100][RUN_ID_MAX]; /* the runs of the last list, by their numbers */
	size_t menu_count;
	char shows[RUN_ID_MAX]; /* the run that sandbox.show was asked about */
};

static void print_event(struct console *c, struct plain *p, const struct log_entry *e)
{
	struct json_slice event = log_event(c->log, e);
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	char time[FORMAT_MAX];

	buffer_printf(&line, "%s ", e->time_ns ? format_clock(e->time_ns, time) : "-");
	if (json_get(event, "subject").length > 2) {
		size_t start = line.length;

		json_visible(json_get(event, "subject"), &line);
		if (!line.failed && line.length > start + 8)
			line.length = start + 8;
	} else {
		buffer_add_text(&line, "-");
	}
	buffer_add_text(&line, " ");
	json_visible(json_get(event, "type"), &line);
	buffer_printf(&line, " %s ", e->row ? e->row->word : "event");
	log_describe(e->row, event, &line);
	buffer_add_text(&line, "\n");
	if (!line.failed && log_matches(p->filter, line.data))
		c->quit |= fwrite(line.data, 1, line.length, stdout) != line.length;
}

static void print_events(struct console *c, struct plain *p)
{
	bool any = p->next < log_next(c->log);

	p->next = p->next < log_first(c->log) ? log_first(c->log) : p->next;
	for (; p->next < log_next(c->log) && !c->quit; p->next++)
		if (!p->quiet)
			print_event(c, p, log_entry(c->log, p->next));
	log_fix(c->log); /* what is printed */
	if (any)
		c->quit |= fflush(stdout) != 0;
}

/* ---- commands ---- */

static void list_runs(struct console *c, struct plain *p, const char *text)
{
	(void)text;
	p->menu_count = 0;
	for (const struct run *run = runs_newest(c->runs); run && p->menu_count < 100;
		run = run->older) {
		char state[32], use[FORMAT_MAX];

		snprintf(p->menu[p->menu_count], RUN_ID_MAX, "%s", run->id);
		printf("%zu. %.8s %s, %s, memory %s, CPU %.0f%%, %" PRIu64 " files opened, %" PRIu64
		       " refused\n",
			++p->menu_count, run->id, run_label(run), run_state_text(run, state),
			format_bytes(run_memory(run), use), run->cpu_percent, run->opened,
			run->denied);
	}
	puts(p->menu_count ? "Name a run by its number: kill 1, pause 1, resume 1, show 1, output 1"
			   : "Nothing has run yet.");
}

static struct run *named(struct console *c, struct plain *p, const char *text)
{
	unsigned long number = strtoul(text, NULL, 10);
	struct run *run = number >= 1 && number <= p->menu_count
		? runs_find(c->runs, p->menu[number - 1])
		: NULL;

	if (!run)
		puts("There is no run of that number; runs lists them.");
	return run;
}

static void print_lines(const struct lines *lines)
{
	for (size_t i = 0; i < lines_count(lines); i++)
		printf("%.*s\n", (int)lines_at(lines, i)->length, lines_at(lines, i)->text);
}

static void do_output(struct console *c, struct plain *p, const char *text)
{
	struct run *run = named(c, p, text);

	if (run)
		print_lines(&run->output);
}

static void do_show(struct console *c, struct plain *p, const char *text)
{
	struct run *run = named(c, p, text);

	if (run)
		snprintf(p->shows, sizeof p->shows, "%s", run->id);
	if (run)
		console_ask_program(c, run);
}

static void do_control(struct console *c, struct plain *p, const char *text, const char *method)
{
	struct run *run = named(c, p, text);

	if (run)
		console_control_run(c, method, run->id);
}

static void do_kill(struct console *c, struct plain *p, const char *text)
{
	do_control(c, p, text, "sandbox.kill");
}
static void do_pause(struct console *c, struct plain *p, const char *text)
{
	do_control(c, p, text, "sandbox.pause");
}
static void do_resume(struct console *c, struct plain *p, const char *text)
{
	do_control(c, p, text, "sandbox.resume");
}

static void do_filter(struct console *c, struct plain *p, const char *text)
{
	(void)c;
	snprintf(p->filter, sizeof p->filter, "%s", text);
}

static void do_events(struct console *c, struct plain *p, const char *text)
{
	(void)c;
	p->quiet = strcmp(text, "off") == 0;
}

static void list_pending(struct console *c, struct plain *p, const char *text)
{
	(void)p;
	(void)text;
	for (size_t i = 0; i < c->tools.pending.count; i++) {
		const struct tool *t = &c->tools.pending.at[i];

		printf("%s version %" PRId64 " of %s, %" PRId64 " calls succeeded, %" PRId64
		       " failed. To decide: cordon tool show --user %s %s, then cordon tool "
		       "promote or reject --user %s %s@%.12s\n",
			t->name, t->version, t->user, t->successes, t->failures, t->user, t->name,
			t->user, t->name, t->hash);
	}
	if (c->tools.pending.notice[0])
		printf("%s\n", c->tools.pending.notice);
	else if (c->tools.pending.count == 0)
		puts(c->tools.pending.known ? "Nothing waits for a decision."
					    : "The daemon has not said yet what waits; ask again.");
}

static void do_quit(struct console *c, struct plain *p, const char *text)
{
	(void)p;
	(void)text;
	c->quit = true;
}

static void do_help(struct console *c, struct plain *p, const char *text);

static const struct {
	const char *name, *help;
	void (*run)(struct console *c, struct plain *p, const char *text);
} COMMANDS[] = {
	{ "runs", "list the runs, with numbers", list_runs },
	{ "show", "NUMBER: all about a run", do_show },
	{ "output", "NUMBER: what a run wrote", do_output },
	{ "pause", "NUMBER: stop a run for a while", do_pause },
	{ "resume", "NUMBER: let it go on", do_resume },
	{ "kill", "NUMBER: end a run", do_kill },
	{ "pending", "list the tools that wait for a decision", list_pending },
	{ "filter",
		"WORDS: only events that have all these words, and none of those with ! in front",
		do_filter },
	{ "events", "on or off: whether events are printed as they come", do_events },
	{ "help", "this list", do_help },
	{ "quit", "leave", do_quit },
};

static void do_help(struct console *c, struct plain *p, const char *text)
{
	(void)c;
	(void)p;
	(void)text;
	for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
		printf("%s: %s\n", COMMANDS[i].name, COMMANDS[i].help);
}

static void take_command(struct console *c, struct plain *p, char *line)
{
	char *name = line + strspn(line, " \t"), *rest;
	size_t length = strcspn(name, " \t\r");

	rest = name + length + strspn(name + length, " \t\r");
	if (length == 0)
		return;
	for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
		if (strlen(COMMANDS[i].name) == length &&
			memcmp(COMMANDS[i].name, name, length) == 0) {
			COMMANDS[i].run(c, p, rest);
			fflush(stdout);
			return;
		}
	puts("There is no such command; help lists them.");
	fflush(stdout);
}

static void take_input(struct console *c, struct plain *p)
{
	/* A line that does not fit is dropped. */
	size_t length = p->length < sizeof p->input - 1 ? p->length : 0;
	ssize_t got = read(STDIN_FILENO, p->input + length, sizeof p->input - 1 - length);
	char *newline;

	if (got <= 0) {
		p->input_ended |= got == 0 || (errno != EINTR && errno != EAGAIN);
		return;
	}
	p->length = length + (size_t)got;
	while ((newline = memchr(p->input, '\n', p->length))) {
		size_t used = (size_t)(newline - p->input) + 1;

		*newline = '\0';
		take_command(c, p, p->input);
		p->length -= used;
		memmove(p->input, p->input + used, p->length);
	}
}

/* ---- the loop ---- */

static void print_new_events(struct console *c, struct plain *p)
{
	struct run *run = p->shows[0] ? runs_find(c->runs, p->shows) : NULL;

	print_events(c, p);
	if (run && run->answers) {
		console_open_view(c, VIEW_DETAIL);
		snprintf(c->run_id, sizeof c->run_id, "%s", run->id);
		c->detail.stale = true;
		cells_resize(&c->cells, 24, 80);
		console_draw(c);
		print_lines(&c->detail.head);
		print_lines(&c->detail.program);
		print_lines(&c->detail.tail);
		p->shows[0] = '\0';
	}
	if (c->message[0]) {
		printf("%s\n", c->message);
		c->message[0] = '\0';
	}
	c->quit |= fflush(stdout) != 0;
}

static int patience(const struct console *c, int64_t now_ms)
{
	int link = link_timeout(&c->link, now_ms), due = console_due_ms(c, now_ms);

	return link < 0 || (due >= 0 && due < link) ? due : link;
}

int loop_plain(struct console *c, struct error *err)
{
	struct plain *p = calloc(1, sizeof *p);

	if (!p)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping commands");
	signal(SIGPIPE, SIG_IGN);
	/*
	 * Keys of a request's own console are not the program's; without a terminal there are none.
	 */
	p->input_ended = c->options->request && !isatty(STDIN_FILENO);
	while (!c->quit) {
		struct pollfd ready[2] = { { c->link.fd, link_wants(&c->link), 0 },
			{ p->input_ended ? -1 : STDIN_FILENO, POLLIN, 0 } };

		if (poll(ready, 2, patience(c, console_now_ms())) < 0 && errno != EINTR)
			break;
		if (ready[0].revents || c->link.more || c->link.fd < 0)
			link_step(&c->link, console_now_ms());
		c->quit |= console_notice_loss(c);
		if (!c->lost)
			console_ask_wanted(c, console_now_ms());
		if (ready[1].revents)
			take_input(c, p);
		print_new_events(c, p);
		c->quit |= c->answered;
	}
	free(p);
	return 0;
}
