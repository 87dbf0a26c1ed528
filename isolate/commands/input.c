/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a program. See input.h. Bytes are taken as they are: what they mean is for the confined runner to say. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_read(const char *path, struct buffer *out, struct error *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), status = 0;
	char block[65536];
	struct stat st;

	if (fd < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno, "reading the program %s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		status = error_set(err, FAILURE_BAD_INPUT, EISDIR, "reading the program %s: it is a directory", standard ? "on standard input" : path);
	while (status == 0) {
		ssize_t got = read(fd, block, sizeof block);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			status = error_set(err, FAILURE_BAD_INPUT, errno, "reading the program %s", standard ? "on standard input" : path);
		else if (out->length + (size_t)got > INPUT_MOST)
			status = error_set(err, FAILURE_BAD_INPUT, E2BIG, "the program %s is larger than 64 MiB", standard ? "on standard input" : path);
		else
			buffer_add(out, block, (size_t)got);
		if (got <= 0)
			break;
	}
	if (!standard)
		close(fd);
	if (status == 0 && out->failed)
		status = error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading the program %s", path);
	return status;
}
