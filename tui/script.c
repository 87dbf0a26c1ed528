/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Script mode: keys from a file, a picture in memory.
 *
 * A line that begins with ":" is a command, as if it had been typed after that key; "#" begins a
 * comment; any other line is keys, one after the other, special ones as <Enter>. Some commands
 * exist only here: ":wait TEXT" goes on when the picture has the text (ten seconds at most),
 * ":events N" when so many events came, ":settle" when the daemon has answered everything, and
 * ":resize COLUMNSxROWS" changes the size. Nothing is shown anywhere, so what a script saves
 * depends on what the daemon said and on the script, and on no clock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/model/console.h"

#define WAIT_MS 10000

struct wait {
	const char *text; /* that the picture must have */
	uint64_t events;  /* that must have come */
	bool settled;     /* every request must be answered */
};

static bool is_met(struct console *c, const struct wait *w)
{
	struct buffer picture = BUFFER_INIT;
	bool met;

	/* Drawing may ask for what it needs. */
	if (w->settled)
		console_draw(c);
	if (w->settled)
		return c->link.fd >= 0 && !link_is_asking(&c->link) && console_has_tools(c);
	if (!w->text)
		return log_total(c->log) >= w->events;
	console_draw(c);
	cells_write(&c->cells, &picture);
	met = picture.data && strstr(picture.data, w->text);
	buffer_free(&picture);
	return met;
}

/* Lets the daemon talk until the condition is met. */
static int wait_for(struct console *c, const struct wait *w, unsigned line, struct error *err)
{
	int64_t end = console_now_ms() + WAIT_MS, now;

	while (!is_met(c, w)) {
		struct pollfd ready = { c->link.fd, link_wants(&c->link), 0 };
		int timeout = link_timeout(&c->link, console_now_ms()),
		    due = console_due_ms(c, console_now_ms());

		timeout = timeout < 0 || (due >= 0 && due < timeout) ? due : timeout;
		now = console_now_ms();
		if (now >= end)
			return w->text
				? error_set(err, FAILURE_BAD_OPTION, 0,
					  "line %u of the script: \"%s\" did not appear within %d "
					  "seconds",
					  line, w->text, WAIT_MS / 1000)
				: error_set(err, FAILURE_BAD_OPTION, 0,
					  "line %u of the script: %" PRIu64 " of %" PRIu64
					  " events came within %d seconds",
					  line, log_total(c->log), w->events, WAIT_MS / 1000);
		poll(&ready, 1,
			timeout >= 0 && timeout < end - now
				? timeout
				: (int)(end - now > 100 ? 100 : end - now));
		link_step(&c->link, console_now_ms());
		c->lost = c->link.fd < 0;
		console_ask_wanted(c, console_now_ms());
	}
	return 0;
}

static int run_command(struct console *c, const char *text, unsigned line, struct error *err)
{
	struct wait w = { NULL, 0, false };
	int columns, rows;

	if (strncmp(text, "wait ", 5) == 0) {
		w.text = text + 5;
		return wait_for(c, &w, line, err);
	}
	if (strncmp(text, "events ", 7) == 0) {
		w.events = strtoull(text + 7, NULL, 10);
		return wait_for(c, &w, line, err);
	}
	if (strcmp(text, "settle") == 0) {
		w.settled = true;
		return wait_for(c, &w, line, err);
	}
	if (sscanf(text, "resize %dx%d", &columns, &rows) == 2) {
		cells_resize(&c->cells, rows, columns);
		return 0;
	}
	command_run(c, text);
	return 0;
}

static int type(struct console *c, const char *text, unsigned line, struct error *err)
{
	for (size_t at = 0, length; text[at] && !c->quit; at += length) {
		uint32_t key = 0;

		length = keys_read(text + at, &key);
		if (length == 0)
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"line %u of the script: there is no such key", line);
		/* A person waits until a question takes keys; so does a script. */
		while (c->prompt.kind != PROMPT_NONE && console_now_ms() < c->prompt.ready_at_ms)
			poll(NULL, 0, (int)(c->prompt.ready_at_ms - console_now_ms()));
		console_key(c, key);
		console_draw(c);
	}
	return 0;
}

int loop_script(struct console *c, struct error *err)
{
	FILE *file = fopen(c->options->script, "re");
	char *line = NULL;
	size_t capacity = 0;
	unsigned number = 0;
	ssize_t length;
	int status = 0;

	if (!file)
		return error_set(err, FAILURE_PATH_MISSING, errno, "opening the script %s",
			c->options->script);
	cells_resize(&c->cells, c->options->rows, c->options->columns);
	while (status == 0 && !c->quit && (length = getline(&line, &capacity, file)) > 0) {
		number++;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		console_draw(c);
		status = line[0] == ':' ? run_command(c, line + 1, number, err)
					: type(c, line, number, err);
	}
	free(line);
	fclose(file);
	return status;
}
