/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first steps of a program. See start.h.
 *
 * Whatever state a caller starts a program in, descriptors 0 to 2 are open from here on (a file that is opened must never become "standard error"), and child
 * processes can be waited for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/start.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "isolate/base/trace.h"
#include "isolate/commands/signals.h"

/*
 * As many descriptors as the user may have. The kernel compares what a user has in flight between processes,
 * in all sandboxes together, with this limit of the sender: a program inside has a smaller one (unix(7)).
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
	/* What was closed stays useless: reading finds the end, and writing fails, so that an answer that nobody can get is not taken for one that was given. */
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
