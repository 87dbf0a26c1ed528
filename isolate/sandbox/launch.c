/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting cordon-init. See launch.h.
 *
 * clone(2) with CLONE_VM | CLONE_VFORK and every namespace at once: the child runs on a stack of
 * its own, makes a handful of system calls and executes cordon-init; the caller's thread sleeps
 * meanwhile. Signals are blocked around it, so that no handler of the caller's runs in the child on
 * shared memory. Capabilities in the new user namespace survive the execve as ambient ones.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/launch.h"
#include "isolate/base/trace.h"
#include "isolate/wire/init_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/locate.h"
#include "isolate/init/privileges.h"
#include "isolate/wire/limits.h"

#define STACK_BYTES (128 * 1024)
#define DYING_MS 20 /* of a process that has lost its memory already, and is not yet a zombie */
#define FIRST_FREE_ID 2000000000u /* above every range that distributions hand out, below 2^31 */
#define OVERFLOW_ID 65534u

static const struct {
	int flag;
	uint32_t layer;
} NAMESPACES[] = {
	{ CLONE_NEWUSER, LAYER_USER_NAMESPACE },
	{ CLONE_NEWNS, LAYER_MOUNT_NAMESPACE },
	{ CLONE_NEWPID, LAYER_PID_NAMESPACE },
	{ CLONE_NEWNET, LAYER_NETWORK_NAMESPACE },
	{ CLONE_NEWIPC, LAYER_IPC_NAMESPACE },
	{ CLONE_NEWUTS, LAYER_UTS_NAMESPACE },
	{ CLONE_NEWCGROUP, LAYER_CGROUP_NAMESPACE },
};

struct child {
	char path[PATH_MAX];
	char *name; /* its last component */
	int standard[3], control;
	int trace; /* -1: there is none */
	bool has_namespaces;
	int failed_errno;
};

/*
 * What id is one namespace further out, by the map file of this one: lines "inside outside count".
 * -1 when it has no meaning there.
 */
static int64_t outside_of(const char *map, uint32_t id)
{
	FILE *file = fopen(map, "re");
	uint32_t inside, outside, count;
	int64_t found = -1;

	while (file && found < 0 &&
		fscanf(file, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &outside, &count) == 3)
		if (id >= inside && id - inside < count)
			found = (int64_t)outside + (id - inside);
	if (file)
		fclose(file);
	return found;
}

static bool is_mapped(uint32_t id)
{
	return outside_of("/proc/self/uid_map", id) >= 0 &&
		outside_of("/proc/self/gid_map", id) >= 0;
}

int launch_check_kernel(struct error *err)
{
	struct utsname name;
	int major, minor;

	if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2 || major > 5 ||
		(major == 5 && minor >= 15))
		return 0;
	return error_set(err, FAILURE_KERNEL_TOO_OLD, 0, "Linux %d.%d is too old, 5.15 needed",
		major, minor);
}

int launch_ids(uid_t *uid, gid_t *gid, struct error *err)
{
	uint32_t own = FIRST_FREE_ID + (uint32_t)getpid();
	int probe;

	*uid = geteuid();
	*gid = getegid();
	if (*uid == OVERFLOW_ID && outside_of("/proc/self/uid_map", *uid) < 0)
		return error_set(err, FAILURE_UID_UNMAPPED, EOVERFLOW,
			"the caller appears as user %u, which stands for an id that is not mapped",
			OVERFLOW_ID);
	if (*uid != 0)
		return 0;
	/* A map that cannot be read says nothing about ids. */
	if (access("/proc/self/uid_map", R_OK) != 0 ||
		(probe = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC)) < 0)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "reading /proc/self/uid_map");
	close(probe);
	/*
	 * Root: an id per process that owns no file and runs nothing else, so that limits by user
	 * count this sandbox alone.
	 */
	if (!is_mapped(own))
		own = OVERFLOW_ID;
	if (is_mapped(own)) {
		*uid = own;
		*gid = own;
		return 0;
	}
	/*
	 * Root of a namespace with one id is an ordinary user outside, and there is no other id to
	 * take. But never the host's own root.
	 */
	if (outside_of("/proc/self/uid_map", 0) > 0)
		return 0;
	return error_set(err, FAILURE_UID_UNMAPPED, 0,
		"root here has no other id mapped that a program could run as");
}

