/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity and capabilities. See privileges.h.
 *
 * capget(2) and capset(2) are called directly: the sets are two pairs of words, and this code also
 * runs between clone(2) and execve(2) in a process that shares its memory with the caller, where no
 * library may allocate.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/wire/limits.h"

#define CAP_WORDS 2

int privileges_keep_over_exec(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[CAP_WORDS] = { { 0, 0, 0 } };

	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	for (int word = 0; word < CAP_WORDS; word++)
		data[word].inheritable = data[word].permitted;
	if (syscall(SYS_capset, &header, data) != 0)
		return -1;
	for (int cap = 0; cap < 32 * CAP_WORDS; cap++)
		if ((data[cap / 32].permitted & (1u << (cap % 32))) &&
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) != 0)
			return -1;
	return 0;
}

int privileges_become(uid_t uid, gid_t gid, struct error *err)
{
	/* The raw calls: glibc's wrappers would signal threads, of which there are none. */
	if (syscall(SYS_setgroups, 0, NULL) != 0 && errno != EPERM)
		return error_set(
			err, FAILURE_USERNS_DENIED, errno, "dropping supplementary groups");
	if (syscall(SYS_setresgid, gid, gid, gid) != 0)
		return error_set(
			err, FAILURE_USERNS_DENIED, errno, "becoming group %u", (unsigned)gid);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || syscall(SYS_setresuid, uid, uid, uid) != 0)
		return error_set(
			err, FAILURE_USERNS_DENIED, errno, "becoming user %u", (unsigned)uid);
	/*
	 * The kernel makes a process undumpable when its user changes, and with that its own /proc
	 * files belong to another.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return error_set(err, FAILURE_INTERNAL, errno, "keeping access to /proc/self");
	return 0;
}

/* Returns 1 when the set is empty, 0 when this process may not change it, -1 on an error. */
static int drop_bounding_set(struct error *err)
{
	for (int cap = 0; cap < 32 * CAP_WORDS; cap++) {
		int held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (held < 0)
			break; /* EINVAL: past the last one this kernel knows */
		if (!held || prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		/*
		 * Without CAP_SETPCAP (tier subprocess, an ordinary user) no_new_privs alone has to
		 * do.
		 */
		if (errno == EPERM)
			return 0;
		return error_set(err, FAILURE_INTERNAL, errno,
			"dropping capability %d from the bounding set", cap);
	}
	return 1;
}

int privileges_drop(uint32_t *layers, struct error *err)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[CAP_WORDS] = { { 0, 0, 0 } };
	int bounding = drop_bounding_set(err);

	if (bounding < 0)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return error_set(err, FAILURE_INTERNAL, errno, "clearing the ambient capabilities");
	memset(data, 0, sizeof data);
	if (syscall(SYS_capset, &header, data) != 0)
		return error_set(err, FAILURE_INTERNAL, errno, "dropping all capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return error_set(err, FAILURE_INTERNAL, errno, "setting no_new_privs");
	if (syscall(SYS_capget, &header, data) != 0)
		return error_set(err, FAILURE_INTERNAL, errno, "reading the capabilities back");
	for (int word = 0; word < CAP_WORDS; word++)
		if (data[word].permitted | data[word].effective | data[word].inheritable)
			return error_set(err, FAILURE_INTERNAL, 0,
				"capabilities are left after all were dropped");
	*layers |= LAYER_NO_NEW_PRIVILEGES | (bounding ? LAYER_NO_CAPABILITIES : 0);
	return 0;
}

int privileges_die_with(int lifeline, struct error *err)
{
	struct pollfd end = { lifeline, POLLIN, 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return error_set(
			err, FAILURE_INTERNAL, errno, "tying this process to its supervisor");
	if (poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR)))
		return error_set(err, FAILURE_INTERNAL, EPIPE, "the supervisor has ended");
	return 0;
}

