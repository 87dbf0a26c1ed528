/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to a file or pipe until all of it is written. */
#ifndef CORDON_ISOLATE_BASE_IO_H
#define CORDON_ISOLATE_BASE_IO_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Writes all of it to a blocking descriptor. Returns 0, or -1 with errno. */
static inline int write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote == 0)
			errno = EIO;
		if (wrote <= 0)
			return -1;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}

#endif
