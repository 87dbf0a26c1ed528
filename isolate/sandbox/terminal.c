/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaying a terminal. See terminal.h.
 *
 * The program has a pseudo-terminal inside its own /dev/pts, so it can neither type into the
 * caller's terminal nor change its settings; bytes are moved by hand. The caller's settings are
 * changed only from the foreground (SIGTTOU is blocked around it), and given back on every way out:
 * when this process is killed, by a keeper (cordon-init in another role) that waits for the end of
 * a pipe.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/locate.h"

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

/* Without a keeper all goes on, but for what happens after a KILL. */
static void start_keeper(struct terminal *t)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char path[PATH_MAX];
	char *const argv[] = { (char *)"cordon-init", (char *)"terminal", NULL };
	char *const env[] = { NULL };
	int ends[2], code;

	if (locate(OWN_INIT, path, sizeof path, NULL) < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, t->fd, 1); /* first: it mostly is descriptor 0 */
	posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
	posix_spawnattr_init(&attributes);
	/* no key that is typed signals it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	code = posix_spawn(&t->keeper_pid, path, &actions, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[0]);
	/*
	 * The settings fit a pipe's atomic write; they go along because the keeper may look only
	 * after they have changed.
	 */
	if (code == 0 && write(ends[1], &t->before, sizeof t->before) == sizeof t->before)
		t->keeper = ends[1];
	else
		close(ends[1]);
}

/*
 * A byte means that all is well: then the keeper leaves the terminal alone, which another program
 * may own by now.
 */
static void dismiss_keeper(struct terminal *t)
{
	ssize_t wrote;

	if (t->keeper < 0)
		return;
	do
		wrote = write(t->keeper, "", 1);
	while (wrote < 0 && errno == EINTR);
	close(t->keeper);
	t->keeper = -1;
	while (waitpid(t->keeper_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void terminal_begin(struct terminal *t, int fd)
{
	struct termios raw;

	t->fd = fd;
	if (fd < 0 || tcgetattr(fd, &t->before) != 0 || tcgetpgrp(fd) != getpgrp())
		return;
	start_keeper(t);
	raw = t->before;
	cfmakeraw(&raw);
	t->raw = set_attributes(fd, &raw) == 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->raw)
		set_attributes(t->fd, &t->before);
	t->raw = false;
	dismiss_keeper(t);
}

void terminal_resize(struct terminal *t)
{
	struct winsize window;

	/* Without a terminal on either side there is nothing to resize, and that is no error. */
	if (t->fd >= 0 && t->master >= 0 && ioctl(t->fd, TIOCGWINSZ, &window) == 0)
		ioctl(t->master, TIOCSWINSZ, &window);
}
