/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of /proc, read whole: proc(5). */
#ifndef CORDON_ISOLATE_CONFINE_PROC_FILE_H
#define CORDON_ISOLATE_CONFINE_PROC_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Reads the beginning of a file, at most size - 1 bytes, and ends it with a NUL, also where there is nothing. Returns how many bytes, or -1 with errno. */
ssize_t proc_file_read(const char *path, char *text, size_t size);

#endif
