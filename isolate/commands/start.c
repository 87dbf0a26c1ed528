/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first steps of a program. See commands.h.
 *
 * Whatever state a caller starts a program in, descriptors 0 to 2 are open from here on (a file
 * that is opened must never become "standard error"), and child processes can be waited for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "isolate/base/trace.h"

/*
 * As many descriptors as the user may have. The kernel compares what a user has in flight between
 * processes, in all sandboxes together, with this limit of the sender: a program inside has a
 * smaller one (unix(7)).
 */
static void raise_descriptors(void)
{
	struct rlimit own;

	if (getrlimit(RLIMIT_NOFILE, &own) == 0 && own.rlim_cur < own.rlim_max) {
		own.rlim_cur = own.rlim_max;
		setrlimit(RLIMIT_NOFILE, &own);
	}
}

int start(const char *process)
{
	struct error err = ERROR_INIT;
	char sentence[1400];

	raise_descriptors();
	/*
	 * A closed descriptor becomes /dev/null opened for reading: writing an answer to it fails
	 * instead of being lost.
	 */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			return -1;
	signals_reset();
	if (trace_open(process, &err) < 0) {
		fprintf(stderr, "cordon: %s\n", error_sentence(&err, sentence, sizeof sentence));
		return -1;
	}
	return 0;
}

const struct command_entry *start_find(const struct command_entry *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* ---- signals ---- */

/*
 * Collecting signals. The handler does one write(2) to a non-blocking pipe: a full pipe means there
 * is enough to do already.
 */

static const int COLLECTED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT,
	SIGWINCH };

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

		/* A signal that the caller ignores (nohup) stays ignored. */
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
