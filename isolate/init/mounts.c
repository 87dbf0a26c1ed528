/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor. See mounts.h for the order of things and why it is safe. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int mounts_clone(int fd, bool device, const char *what, struct error *err)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			(device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV),
		.propagation = MS_PRIVATE,
	};
	int tree = open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "cloning the mount of %s", what);
	/* A device node on a read-only mount still takes writes: they go to the device. */
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) !=
		0) {
		error_set(err, FAILURE_MOUNT_DENIED, errno, "making %s read-only", what);
		close(tree);
		return -1;
	}
	return tree;
}

/* Passes "key=value,key" to fsconfig(2), one by one. */
static int configure(int context, const char *options)
{
	char key[64];

	while (*options) {
		size_t length = strcspn(options, ",");
		char *value;

		if (length >= sizeof key) {
			errno = EINVAL;
			return -1;
		}
		memcpy(key, options, length);
		key[length] = '\0';
		value = strchr(key, '=');
		if (value)
			*value++ = '\0';
		if (fsconfig(context, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, value,
			    0) != 0)
			return -1;
		options += length + (options[length] == ',');
	}
	return fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int mounts_new(const char *type, const char *options, unsigned attributes, struct error *err)
{
	bool is_proc = strcmp(type, "proc") == 0;
	int context = fsopen(type, FSOPEN_CLOEXEC), tree = -1;

	if (context < 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"opening a new file system of type %s", type);
	if (configure(context, options) != 0)
		error_set(err, FAILURE_MOUNT_DENIED, errno, "making a %s (%s)", type, options);
	else if ((tree = fsmount(context, FSMOUNT_CLOEXEC, attributes)) < 0)
		/*
		 * The kernel's only reason to refuse a fresh proc here: the visible one is covered
		 * in part (mount_too_revealing).
		 */
		error_set(err,
			is_proc && errno == EPERM ? FAILURE_PROC_MASKED : FAILURE_MOUNT_DENIED,
			errno, "mounting a new %s", type);
	close(context);
	return tree;
}

int mounts_attach(int tree, int dir, const char *name, struct error *err)
{
	int status = 0, target = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (target < 0)
		status = error_set(
			err, FAILURE_MOUNT_DENIED, errno, "opening the mount point /%s", name);
	else if (move_mount(tree, "", target, "",
			 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		status = error_set(
			err, FAILURE_MOUNT_DENIED, errno, "attaching the mount at /%s", name);
	if (target >= 0)
		close(target);
	close(tree);
	return status;
}

/*
 * The same without openat2(2), which a service manager's filter refuses (RestrictSUIDSGID=). The
 * first process of the sandbox is alone while it builds the root, so it can have that for its own
 * root meanwhile.
 */
static int open_in_root(int root, const char *path, int flags, mode_t mode)
{
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
	    here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, error = 0;

	if (top < 0 || here < 0 || fchdir(root) != 0) {
		error = errno;
	} else {
		if (chroot(".") != 0 || (fd = open(path, flags | O_CLOEXEC, mode)) < 0)
			error = errno;
		/* What is left in a root that was only borrowed must not go on. */
		if (fchdir(top) != 0 || chroot(".") != 0 || fchdir(here) != 0)
			abort();
	}
	if (top >= 0)
		close(top);
	if (here >= 0)
		close(here);
	errno = error;
	return fd;
}

int mounts_open(int root, const char *path, int flags, mode_t mode)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd;

	do
		fd = syscall(SYS_openat2, root, path, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 && errno == ENOSYS ? open_in_root(root, path, flags, mode) : (int)fd;
}

static int make_directory(int parent, const char *name)
{
	return mkdirat(parent, name, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

int mounts_open_parent(int root, const char *path, const char **name, struct error *err)
{
	const char *slash = strrchr(path, '/'), *last;
	char above[PATH_MAX];
	int parent, fd;

	*name = slash ? slash + 1 : path;
	if (slash && (size_t)(slash - path) >= sizeof above)
		return error_set(
			err, FAILURE_BAD_OPTION, ENAMETOOLONG, "the path %.64s... inside", path);
	snprintf(above, sizeof above, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
		slash && slash > path ? path : "/");
	fd = mounts_open(root, above, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT || strcmp(above, "/") == 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "opening /%s inside", above);
	parent = mounts_open_parent(root, above, &last, err);
	if (parent < 0)
		return -1;
	if (make_directory(parent, last) != 0 ||
		(fd = mounts_open(root, above, O_PATH | O_DIRECTORY, 0)) < 0)
		error_set(
			err, FAILURE_MOUNT_DENIED, errno, "making the directory /%s inside", above);
	close(parent);
	return fd;
}

/* The place for one bind: an existing object, or a new empty one of the right kind. */
static int make_place(int root, const char *path, bool is_directory, struct error *err)
{
	const char *name;
	int fd = -1, error, parent = mounts_open_parent(root, path, &name, err);

	if (parent < 0)
		return -1;
	if (!is_directory)
		fd = openat(
			parent, name, O_CREAT | O_EXCL | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0444);
	else if (mkdirat(parent, name, 0755) == 0)
		fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	if (fd < 0 && (fd = mounts_open(root, path, O_PATH, 0)) < 0)
		error_set(err, FAILURE_MOUNT_DENIED, error, "making the mount point /%s inside",
			path);
	close(parent);
	return fd;
}

/*
 * The kernel (move_mount(2)) says only EINVAL or ENOTDIR when one is a directory and the other is
 * none.
 */
static int check_kinds(bool is_directory, int place, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(place, &st) != 0 || S_ISDIR(st.st_mode) == is_directory)
		return 0;
	return error_set(err, FAILURE_BAD_OPTION, 0,
		"a %s cannot be shown at /%s, where a %s is; name another place inside with "
		"SRC:DST",
		is_directory ? "directory" : "file", path, is_directory ? "file" : "directory");
}

int mounts_put(int tree, int root, const char *path, struct error *err)
{
	int place = -1, status = -1;
	struct stat st;

	path += strspn(path, "/");
	if (fstat(tree, &st) != 0)
		error_set(err, FAILURE_MOUNT_DENIED, errno, "looking at the mount for /%s", path);
	else if ((place = make_place(root, path, S_ISDIR(st.st_mode), err)) < 0 ||
		check_kinds(S_ISDIR(st.st_mode), place, path, err) < 0)
		status = -1;
	else if (move_mount(tree, "", place, "",
			 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		error_set(err, FAILURE_MOUNT_DENIED, errno, "attaching the mount at /%s", path);
	else
		status = 0;
	if (place >= 0)
		close(place);
	close(tree);
	return status;
}

/*
 * What the program may write: directories of one tmpfs, so that one size bounds them together. The
 * first is attached to its own place last, over the tmpfs that all of them are taken from.
 */
static const struct {
	const char *path, *name;
	mode_t mode;
	unsigned attributes;
} WRITABLE[] = {
	{ "workspace", "workspace", 0700, 0 },
	{ "tmp", "tmp", 01777, 0 },
	{ "var/tmp", "var-tmp", 01777, 0 },
	{ "dev/shm", "shm", 01777, MOUNT_ATTR_NOEXEC },
	{ "home/user", "home", 0700, 0 },
};
#define WRITABLE_COUNT (sizeof WRITABLE / sizeof *WRITABLE)

static int attach_part(int root, int whole, size_t i, struct error *err)
{
	struct mount_attr attributes = { .attr_set = WRITABLE[i].attributes };
	int tree = open_tree(whole, WRITABLE[i].name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 ||
		mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
		error_set(err, FAILURE_MOUNT_DENIED, errno, "making /%s", WRITABLE[i].path);
		if (tree >= 0)
			close(tree);
		return -1;
	}
	return mounts_attach(tree, root, WRITABLE[i].path, err);
}

static int make_writable(int root, const struct confine_limits *limits, struct error *err)
{
	char options[128];
	int tree, whole = -1, status = -1;

	snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0700",
		(unsigned long long)limits->workspace_bytes,
		(unsigned long long)limits->workspace_inodes);
	tree = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (tree >= 0)
		whole = fcntl(tree, F_DUPFD_CLOEXEC, 0);
	if (whole < 0 || mounts_attach(tree, root, WRITABLE[0].path, err) < 0)
		goto out;
	for (size_t i = WRITABLE_COUNT; i-- > 0;) {
		/* mkdirat(2) minds the umask, chmod does not. */
		if (mkdirat(whole, WRITABLE[i].name, 0700) != 0 ||
			fchmodat(whole, WRITABLE[i].name, WRITABLE[i].mode, 0) != 0) {
			error_set(err, FAILURE_MOUNT_DENIED, errno, "making /%s", WRITABLE[i].path);
			goto out;
		}
		if (attach_part(root, whole, i, err) < 0)
			goto out;
	}
	status = 0;
out:
	if (whole >= 0)
		close(whole);
	return status;
}

/* Files of a fresh /proc that are not about the sandbox, each with what stands in its place. */
static const struct {
	const char *path, *stand_in;
} COVERED[] = {
	{ "proc/keys", "dev/null" },          /* the caller's keys, by name */
	{ "proc/key-users", "dev/null" },     /* how many keys each user of the host has */
	{ "proc/latency_stats", "dev/null" }, /* what the host's programs wait for */
	/* the sandbox's memory, where it has less than the host */
	{ "proc/meminfo", MOUNTS_MEMINFO },
};

static int cover(int root, struct error *err)
{
	for (size_t i = 0; i < sizeof COVERED / sizeof *COVERED; i++) {
		int fd, tree;

		if (faccessat(root, COVERED[i].path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		fd = openat(root, COVERED[i].stand_in, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			/*
			 * MOUNTS_MEMINFO is there only where the limit is below what the host has
			 */
			continue;
		tree = mounts_clone(fd, true, COVERED[i].path, err);
		close(fd);
		if (tree < 0 || mounts_attach(tree, root, COVERED[i].path, err) < 0)
			return -1;
	}
	return 0;
}

static int attach_new(int root, const char *name, const char *type, const char *options,
	unsigned attributes, struct error *err)
{
	int tree = mounts_new(type, options, attributes, err);

	return tree < 0 ? -1 : mounts_attach(tree, root, name, err);
}

int mounts_private(int root, const struct confine_limits *limits, struct error *err)
{
	/* The host has 4096 pseudo-terminals for all together (pty(7)). */
	if (make_writable(root, limits, err) < 0 ||
		attach_new(root, "dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620,max=64",
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0 ||
		attach_new(root, "proc", "proc", "",
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err) < 0)
		return -1;
	/* The kernel lets a further namespace mount its /proc only while this one is whole. */
	return limits->profile == PROFILE_NONE ? 0 : cover(root, err);
}

int mounts_make_private(struct error *err)
{
	/*
	 * The first call that needs a capability, which a security module may have taken from the
	 * namespace.
	 */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return error_set(err,
			errno == EPERM || errno == EACCES ? FAILURE_USERNS_DENIED
							  : FAILURE_MOUNT_DENIED,
			errno,
			"using a capability inside the new user namespace, to make its mounts "
			"private");
	return 0;
}

/* ---- view mount ---- */

/*
 * Taking the parts of a view into a root.
 *
 * All names here are relative to the working directory, which is the new root: an overlay wants its
 * layers as paths, and these can lead nowhere else.
 */

#define STAGE "run/.view"
#define UPPER "run/.upper"

int view_stage(int root, int mount, struct error *err)
{
	if (fchdir(root) != 0 || mkdirat(root, STAGE, 0700) != 0 ||
		mkdirat(root, UPPER, 0700) != 0) {
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
		return error_set(err, errno == ENOTCONN ? FAILURE_VIEW_LOST : FAILURE_MOUNT_DENIED,
			errno, "taking %s out of the view", what);
	return tree;
}

/* A tmpfs of its own for each: what is written there counts against its size alone. */
static int make_upper(const struct confine_limits *limits, struct error *err)
{
	char options[96];
	int tree;

	snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0700",
		(unsigned long long)limits->workspace_bytes,
		(unsigned long long)limits->workspace_inodes);
	tree = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (tree < 0 || mounts_attach(tree, AT_FDCWD, UPPER, err) < 0)
		return -1;
	if (mkdir(UPPER "/upper", 0755) != 0 || mkdir(UPPER "/work", 0700) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"making the directories that receive what is written");
	return 0;
}

int view_take_scratch(uint32_t number, const struct confine_limits *limits, const char *what,
	int *upper, struct error *err)
{
	char options[160];
	struct stat st;
	int tree;

	snprintf(options, sizeof options, STAGE "/%u", number);
	if (stat(options, &st) != 0)
		return error_set(
			err, FAILURE_MOUNT_DENIED, errno, "taking %s out of the view", what);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, FAILURE_BAD_OPTION, ENOTDIR,
			"--scratch takes directories, and %s is a file", what);
	if (make_upper(limits, err) < 0)
		return -1;
	*upper = open(UPPER "/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*upper < 0 || fchmod(*upper, st.st_mode & 0777) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"opening the directory that receives what is written");
	/*
	 * xino: one device number, and inode numbers of directories that survive the kernel's
	 * caches.
	 */
	snprintf(options, sizeof options,
		"lowerdir=" STAGE "/%u,upperdir=" UPPER "/upper,workdir=" UPPER
		"/work,userxattr,xino=on",
		number);
	tree = mounts_new("overlay", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	/* The overlay holds its layers by itself. */
	if (umount2(UPPER, MNT_DETACH) != 0 && tree >= 0) {
		close(tree);
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"taking the staging place of %s away", what);
	}
	return tree;
}

int view_unstage(struct error *err)
{
	if (umount2(STAGE, MNT_DETACH) != 0 || rmdir(STAGE) != 0 || rmdir(UPPER) != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"taking the staging place of the view away");
	return 0;
}
