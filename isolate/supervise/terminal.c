/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaying a terminal. See terminal.h.
 *
 * The program has a pseudo-terminal inside its own /dev/pts, so it can neither type into the caller's terminal nor change its settings; bytes are moved
 * by hand. The caller's settings are changed only from the foreground (SIGTTOU is blocked around it), and given back on every way out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/terminal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_window(int fd, unsigned *rows, unsigned *columns)
{
	struct winsize window;

	*rows = *columns = 0;
	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &window) == 0) {
		*rows = window.ws_row;
		*columns = window.ws_col;
	}
}

static int set_attributes(int fd, const struct termios *settings)
{
	sigset_t stop, before;
	int status;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	status = tcsetattr(fd, TCSADRAIN, settings);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

void terminal_begin(struct terminal *t, int fd)
{
	struct termios raw;

	t->fd = fd;
	if (fd < 0 || tcgetattr(fd, &t->before) != 0 || tcgetpgrp(fd) != getpgrp())
		return;
	raw = t->before;
	cfmakeraw(&raw);
	t->raw = set_attributes(fd, &raw) == 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->raw)
		set_attributes(t->fd, &t->before);
	t->raw = false;
}

void terminal_resize(struct terminal *t)
{
	struct winsize window;

	/* Without a terminal on either side there is nothing to resize, and that is no error. */
	if (t->fd >= 0 && t->master >= 0 && ioctl(t->fd, TIOCGWINSZ, &window) == 0)
		ioctl(t->master, TIOCSWINSZ, &window);
}

static bool move_bytes(int from, int to)
{
	char block[16384];
	ssize_t got = read(from, block, sizeof block), at = 0;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (got == 0)
		return false;
	while (at < got) {
		ssize_t wrote = write(to, block + at, (size_t)(got - at));
		struct pollfd ready = { to, POLLOUT, 0 };

		if (wrote > 0)
			at += wrote;
		else if (wrote < 0 && errno == EAGAIN)
			poll(&ready, 1, 100);
		else if (wrote == 0 || errno != EINTR)
			return false;
	}
	return true;
}

bool terminal_type(struct terminal *t)
{
	return move_bytes(t->fd, t->master);
}
