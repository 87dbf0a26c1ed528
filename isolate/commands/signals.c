/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting signals. See signals.h. The handler does one write(2) to a non-blocking pipe: a full pipe means there is enough to do already. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

static const int COLLECTED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };

static int write_end = -1; /* a handler has no argument to carry it */

static void collect(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;
	ssize_t ignored = write(write_end, &byte, 1);

	(void)ignored;
	errno = saved;
}

int signals_collect(void)
{
	struct sigaction action = { .sa_handler = collect, .sa_flags = SA_RESTART };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	write_end = ends[1];
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof COLLECTED / sizeof *COLLECTED; i++) {
		struct sigaction before;

		/* Whoever started us with a signal ignored (nohup) meant it. */
		if (sigaction(COLLECTED[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(COLLECTED[i], &action, NULL);
	}
	return ends[0];
}

void signals_reset(void)
{
	struct rlimit file_size;
	sigset_t none;

	/* Plans and requests go through memory files, which this limit counts as files. */
	if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur < file_size.rlim_max) {
		file_size.rlim_cur = file_size.rlim_max;
		setrlimit(RLIMIT_FSIZE, &file_size);
	}
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* a failed write(2) says it all */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
