/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that give back what they hold when their scope ends.
 *
 * A variable with one of these attributes is initialised where it is declared, to -1 for a
 * descriptor and to NULL or BUFFER_INIT for the rest; every return after that gives it back. A
 * value that outlives the scope is taken out with steal_fd or steal_pointer. errno is as it was
 * before. A function uses these or a goto ladder, not both for the same thing.
 */
#ifndef CORDON_ISOLATE_BASE_CLEANUP_H
#define CORDON_ISOLATE_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <dirent.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/*
 * Closes a descriptor that is one and makes it -1. Keeps errno, for paths that report an earlier
 * error.
 */
static inline void close_fd(int *fd)
{
	int kept = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = kept;
}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_file(FILE **file)
{
	int kept = errno;

	if (*file)
		fclose(*file);
	errno = kept;
}

static inline void cleanup_directory(DIR **directory)
{
	int kept = errno;

	if (*directory)
		closedir(*directory);
	errno = kept;
}

#define _cleanup_close_ _cleanup_(close_fd)
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_fclose_ _cleanup_(cleanup_file)
#define _cleanup_closedir_ _cleanup_(cleanup_directory)
#define _cleanup_buffer_ _cleanup_(buffer_free) /* needs json_write.h */

/* Takes a descriptor out of its variable, which becomes -1. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Takes a pointer out of a variable, which becomes NULL. */
#define steal_pointer(variable) \
	(__extension__({ \
		__typeof__(variable) taken_ = (variable); \
		(variable) = NULL; \
		taken_; \
	}))

#endif