/* Between clone and execve, on memory that is shared with the caller: system calls only. */
static int child_main(void *argument)
{
	struct child *c = argument;
	char *const argv[] = { c->name, NULL };
	char *const env[] = { NULL };

	for (int standard = 0; standard <= 2; standard++)
		if (dup2(c->standard[standard], standard) < 0)
			goto fail;
	/*
	 * A session of its own: the terminal signals the caller, which passes on what is meant for
	 * the program.
	 */
	if (setsid() < 0 || dup2(c->control, HELPER_CONTROL) < 0 ||
		(c->trace >= 0 && dup2(c->trace, HELPER_TRACE) < 0) ||
		close_range(c->trace >= 0 ? HELPER_TRACE + 1 : HELPER_TRACE, ~0u, 0) != 0)
		goto fail;
	if (c->has_namespaces && privileges_keep_over_exec() != 0)
		goto fail;
	execve(c->path, argv, env);
fail:
	c->failed_errno = errno ? errno : EINVAL;
	_exit(127);
}

/*
 * Copies of descriptors, all above the numbers that the child will hand out. The control end is
 * close-on-exec in the caller.
 */
static int move_up(int fd, int *moved)
{
	*moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	return *moved < 0 ? -1 : 0;
}

static int clone_failure(int error, struct error *err)
{
	switch (error) {
	case ENOSPC:
	case EUSERS:
		return error_set(err, FAILURE_USERNS_LIMIT, error,
			"making new namespaces: not the disk, but a number under /proc/sys/user/ "
			"or the nesting depth (32) is used up");
	case EPERM:
		/* The kernel's own rule, create_user_ns(): not from inside a chroot(2). */
		return error_set(err, FAILURE_USERNS_DENIED, error,
			"making new namespaces (also refused to every process inside a chroot)");
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, error,
			"starting a process (RLIMIT_NPROC, RLIMIT_NOFILE or memory)");
	default:
		return error_set(err, FAILURE_USERNS_DENIED, error,
			"making new namespaces: this kernel or container does not take one of "
			"them");
	}
}

/*
 * Root's supplementary groups must not go with the child, and behind "deny" it could not drop them.
 * So this thread is without them for the moment of the clone: the raw calls change one thread's
 * credentials, not the process's. Returns the number of groups put aside, -1 when there is nothing
 * to put back.
 */
static int put_groups_aside(gid_t *groups, int most)
{
	int count = geteuid() == 0 ? (int)syscall(SYS_getgroups, most, groups) : -1;

	return count >= 0 && syscall(SYS_setgroups, 0, NULL) == 0 ? count : -1;
}

static int clone_child(struct child *c, int flags, struct launch *out)
{
	gid_t *groups = malloc(NGROUPS_MAX * sizeof *groups);
	int group_count;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;
	int saved;

	if (!groups || stack == MAP_FAILED) {
		free(groups);
		errno = ENOMEM;
		return -1;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	group_count = put_groups_aside(groups, NGROUPS_MAX);
	out->pid = clone(child_main, stack + STACK_BYTES,
		flags | CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, c, &out->pidfd);
	saved = errno;
	if (group_count > 0)
		syscall(SYS_setgroups, group_count, groups);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK_BYTES);
	free(groups);
	errno = saved;
	return out->pid < 0 ? -1 : 0;
}

int launch_init(const struct launch_request *r, struct launch *out, struct error *err)
{
	struct child c = { .standard = { -1, -1, -1 },
		.control = -1,
		.trace = -1,
		.has_namespaces = r->has_namespaces };
	int pair[2] = { -1, -1 }, flags = 0, status = -1;

	*out = (struct launch){ -1, -1, -1, 0 };
	if (locate(r->program, c.path, sizeof c.path, err) < 0)
		return -1;
	c.name = strrchr(c.path, '/') + 1;
	for (size_t i = 0; r->has_namespaces && i < sizeof NAMESPACES / sizeof *NAMESPACES; i++)
		if (NAMESPACES[i].flag != CLONE_NEWNET || !r->host_network) {
			flags |= NAMESPACES[i].flag;
			out->layers |= NAMESPACES[i].layer;
		}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
		move_up(pair[1], &c.control) < 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the control socket");
		goto out;
	}
	if (trace_fd >= 0)
		move_up(trace_fd, &c.trace); /* without a descriptor the helper has no trace */
	for (int i = 0; i < 3; i++)
		if (move_up(r->standard[i], &c.standard[i]) < 0) {
			error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
				"passing the standard streams on");
			goto out;
		}
	if (clone_child(&c, flags, out) < 0) {
		clone_failure(errno, err);
		goto out;
	}
	trace("sandbox", "%s is process %d", c.name, (int)out->pid);
	out->control = pair[0];
	pair[0] = -1;
	if (c.failed_errno != 0)
		error_set(err,
			c.failed_errno == EPERM ? FAILURE_USERNS_DENIED : FAILURE_HELPER_MISSING,
			c.failed_errno, "executing %s", c.path);
	else if (!r->has_namespaces || privileges_map(out->pid, &r->ids, err) == 0)
		status = 0;
	else
		launch_explain(out, DYING_MS, err); /* it may be on its way out still */
	if (status < 0)
		launch_close(out, LAUNCH_CLOSE_MS);
