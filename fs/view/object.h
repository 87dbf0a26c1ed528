/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaching the host's objects: openat2(2) below a descriptor of a named tree's root, never through
 * a link, never out of it.
 *
 * The root descriptor is opened once, before anything is served; nothing is ever reached by an
 * absolute path. A path longer than the kernel takes at a time is gone through in pieces.
 */
#ifndef CORDON_FS_VIEW_OBJECT_H
#define CORDON_FS_VIEW_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Longest path below a root; as deep as the tests of deep trees go and far beyond any real one. */
#define OBJECT_PATH_MAX 32768

/*
 * Opens path below root ("" is root itself; root may then be a file). flags as in open(2), without
 * O_CREAT. Returns a descriptor, or -1 with errno: ELOOP for a link on the way, EXDEV for what
 * would lead out.
 */
int object_open(int root, const char *path, int flags);

/*
 * lstat(2) of the same. *is_mount: something is mounted at this name, so that it may be the second
 * name of an object. 0, or -1 with errno.
 */
int object_stat(int root, const char *path, struct stat *st, bool *is_mount);
/* The same for a name in an open directory. */
int object_stat_at(int directory, const char *name, struct stat *st, bool *is_mount);

/*
 * Whether the file system of an open object (O_PATH too) shows the kernel or its devices and not
 * files: proc, sysfs and their like.
 */
bool object_is_of_kernel(int fd);

/*
 * A growing set of objects by device and number. A directory is never taken for a file that had its
 * number before.
 */
struct object_set {
	struct {
		uint64_t dev, ino;
		int32_t rule;
		bool used, is_directory;
	} * slots;
	size_t capacity, count;
};

/* Adds one, with the rule that hides it. Returns 0, or -1 without memory. */
int object_set_add(struct object_set *set, uint64_t dev, uint64_t ino, bool is_directory, int rule);
/* The rule of an object, or -2 when it is not in the set. */
int object_set_find(const struct object_set *set, uint64_t dev, uint64_t ino, bool is_directory);
/* Adds all of another. 0, or -1 without memory. */
int object_set_join(struct object_set *set, const struct object_set *other);
void object_set_free(struct object_set *set);

#endif
