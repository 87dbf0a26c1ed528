/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity and capabilities: taking the one id that is mapped, and giving everything else up.
 * user_namespaces(7), capabilities(7).
 */
#ifndef CORDON_ISOLATE_INIT_PRIVILEGES_H
#define CORDON_ISOLATE_INIT_PRIVILEGES_H

#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/error.h"

/*
 * Makes every permitted capability inheritable and ambient, so that it survives an execve(2) by a
 * user that is not root. Async-signal-safe. 0 or -1 with errno.
 */
int privileges_keep_over_exec(void);

/*
 * Becomes uid and gid in real, effective, saved and file-system id; drops supplementary groups
 * where that is allowed (it is not after "deny" in /proc/self/setgroups, and then they were the
 * caller's own). Capabilities are kept. Returns 0 or -1 with USERNS_DENIED.
 */
int privileges_become(uid_t uid, gid_t gid, struct error *err);

/*
 * Gives up every capability in every set (bounding, ambient, inheritable, permitted, effective) and
 * sets no_new_privs. Reads them back: what could not be dropped is an error. *layers gains
 * LAYER_NO_CAPABILITIES and LAYER_NO_NEW_PRIVILEGES.
 */
int privileges_drop(uint32_t *layers, struct error *err);

/*
 * Lets the kernel kill this process when the thread that made it ends, PR_SET_PDEATHSIG(2const):
 * even one that is stopped, which sees no socket close. To be called after the last change of ids,
 * which would undo it. lifeline: the socket to that thread, looked at once more, since it may have
 * ended before. 0, or -1 with INTERNAL.
 */
int privileges_die_with(int lifeline, struct error *err);

/*
 * Sets the limits of the calling process's user namespace, through /proc/sys/user: no namespace
 * below it, and a part of what the kernel grants a user of inotify. *layers gains
 * LAYER_NO_NESTED_NAMESPACES. Returns 0, or -1 with LIMIT_DENIED or USERNS_DENIED. namespaces(7).
 */
int privileges_limit_namespace(uint32_t *layers, struct error *err);

/* The one user and the one group of a user namespace, and what they are one namespace further out. */
struct id_map {
	uid_t inside_uid, outside_uid;
	gid_t inside_gid, outside_gid;
};

/*
 * Maps the ids of a process that is in a new user namespace (pid 0: the calling one), and denies it
 * setgroups(2). Returns 0, or -1 with USERNS_DENIED, UID_UNMAPPED or RESOURCES_EXHAUSTED.
 */
int privileges_map(pid_t pid, const struct id_map *ids, struct error *err);

/* Landlock scopes, for the tier without namespaces: landlock(7). */

/*
 * From here on the calling process, and what it starts, can signal only each other and connect only
 * to each other's abstract UNIX sockets. Needs no_new_privs and Landlock ABI 6 (Linux 6.12); where
 * the kernel has less, nothing is applied. Sets LAYER_LANDLOCK_SCOPE in *layers when it holds.
 */
void landlock_scope(uint32_t *layers);

/* The Landlock ABI version of this kernel, 0 when there is none. */
int landlock_version(void);

#endif
