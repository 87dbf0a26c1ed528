/* SPDX-License-Identifier: Apache-2.0 */
/* Making the mount of a view. See mounter.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/base/message.h"

static int open_device(struct error *err)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	/* The mode gives EACCES, a control group's rules for devices EPERM. */
	if (errno == EPERM)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
			"opening /dev/fuse: the rules for devices of this container or unit refuse "
			"it");
	if (errno == EACCES)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
			"opening /dev/fuse: it must be readable and writable for everybody, as "
			"udev makes it (chmod 666 /dev/fuse)");
	return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
		"opening /dev/fuse: load the module (modprobe fuse), or pass the device on");
}

static int configure(int context, int device, uid_t owner, gid_t group)
{
	char number[16], uid[16], gid[16];

	snprintf(number, sizeof number, "%d", device);
	snprintf(uid, sizeof uid, "%u", (unsigned)owner);
	snprintf(gid, sizeof gid, "%u", (unsigned)group);
	/*
	 * allow_other means everybody in this user namespace and those below it: the runner's
	 * executions have their own.
	 */
	return fsconfig(context, FSCONFIG_SET_STRING, "source", "cordon", 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_STRING, "subtype", "cordon", 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_STRING, "fd", number, 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_STRING, "rootmode", "40000", 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_STRING, "user_id", uid, 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_STRING, "group_id", gid, 0) == 0 &&
			fsconfig(context, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) == 0 &&
			fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0
		? 0
		: -1;
}

static int mount_here(int pidfd, uid_t owner, gid_t group, int fds[2], struct error *err)
{
	int context;

	if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
			"joining the sandbox's user namespace, to mount the view there");
	fds[0] = open_device(err);
	if (fds[0] < 0)
		return -1;
	context = fsopen("fuse", FSOPEN_CLOEXEC);
	if (context < 0)
		return error_set(
			err, FAILURE_FUSE_UNAVAILABLE, errno, "making a file system of type fuse");
	if (configure(context, fds[0], owner, group) != 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
			"making the view's file system in a user namespace");
	fds[1] = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fds[1] < 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno,
			"mounting the view in a user namespace");
	return 0;
}

int mounter_mount(int pidfd, uid_t owner, gid_t group, int *device, int *mount, struct error *err)
{
	struct error inner = ERROR_INIT;
	int pair[2], fds[2] = { -1, -1 };
	size_t count = 0;
	ssize_t got;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the view's sockets");
	child = fork();
	if (child == 0) {
		bool made = mount_here(pidfd, owner, group, fds, &inner) == 0;

		message_send(pair[1], &inner, sizeof inner, fds, made ? 2 : 0);
		_exit(0);
	}
	close(pair[1]);
	got = child < 0 ? -1 : message_receive(pair[0], &inner, sizeof inner, fds, 2, &count);
	close(pair[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (got == sizeof inner && count == 2) {
		*device = fds[0];
		*mount = fds[1];
		return 0;
	}
	if (got == sizeof inner && inner.code != FAILURE_NONE) {
		inner.context[sizeof inner.context - 1] = '\0';
		*err = inner;
		return -1;
	}
	return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
		"starting the process that mounts the view");
}

/* ---- mountinfo ---- */

/*
 * Other paths of an object.
 *
 * A mount shows a file system from some directory on (its root). So the object's path within its
 * file system is the root and what follows the mount point in its path; every other mount of the
 * same file system whose root lies above that shows it as well, unless something is mounted over
 * it: that is why each path is tried.
 */

struct mount_line {
	unsigned long long id;
	unsigned major, minor;
	char root[PATH_MAX], point[PATH_MAX];
};

/* Blanks and the like are written as three octal digits. */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
			at[3] >= '0' && at[3] <= '7') {
			*to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			at += 4;
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
}

/* The next line that can be read. */
static bool next_line(FILE *file, char **text, size_t *size, struct mount_line *line)
{
	while (getline(text, size, file) > 0) {
		/* PATH_MAX is 4096 */
		if (sscanf(*text, "%llu %*u %u:%u %4095s %4095s", &line->id, &line->major,
			    &line->minor, line->root, line->point) != 5)
			continue;
		decode(line->root);
		decode(line->point);
		return true;
	}
	return false;
}

/* What follows top in path, "" or beginning with a slash; NULL when path does not lie there. */
static const char *below(const char *path, const char *top)
{
	size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);

	return strncmp(path, top, length) == 0 && (path[length] == '/' || path[length] == '\0')
		? path + length
		: NULL;
}

static bool leads_to(const char *path, const struct stat *wanted)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino;
}

/*
 * The line of the mount that the object was reached through, and the object's path within the file
 * system.
 */
static bool find_own(FILE *file, char **text, size_t *size, int fd, const char *path,
	struct mount_line *own, char inner[PATH_MAX])
{
	struct statx x;
	const char *rest;

	if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &x) != 0 ||
		!(x.stx_mask & STATX_MNT_ID))
		return false;
	while (next_line(file, text, size, own)) {
		if (own->id != x.stx_mnt_id)
			continue;
		rest = below(path, own->point);
		return rest &&
			snprintf(inner, PATH_MAX, "%s%s",
				strcmp(own->root, "/") == 0 ? "" : own->root, rest) < PATH_MAX;
	}
	return false;
}

int mountinfo_paths(int fd, const char *path, bool *bound, bool *has_mounts, mountinfo_visit *visit,
	void *argument)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	struct mount_line *lines = calloc(2, sizeof *lines);
	char *text = NULL, *inner = malloc(PATH_MAX), *other = malloc(2 * PATH_MAX);
	const char *rest;
	size_t size = 0;
	struct stat st;
	int status = 0;

	*bound = *has_mounts = false;
	if (!file || !lines || !inner || !other || fstat(fd, &st) != 0 ||
		!find_own(file, &text, &size, fd, path, &lines[0], inner))
		goto out;
	*bound = strcmp(lines[0].root, "/") != 0;
	rewind(file);
	while (status == 0 && next_line(file, &text, &size, &lines[1])) {
		const char *further = below(lines[1].point, path);

		*has_mounts |= further && *further == '/' && further[1];
		rest = lines[1].major == lines[0].major && lines[1].minor == lines[0].minor
			? below(inner, lines[1].root)
			: NULL;
		if (!rest)
			continue;
		snprintf(other, 2 * PATH_MAX, "%s%s",
			strcmp(lines[1].point, "/") == 0 && *rest ? "" : lines[1].point, rest);
		if (strcmp(other, path) != 0 && leads_to(other, &st))
			status = visit(argument, other);
	}
out:
	if (file)
		fclose(file);
	free(lines);
	free(text);
	free(inner);
	free(other);
	return status;
}
