/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the parts of a view into a root. See view_mount.h.
 *
 * All names here are relative to the working directory, which is the new root: an overlay wants its layers as paths, and these can lead nowhere else.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/view_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/init/mounts.h"

#define STAGE "run/.view"
#define UPPER "run/.upper"

int view_stage(int root, int mount, struct error *err)
{
	if (fchdir(root) != 0 || mkdirat(root, STAGE, 0700) != 0 || mkdirat(root, UPPER, 0700) != 0) {
		close(mount);
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "making the place for the view");
	}
	return mounts_attach(mount, root, STAGE, err);
}

int view_take(uint32_t number, const char *what, struct error *err)
{
	char path[32];
	int tree;

	snprintf(path, sizeof path, STAGE "/%u", number);
	tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0)
		return error_set(err, errno == ENOTCONN ? FAILURE_VIEW_LOST : FAILURE_MOUNT_DENIED, errno, "taking %s out of the view", what);
	return tree;
}

/* A tmpfs of its own for each: what is written there counts against its size alone. */
static int make_upper(const struct confine_limits *limits, struct error *err)
{
	char options[96];
	int tree;

	snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0700", (unsigned long long)limits->workspace_bytes,
		 (unsigned long long)limits->workspace_inodes);
	tree = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (tree < 0 || mounts_attach(tree, AT_FDCWD, UPPER, err) < 0)
		return -1;
	if (mkdir(UPPER "/upper", 0755) != 0 || mkdir(UPPER "/work", 0700) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "making the directories that receive what is written");
	return 0;
}

int view_take_scratch(uint32_t number, const struct confine_limits *limits, const char *what, int *upper, struct error *err)
{
	char options[160];
	struct stat st;
	int tree;

	snprintf(options, sizeof options, STAGE "/%u", number);
	if (stat(options, &st) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "taking %s out of the view", what);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, FAILURE_BAD_OPTION, ENOTDIR, "--scratch takes directories, and %s is a file", what);
	if (make_upper(limits, err) < 0)
		return -1;
	*upper = open(UPPER "/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*upper < 0 || fchmod(*upper, st.st_mode & 0777) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "opening the directory that receives what is written");
	/* xino: one device number, and inode numbers of directories that survive the kernel's caches. */
	snprintf(options, sizeof options, "lowerdir=" STAGE "/%u,upperdir=" UPPER "/upper,workdir=" UPPER "/work,userxattr,xino=on",
		 number);
	tree = mounts_new("overlay", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	/* The overlay holds its layers by itself. */
	if (umount2(UPPER, MNT_DETACH) != 0 && tree >= 0) {
		close(tree);
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "taking the staging place of %s away", what);
	}
	return tree;
}

int view_unstage(struct error *err)
{
	if (umount2(STAGE, MNT_DETACH) != 0 || rmdir(STAGE) != 0 || rmdir(UPPER) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "taking the staging place of the view away");
	return 0;
}
