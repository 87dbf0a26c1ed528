/* SPDX-License-Identifier: Apache-2.0 */
/* Other host paths of a named object: where else its file system is mounted. proc_pid_mountinfo(5). */
#ifndef CORDON_FS_VIEW_MOUNTINFO_H
#define CORDON_FS_VIEW_MOUNTINFO_H

#include <stdbool.h>

/* Takes one path that leads to the same object. Returns 0, or anything else to end the search with. */
typedef int mountinfo_visit(void *argument, const char *path);

/*
 * Looks for the paths, other than path, by which the open object fd (O_PATH too) can be reached on this host because of bind mounts. Each is checked to lead there.
 * *bound: the mount that path lies in shows only a part of its file system, so what is below may have other paths, too; *has_mounts: something is mounted below path. Returns what visit returned last, or 0; where the
 * kernel does not say, there are none.
 */
int mountinfo_paths(int fd, const char *path, bool *bound, bool *has_mounts, mountinfo_visit *visit, void *argument);

#endif
