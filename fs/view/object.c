/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaching the host's objects. See object.h.
 *
 * RESOLVE_BENEATH makes the kernel refuse a way out even when a directory is moved during the walk;
 * it then says EAGAIN, which is tried again a bounded number of times.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef FUSE_CONTROL_MAGIC
#define FUSE_CONTROL_MAGIC 0x65735543
#endif

#define ATTEMPTS 64

/*
 * The same without openat2(2), which a service manager's filter refuses (RestrictSUIDSGID=): name
 * by name, none of them a link or "..", so that there is no way out, either.
 */
static int open_by_steps(int directory, const char *path, int flags)
{
	int at = directory, next = -1;

	for (bool is_last = false; !is_last;) {
		size_t length = strcspn(path, "/");
		char name[NAME_MAX + 1];

		is_last = path[length] == '\0';
		if (length > NAME_MAX) {
			errno = ENAMETOOLONG;
			next = -1;
		} else {
			memcpy(name, path, length);
			name[length] = '\0';
			if (strcmp(name, "..") == 0) {
				errno = EXDEV;
				next = -1;
			} else {
				next = openat(at, name,
					(is_last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW |
						O_CLOEXEC);
			}
		}
		if (at != directory) {
			int saved = errno;

			close(at);
			errno = saved;
		}
		if (next < 0)
			return -1;
		at = next;
		path += length + 1;
	}
	return next;
}

static int open_below(int directory, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;
	int attempts = 0;

	do
		fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
	while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++attempts < ATTEMPTS)));
	return fd < 0 && errno == ENOSYS ? open_by_steps(directory, path, flags) : (int)fd;
}

/* The root itself: a file's or a directory's descriptor once more, with other flags. */
static int reopen(int root, int flags)
{
	struct stat st;
	char path[32];

	if (fstat(root, &st) != 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return open_below(root, ".", flags);
	if (flags & O_PATH)
		return fcntl(root, F_DUPFD_CLOEXEC, 3);
	/* An O_PATH descriptor cannot be opened again but through its own entry in /proc. */
	if (snprintf(path, sizeof path, "/proc/self/fd/%d", root) < 0)
		return -1;
	return open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
}

/* The last slash within the first most bytes, or NULL. */
static const char *last_slash(const char *path, size_t most)
{
	return memrchr(path, '/', most);
}

/*
 * Opens the directory above the last component, and says where that begins. The directory is root
 * itself for a path of one component. *owned: to be closed.
 */
static int open_above(int root, const char *path, const char **name, bool *owned)
{
	int at = root;
	const char *slash;
	char piece[PATH_MAX];

	*owned = false;
	while ((slash = strlen(path) < PATH_MAX - 1 ? strrchr(path, '/')
						    : last_slash(path, PATH_MAX - 2))) {
		size_t length = (size_t)(slash - path);
		int next;

		memcpy(piece, path, length);
		piece[length] = '\0';
		next = open_below(at, piece, O_PATH | O_DIRECTORY);
		if (*owned)
			close(at);
		if (next < 0)
			return -1;
		at = next;
		*owned = true;
		path = slash + 1;
	}
	*name = path;
	return at;
}

int object_open(int root, const char *path, int flags)
{
	const char *name;
	bool owned;
	int above, fd, saved;

	if (!*path)
		return reopen(root, flags);
	if (strlen(path) < PATH_MAX - 1)
		return open_below(root, path, flags);
	above = open_above(root, path, &name, &owned);
	if (above < 0)
		return -1;
	fd = open_below(above, name, flags);
	saved = errno;
	if (owned)
		close(above);
	errno = saved;
	return fd;
}

int object_stat_at(int directory, const char *name, struct stat *st, bool *is_mount)
{
	struct statx x;

	if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &x) !=
		0)
		return -1;
	*is_mount = x.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	*st = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.st_size = (off_t)x.stx_size,
		.st_blksize = x.stx_blksize,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_atim = { x.stx_atime.tv_sec, x.stx_atime.tv_nsec },
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}

int object_stat(int root, const char *path, struct stat *st, bool *is_mount)
{
	const char *name;
	bool owned;
	int above, status, saved;

	*is_mount = false;
	if (!*path)
		return fstat(root, st);
	above = open_above(root, path, &name, &owned);
	if (above < 0)
		return -1;
	status = object_stat_at(above, name, st, is_mount);
	saved = errno;
	if (owned)
		close(above);
	errno = saved;
	return status;
}

bool object_is_of_kernel(int fd)
{
	static const long MAGIC[] = {
		PROC_SUPER_MAGIC,
		SYSFS_MAGIC,
		CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC,
		DEBUGFS_MAGIC,
		TRACEFS_MAGIC,
		SECURITYFS_MAGIC,
		DEVPTS_SUPER_MAGIC,
		BPF_FS_MAGIC,
		MQUEUE_MAGIC,
		CONFIGFS_MAGIC,
		FUSE_CONTROL_MAGIC,
		PSTOREFS_MAGIC,
		EFIVARFS_MAGIC,
		NSFS_MAGIC,
		BINFMTFS_MAGIC,
		SELINUX_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return true;
	for (size_t i = 0; i < sizeof MAGIC / sizeof *MAGIC; i++)
		if ((unsigned long)fs.f_type == (unsigned long)MAGIC[i])
			return true;
	return false;
}

static size_t slot_of(const struct object_set *set, uint64_t dev, uint64_t ino, bool is_directory)
{
	uint64_t h = (ino ^ dev << 40 ^ dev >> 24) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(h >> 20) & (set->capacity - 1);

	while (set->slots[at].used &&
		(set->slots[at].dev != dev || set->slots[at].ino != ino ||
			set->slots[at].is_directory != is_directory))
		at = (at + 1) & (set->capacity - 1);
	return at;
}

static int widen(struct object_set *set)
{
	struct object_set bigger = { .capacity = set->capacity ? 2 * set->capacity : 64,
		.count = set->count };

	bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < set->capacity; i++)
		if (set->slots[i].used)
			bigger.slots[slot_of(&bigger, set->slots[i].dev, set->slots[i].ino,
				set->slots[i].is_directory)] = set->slots[i];
	free(set->slots);
	*set = bigger;
	return 0;
}

int object_set_add(struct object_set *set, uint64_t dev, uint64_t ino, bool is_directory, int rule)
{
	size_t at;

	if (2 * (set->count + 1) > set->capacity && widen(set) < 0)
		return -1;
	at = slot_of(set, dev, ino, is_directory);
	set->count += !set->slots[at].used;
	set->slots[at].used = true;
	set->slots[at].is_directory = is_directory;
	set->slots[at].dev = dev;
	set->slots[at].ino = ino;
	set->slots[at].rule = rule;
	return 0;
}

int object_set_find(const struct object_set *set, uint64_t dev, uint64_t ino, bool is_directory)
{
	size_t at;

	if (set->count == 0)
		return -2;
	at = slot_of(set, dev, ino, is_directory);
	return set->slots[at].used ? set->slots[at].rule : -2;
}

int object_set_join(struct object_set *set, const struct object_set *other)
{
	for (size_t i = 0; i < other->capacity; i++)
		if (other->slots[i].used &&
			object_set_add(set, other->slots[i].dev, other->slots[i].ino,
				other->slots[i].is_directory, other->slots[i].rule) < 0)
			return -1;
	return 0;
}

void object_set_free(struct object_set *set)
{
	free(set->slots);
	*set = (struct object_set){ 0 };
}
