/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts cordon-init in its namespaces.
 *
 * The caller may be any program with any number of threads: nothing is forked with its memory, its
 * signal handlers do not run in the child, and the child's end is learnt from a pidfd and a socket
 * of its own, never from SIGCHLD.
 */
#ifndef CORDON_ISOLATE_SANDBOX_LAUNCH_H
#define CORDON_ISOLATE_SANDBOX_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/base/error.h"
#include "isolate/base/locate.h"
#include "isolate/init/privileges.h"

struct launch {
	/* in the caller's namespace; for messages and cgroups, never for signals */
	pid_t pid;
	int pidfd;
	int control;     /* SOCK_SEQPACKET; non-blocking for reading is up to the caller */
	uint32_t layers; /* the namespaces that were made */
};

struct launch_request {
	/* OWN_INIT, or another helper that takes its socket on descriptor 3 */
	enum own_file program;
	bool has_namespaces;
	bool host_network; /* but not this one */
	int standard[3];   /* become 0, 1, 2; kept by the caller */
	struct id_map ids; /* the program's as it sees them, and what they are on the host */
};

/*
 * Returns 0, or -1 with KERNEL_TOO_OLD before Linux 5.15 (mount_setattr(2) on idmapped mounts,
 * limits by user namespace).
 */
int launch_check_kernel(struct error *err);

/*
 * The ids that a sandbox's program has on the host: the caller's own, or, for a caller that is root
 * here, an id of its own per launch that owns nothing. Returns 0 or -1 with UID_UNMAPPED.
 */
int launch_ids(uid_t *uid, gid_t *gid, struct error *err);

/*
 * Starts it. Returns 0, or -1 with USERNS_DENIED, USERNS_LIMIT, HELPER_MISSING,
 * RESOURCES_EXHAUSTED.
 */
int launch_init(const struct launch_request *request, struct launch *out, struct error *err);

/*
 * Whether it has ended, within wait_ms, and how (waitid(2)); it stays to be waited for. The end of
 * its socket may show a moment before its own.
 */
bool launch_is_over(const struct launch *l, int wait_ms, siginfo_t *how);

/*
 * When something failed because PID 1 had died, within wait_ms, *err, which has what failed, says
 * that instead, with INIT_LOST. What it dies of while it is set up answers no request that is asked
 * of it, so what is seen of that first may have any other name.
 */
void launch_explain(const struct launch *l, int wait_ms, struct error *err);

/*
 * What a process that was killed may take to end; one that does not waits in the kernel for
 * something that does not answer.
 */
#define LAUNCH_CLOSE_MS 5000

/*
 * Kills what is left of it, waits for it for so long, and closes both descriptors. Returns whether
 * it has ended. Safe on a launch that failed (pidfd -1), which has.
 */
bool launch_close(struct launch *l, int wait_ms);

/*
 * Starts cordon-init in another role: it waits for the end of a pipe, and then does what the caller
 * cannot when it is killed ("terminal", or the name of a cgroup). fd becomes its descriptor 1.
 * Returns our end of the pipe, or -1.
 */
int launch_keeper(const char *role, int fd, pid_t *pid);

/*
 * What around cordon refuses a system call: the kernel says only EPERM or EACCES, and /proc says
 * which filter or profile is in force.
 */

/*
 * Gives a failure with a code of the kernel's refusals (USERNS_DENIED, MOUNT_DENIED,
 * NETWORK_DENIED, SECCOMP_DENIED) the code CALL_FILTERED or PROFILE_DENIED, where this process is
 * under a filter or a profile and the errno is one that it gives.
 */
void refusal_explain(struct error *err);

#endif
