/* SPDX-License-Identifier: Apache-2.0 */
/* A directory is emptied in one go, whatever a program made of it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/view/scratch.h"
#include "fs/export/workspace.h"
#include "tests/unit/tap.h"

#define DEEP 300

/*
 * A chain of directories, deeper than is gone into, whose first has a name that is used for what is
 * moved up.
 */
static void make_chain(int top, const char *first)
{
	int at = top;

	for (int i = 0; i < DEEP; i++) {
		const char *name = i == 0 ? first : "e";
		int next = mkdirat(at, name, 0755) == 0 ? openat(at, name, O_RDONLY | O_DIRECTORY)
							: -1;

		if (next < 0)
			exit(2);
		if (at != top)
			close(at);
		at = next;
	}
	close(at);
}

static int make_top(char *path)
{
	int top = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;

	if (top < 0)
		exit(2);
	return top;
}

/*
 * An upper layer without attributes is what a tmpfs before Linux 6.6 gives; /proc has none on any
 * kernel.
 */
static void check_scratch(void)
{
	int without = open("/proc/self/comm", O_RDWR);
	struct error err = ERROR_INIT;

	is_int(scratch_check(without, &err), -1, "a layer without attributes is refused");
	is_int(err.code, FAILURE_MOUNT_DENIED, "by this failure");
	ok(strstr(err.context, "6.6") != NULL, "which says which kernels have them: %s",
		err.context);
	close(without);
}

int main(void)
{
	char path[] = "/tmp/cordon-unit-XXXXXX", other[] = "/tmp/cordon-unit-XXXXXX";
	int top = make_top(path);

	plan(0);
	make_chain(top, ".deep-0");
	make_chain(top, ".deep-1");
	is_int(workspace_empty(top), 0, "names that are used here are taken");
	is_int(rmdir(path), 0, "it is empty");
	top = make_top(other);
	if (mkdirat(top, "locked", 0755) != 0 || mkdirat(top, "locked/in", 0755) != 0 ||
		fchmodat(top, "locked", 0500, 0) != 0 || fchmod(top, 0) != 0)
		return 2;
	close(top);
	is_int(workspace_remove(other), 0, "one that was locked, and what is in it");
	ok(access(other, F_OK) != 0, "it is gone");
	check_scratch();
	return done();
}