out:
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
	for (int i = 0; i < 3; i++)
		if (c.standard[i] >= 0)
			close(c.standard[i]);
	if (c.control >= 0)
		close(c.control);
	if (c.trace >= 0)
		close(c.trace);
	return status;
}

bool launch_is_over(const struct launch *l, int wait_ms, siginfo_t *how)
{
	struct pollfd end = { l->pidfd, POLLIN, 0 };

	how->si_pid = 0;
	return l->pidfd >= 0 && poll(&end, 1, wait_ms) > 0 &&
		waitid(P_PIDFD, (id_t)l->pidfd, how, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		how->si_pid != 0;
}

void launch_explain(const struct launch *l, int wait_ms, struct error *err)
{
	siginfo_t how;

	/* One that ends by itself has said why, or breaks what it is asked over. */
	if (!launch_is_over(l, wait_ms, &how) ||
		(how.si_code == CLD_EXITED && err->sys_errno != EPIPE &&
			err->sys_errno != ECONNRESET))
		return;
	error_set(err, FAILURE_INIT_LOST, 0,
		"PID 1 of the sandbox (process %d) %s %d while it was set up", (int)how.si_pid,
		how.si_code == CLD_EXITED ? "ended with status" : "was ended by signal",
		how.si_status);
}

bool launch_close(struct launch *l, int wait_ms)
{
	bool gone = true;

	if (l->pidfd >= 0) {
		struct pollfd end = { l->pidfd, POLLIN, 0 };
		siginfo_t info;
		int ready;

		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		while ((ready = poll(&end, 1, wait_ms)) < 0 && errno == EINTR)
			;
		gone = ready > 0;
		/* ECHILD where the caller ignores SIGCHLD: the kernel has reaped it already. */
		waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED | WNOHANG | __WALL);
		close(l->pidfd);
	}
	if (l->control >= 0)
		close(l->control);
	l->pidfd = l->control = -1;
	return gone;
}

int launch_keeper(const char *role, int fd, pid_t *pid)
{
	_cleanup_close_ int read_end = -1, write_end = -1, moved = -1;
	char *const argv[] = { (char *)"cordon-init", (char *)role, NULL };
	char *const env[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char path[PATH_MAX];
	int ends[2], code;

	if (locate(OWN_INIT, path, sizeof path, NULL) < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	read_end = ends[0];
	write_end = ends[1];
	if (move_up(read_end, &moved) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 1); /* first: it may be descriptor 0 */
	posix_spawn_file_actions_adddup2(&actions, moved, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	/* no key that is typed at the caller's terminal signals it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	code = posix_spawn(pid, path, &actions, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return code == 0 ? steal_fd(&write_end) : -1;
}

/* ---- refusal ---- */

/*
 * Names what refuses.
 *
 * PID 1 of the sandbox inherits the caller's filter and profile, so the caller's own /proc/self
 * speaks for both. A filter of a container or of systemd answers EPERM or ENOSYS, for families of
 * sockets EAFNOSUPPORT; AppArmor answers EACCES.
 */

/* The profile that AppArmor enforces on this process, as "name (enforce)". */
static bool read_profile(char *profile, size_t size)
{
	static const char *const PLACES[] = { "/proc/self/attr/apparmor/current",
		"/proc/self/attr/current" };
	ssize_t length = -1;

	for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES && length <= 0; i++) {
		int fd = open(PLACES[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		length = read(fd, profile, size - 1);
		close(fd);
	}
	profile[length > 0 ? length : 0] = '\0';
	profile[strcspn(profile, "\n")] = '\0';
	return strstr(profile, " (enforce)") != NULL;
}

static bool is_refusal(enum failure code)
{
	static const enum failure CODES[] = {
		FAILURE_USERNS_DENIED,
		FAILURE_MOUNT_DENIED,
		FAILURE_NETWORK_DENIED,
		FAILURE_SECCOMP_DENIED,
	};

	for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
		if (CODES[i] == code)
			return true;
	return false;
}

void refusal_explain(struct error *err)
{
	struct error before = *err;
	char profile[256];
	int error = before.sys_errno;

	if (!is_refusal(before.code))
		return;
	if (error == EACCES && read_profile(profile, sizeof profile))
		error_set(err, FAILURE_PROFILE_DENIED, error, "%s; the profile is %s",
			before.context, profile);
	else if ((error == EPERM || error == ENOSYS || error == EAFNOSUPPORT) &&
		prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER)
		error_set(err, FAILURE_CALL_FILTERED, error, "%s", before.context);
}