/* One write to one file of /proc; kernel interfaces take it whole or not at all. */
static int write_proc(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Without descriptors or memory nothing was denied. */
static enum failure denied(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? FAILURE_RESOURCES_EXHAUSTED
								     : FAILURE_USERNS_DENIED;
}

/*
 * Limits of this user namespace, namespaces(7). The kernel counts each in the namespaces above,
 * too, so what a program takes here is taken from the caller, whose own limits stay above these.
 * Fanotify and all other namespaces need no number: the filter refuses the one, and the others
 * cannot be made without a user namespace.
 */
static const struct {
	const char *name, *value;
} NAMESPACE_LIMITS[] = {
	{ "max_inotify_instances", "8" }, /* of 128 that a user usually has */
	{ "max_inotify_watches", "16384" },
};

int privileges_limit_namespace(uint32_t *layers, struct error *err)
{
	char path[64];

	for (size_t i = 0; i < sizeof NAMESPACE_LIMITS / sizeof *NAMESPACE_LIMITS; i++) {
		snprintf(path, sizeof path, "/proc/sys/user/%s", NAMESPACE_LIMITS[i].name);
		/* A kernel without the thing has no limit of it. */
		if (write_proc(path, NAMESPACE_LIMITS[i].value) != 0 && errno != ENOENT)
			return error_set(err, FAILURE_LIMIT_DENIED, errno, "setting %s to %s", path,
				NAMESPACE_LIMITS[i].value);
	}
	if (write_proc("/proc/sys/user/max_user_namespaces", "0") != 0)
		return error_set(err, FAILURE_USERNS_DENIED, errno,
			"forbidding further user namespaces (/proc/sys/user/max_user_namespaces)");
	*layers |= LAYER_NO_NESTED_NAMESPACES;
	return 0;
}

static int map_id(const char *proc, const char *which, unsigned inside, unsigned outside,
	bool is_own, struct error *err)
{
	bool is_group = which[0] == 'g';
	char path[64], line[48];

	snprintf(path, sizeof path, "%s/%s", proc, is_group ? "gid_map" : "uid_map");
	snprintf(line, sizeof line, "%u %u 1", inside, outside);
	if (write_proc(path, line) == 0)
		return 0;
	/* The kernel asks for CAP_SETUID and CAP_SETGID to map another id than the writer's own. */
	if (errno == EPERM && !is_own)
		return error_set(err, FAILURE_UID_UNMAPPED, EPERM,
			"mapping the %s id of the sandbox: root has not CAP_SETUID and CAP_SETGID "
			"here (--cap-drop=ALL, CapabilityBoundingSet=), and never runs a program "
			"as "
			"itself",
			which);
	return error_set(
		err, denied(errno), errno, "mapping the %s id of the sandbox (%s)", which, path);
}

int privileges_map(pid_t pid, const struct id_map *ids, struct error *err)
{
	bool is_own = pid == 0 || ids->outside_uid == geteuid();
	char proc[32] = "/proc/self", path[64];

	if (pid > 0)
		snprintf(proc, sizeof proc, "/proc/%d", (int)pid);
	snprintf(path, sizeof path, "%s/setgroups", proc);
	if (write_proc(path, "deny") != 0)
		return error_set(err, denied(errno), errno,
			"denying setgroups in the new user namespace (%s)", path);
	if (map_id(proc, "user", ids->inside_uid, ids->outside_uid, is_own, err) < 0)
		return -1;
	return map_id(proc, "group", ids->inside_gid, ids->outside_gid, is_own, err);
}

/* ---- landlock ---- */

/*
 * Landlock scopes.
 *
 * The structure and the two bits are written out here, because they are newer than the headers of
 * the oldest distribution that cordon builds on; they are fixed parts of the kernel's interface.
 */

#define CREATE_RULESET_VERSION 1u
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)
#define ABI_WITH_SCOPES 6

struct ruleset_attributes {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return version < 0 ? 0 : (int)version;
}

void landlock_scope(uint32_t *layers)
{
	const struct ruleset_attributes attributes = { 0, 0,
		SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL };
	int fd;

	if (landlock_version() < ABI_WITH_SCOPES)
		return;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (fd < 0)
		return;
	if (syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		*layers |= LAYER_LANDLOCK_SCOPE;
	close(fd);
}
