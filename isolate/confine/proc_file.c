/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of /proc. See proc_file.h. Some are given in pieces of a page, so reading goes on to the end. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/confine/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t proc_file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	size_t length = 0;
	ssize_t got = fd < 0 ? -1 : 0;

	while (fd >= 0 && length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	saved = errno;
	if (fd >= 0)
		close(fd);
	text[length] = '\0';
	errno = saved;
	return got < 0 ? -1 : (ssize_t)length;
}
