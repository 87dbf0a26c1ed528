/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the console, and its loop on a terminal: poll(2) for keys, the daemon and signals,
 * then draw.
 *
 * There is no periodic timer: without an event, a key or a signal the process sleeps until a
 * request is due. While events come a picture is drawn at most 25 times a second; a key is answered
 * at once. One turn reads a bounded part of the connection, so that keys wait no longer than that.
 * Signals come as reads of a signalfd(2), so no handler runs.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tui/model/console.h"
#include "tui/tui.h"

#define FRAME_MS 40

struct turn {
	int signals;
	int64_t drawn_ms; /* when the last picture was */
	bool at_once;     /* draw now: a key was typed */
	int ended_by;     /* a signal that ends the console */
	bool stalled;     /* a picture waits for the terminal */
};

static void measure(struct console *c)
{
	int rows, columns;

	screen_measure(&rows, &columns);
	cells_resize(&c->cells, rows, columns);
	c->dirty = true;
}

static void take_signals(struct console *c, struct turn *t)
{
	struct signalfd_siginfo info;

	while (read(t->signals, &info, sizeof info) == sizeof info) {
		switch (info.ssi_signo) {
		case SIGWINCH:
			measure(c);
			t->at_once = true;
			break;
		case SIGTSTP:
			c->suspend = true;
			break;
		case SIGCONT:
			c->redraw = true;
			break;
		default:
			t->ended_by = (int)info.ssi_signo;
			c->quit = true;
		}
	}
}

static void take_keys(struct console *c, struct turn *t)
{
	bool gone = false;
	uint32_t key;

	while (!c->quit && !c->suspend && screen_key(&key, &gone)) {
		console_key(c, key);
		t->at_once = true;
	}
	if (gone) {
		t->ended_by = SIGHUP;
		c->quit = true;
	}
}

static void suspend(struct console *c)
{
	c->suspend = false;
	screen_suspend();
	measure(c);
}

static void draw(struct console *c, struct turn *t, int64_t now)
{
	if (c->redraw) {
		screen_redraw();
		measure(c);
		c->redraw = false;
	}
	console_draw(c);
	c->dirty = false;
	screen_show(&c->cells, c->cursor_row, c->cursor_column);
	t->drawn_ms = now;
	t->at_once = false;
}

/* The timeout of poll(2) in milliseconds; -1: none. */
static int timeout(const struct console *c, const struct turn *t, int64_t now)
{
	int least = link_timeout(&c->link, now);
	int64_t waits[2] = { -1, console_due_ms(c, now) };

	if (c->dirty && !t->stalled)
		waits[0] = t->at_once || t->drawn_ms + FRAME_MS <= now
			? 0
			: t->drawn_ms + FRAME_MS - now;
	for (int i = 0; i < 2; i++)
		if (waits[i] >= 0 && (least < 0 || waits[i] < least))
			least = (int)waits[i];
	return least;
}

static void notice_loss(struct console *c)
{
	if (!console_notice_loss(c))
		return;
	if (!c->answered)
		console_say(c, STYLE_DENY,
			"What ran the program has ended without an answer. q leaves.");
	c->answered = true;
}

static void turn(struct console *c, struct turn *t)
{
	struct pollfd ready[4] = { { screen_fd(), POLLIN, 0 }, { t->signals, POLLIN, 0 },
		{ c->link.fd, link_wants(&c->link), 0 },
		{ t->stalled ? STDOUT_FILENO : -1, POLLOUT, 0 } };
	int64_t now = console_now_ms();

	if (poll(ready, 4, timeout(c, t, now)) < 0 && errno != EINTR)
		c->quit = true;
	now = console_now_ms();
	if (ready[1].revents)
		take_signals(c, t);
	if (ready[0].revents)
		take_keys(c, t);
	if (ready[2].revents || c->link.more || c->link.fd < 0)
		link_step(&c->link, now);
	notice_loss(c);
	if (!c->lost)
		console_ask_wanted(c, now);
	if (c->suspend && !c->quit)
		suspend(c);
	t->stalled = c->dirty && !screen_takes();
	if (c->dirty && !c->quit && !t->stalled && (t->at_once || t->drawn_ms + FRAME_MS <= now))
		draw(c, t, now);
}

int loop_screen(struct console *c, struct error *err)
{
	static const int TAKEN[] = { SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGINT, SIGHUP, SIGQUIT,
		SIGPIPE };
	struct turn t = { .signals = -1 };
	sigset_t taken, before;
	int status = -1;

	sigemptyset(&taken);
	for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++)
		sigaddset(&taken, TAKEN[i]);
	sigprocmask(SIG_BLOCK, &taken, &before);
	t.signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t.signals < 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "waiting for signals");
	else
		status = screen_open(c->options->theme, err);
	if (status == 0) {
		c->has_screen = true;
		measure(c);
		while (!c->quit)
			turn(c, &t);
		c->has_screen = false;
		screen_close(t.ended_by != 0);
	}
	if (t.signals >= 0)
		close(t.signals);
	/* A signal that came meanwhile is delivered now. */
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (t.ended_by) {
		signal(t.ended_by, SIG_DFL);
		raise(t.ended_by);
	}
	return status;
}

/* ---- starting and ending the console ---- */

int tui_run(const struct tui_options *options, struct buffer *answer, struct error *err)
{
	struct console *c = calloc(1, sizeof *c);
	int status = -1;

	/*
	 * Only how characters are written and how wide they are: numbers and messages stay as they
	 * are.
	 */
	setlocale(LC_CTYPE, "");
	if (!c || !console_new(c, options, answer)) {
		error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping events for the console");
		goto out;
	}
	c->cells.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (options->fd >= 0)
		link_adopt(&c->link, options->fd);
	else if (link_open(&c->link, options->socket, err) < 0)
		goto out;
	if (options->script)
		status = loop_script(c, err);
	else if (options->plain || !screen_is_possible())
		status = loop_plain(c, err);
	else
		status = loop_screen(c, err);
out:
	if (c)
		console_free(c);
	free(c);
	return status;
}
