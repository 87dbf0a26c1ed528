/* SPDX-License-Identifier: Apache-2.0 */
/* Making the mount of a view. See mounter.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
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
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "opening /dev/fuse: the rules for devices of this container or unit refuse it");
	if (errno == EACCES)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "opening /dev/fuse: it must be readable and writable for everybody, as udev makes it (chmod 666 /dev/fuse)");
	return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "opening /dev/fuse: load the module (modprobe fuse), or pass the device on");
}

static int configure(int context, int device, const struct confine_limits *limits)
{
	char number[16], uid[16], gid[16];

	snprintf(number, sizeof number, "%d", device);
	snprintf(uid, sizeof uid, "%u", (unsigned)limits->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)limits->gid);
	/* allow_other means everybody in this user namespace and those below it: the runner's executions have their own. */
	return fsconfig(context, FSCONFIG_SET_STRING, "source", "cordon", 0) == 0 && fsconfig(context, FSCONFIG_SET_STRING, "subtype", "cordon", 0) == 0 &&
	       fsconfig(context, FSCONFIG_SET_STRING, "fd", number, 0) == 0 && fsconfig(context, FSCONFIG_SET_STRING, "rootmode", "40000", 0) == 0 &&
	       fsconfig(context, FSCONFIG_SET_STRING, "user_id", uid, 0) == 0 && fsconfig(context, FSCONFIG_SET_STRING, "group_id", gid, 0) == 0 &&
	       fsconfig(context, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) == 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0 ? 0 : -1;
}

static int mount_here(int pidfd, const struct confine_limits *limits, int fds[2], struct error *err)
{
	int context;

	if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "joining the sandbox's user namespace, to mount the view there");
	fds[0] = open_device(err);
	if (fds[0] < 0)
		return -1;
	context = fsopen("fuse", FSOPEN_CLOEXEC);
	if (context < 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "making a file system of type fuse");
	if (configure(context, fds[0], limits) != 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "making the view's file system in a user namespace");
	fds[1] = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fds[1] < 0)
		return error_set(err, FAILURE_FUSE_UNAVAILABLE, errno, "mounting the view in a user namespace");
	return 0;
}

int mounter_mount(int pidfd, const struct confine_limits *limits, int *device, int *mount, struct error *err)
{
	struct error inner = ERROR_INIT;
	int pair[2], fds[2] = { -1, -1 };
	size_t count = 0;
	ssize_t got;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "making the view's sockets");
	child = fork();
	if (child == 0) {
		bool made = mount_here(pidfd, limits, fds, &inner) == 0;

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
	return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "starting the process that mounts the view");
}
