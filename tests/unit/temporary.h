/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for the tests in C: made under TMPDIR with a name that nobody can guess, removed by the
 * test that made them.
 */
#ifndef CORDON_TESTS_TEMPORARY_H
#define CORDON_TESTS_TEMPORARY_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes a file with these bytes, gives its path (to be freed). Ends the program when that fails. */
static char *make_file(const char *bytes, size_t length)
{
	const char *directory = getenv("TMPDIR");
	char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/cordon-unit-XXXXXX", directory ? directory : "/tmp") < 0)
		exit(2);
	fd = mkostemp(path, O_CLOEXEC);
	for (size_t at = 0; fd >= 0 && at < length;) {
		ssize_t sent = write(fd, bytes + at, length - at);

		if (sent <= 0)
			break;
		at += (size_t)sent;
	}
	if (fd < 0 || close(fd) != 0) {
		fprintf(stderr, "no temporary file: %s\n", strerror(errno));
		exit(2);
	}
	return path;
}

#endif
