/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of a sandbox. See root.h.
 *
 * Nothing is ever made in a host directory: the root is a detached tmpfs whose tree grows by
 * descriptors, with RESOLVE_IN_ROOT, so that no link in what is shown can lead a mount outside.
 * Sources are opened once, by the descriptor that is then cloned: there is no path to race with.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/root.h"

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

#include "fs/export/workspace.h"
#include "isolate/init/mounts.h"
#include "isolate/init/privileges.h"
#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"

static const char *const DEVICES[] = { "null", "zero", "full", "random", "urandom", "tty" };
#define DEVICE_COUNT (sizeof DEVICES / sizeof *DEVICES)

static const char *const DIRECTORIES[] = {
	"proc",
	"dev",
	"dev/pts",
	"dev/shm",
	"tmp",
	"var",
	"var/tmp",
	"workspace",
	"home",
	"home/user",
	"etc",
	"run",
};

static const struct {
	const char *name, *target;
} LINKS[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
};

/*
 * A host path, opened: a detached tree to attach, or a symbolic link to repeat; or one to be taken
 * out of the view.
 */
struct source {
	int tree;
	char *link;
	bool of_view;
};

static int open_source(
	const struct plan *p, const struct plan_bind *bind, struct source *s, struct error *err)
{
	const char *path = packed_string(p, bind->source);
	bool like_host = bind->flags & PLAN_BIND_LIKE_HOST;
	int fd = open(path, O_PATH | O_CLOEXEC | (like_host ? O_NOFOLLOW : 0)), status = 0;
	char target[PATH_MAX];
	struct stat st;

	if (fd < 0 && (bind->flags & PLAN_BIND_OPTIONAL))
		return 0;
	if (fd < 0)
		return error_set(
			err, FAILURE_PATH_MISSING, errno, "opening %s, to show it read-only", path);
	if (fstat(fd, &st) != 0) {
		status = error_set(err, FAILURE_PATH_MISSING, errno, "looking at %s", path);
	} else if (S_ISLNK(st.st_mode)) {
		ssize_t length = readlinkat(fd, "", target, sizeof target - 1);

		if (length > 0)
			target[length] = '\0';
		s->link = length > 0 ? strdup(target) : NULL;
		if (!s->link)
			status = error_set(
				err, FAILURE_PATH_MISSING, errno, "reading the link %s", path);
	} else if (bind->flags & PLAN_BIND_SOCKET && !S_ISSOCK(st.st_mode)) {
		status = error_set(err, FAILURE_BAD_INPUT, 0,
			"%s is no UNIX socket; --host-socket shows one, and --ro files and "
			"directories",
			path);
	} else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) &&
		!(bind->flags & PLAN_BIND_SOCKET)) {
		status = error_set(err, FAILURE_BAD_INPUT, 0,
			"%s is neither a file nor a directory, and only those can be shown", path);
	} else if (bind->flags & PLAN_BIND_VIEW) {
		s->of_view = true;
	} else {
		s->tree = mounts_clone(fd, false, path, err);
		status = s->tree < 0 ? -1 : 0;
	}
	close(fd);
	return status;
}

static int open_devices(int *trees, struct error *err)
{
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		char path[32];
		int fd;

		snprintf(path, sizeof path, "/dev/%s", DEVICES[i]);
		fd = open(path, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return error_set(
				err, FAILURE_PATH_MISSING, errno, "opening the device %s", path);
		trees[i] = mounts_clone(fd, true, path, err);
		close(fd);
		if (trees[i] < 0)
			return -1;
	}
	return 0;
}

static int attach_source(int root, const char *target, struct source *s, struct error *err)
{
	const char *path = target + strspn(target, "/");
	const char *name;
	int status = 0, parent;

	if (s->link) {
		parent = mounts_open_parent(root, path, &name, err);
		if (parent < 0)
			return -1;
		if (symlinkat(s->link, parent, name) != 0 && errno != EEXIST)
			status = error_set(err, FAILURE_MOUNT_DENIED, errno,
				"making the link /%s inside", path);
		close(parent);
		return status;
	}
	if (s->tree < 0)
		return 0;
	status = mounts_put(s->tree, root, path, err);
	s->tree = -1;
	return status;
}

static int take_from_view(const struct plan *p, const struct plan_bind *bind, struct source *s,
	struct root_output *out, struct error *err)
{
	const char *what = packed_string(p, bind->source);

	if (!s->of_view)
		return 0;
	if (!(bind->flags & PLAN_BIND_SCRATCH)) {
		s->tree = view_take(bind->view, what, err);
	} else if (out->scratch_count < PLAN_SCRATCH_MAX) {
		s->tree = view_take_scratch(
			bind->view, &p->limits, what, &out->scratch[out->scratch_count], err);
		out->scratch_count += out->scratch[out->scratch_count] >= 0;
	} else {
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--scratch was given more than %d times", PLAN_SCRATCH_MAX);
	}
	return s->tree < 0 ? -1 : 0;
}

static int make_file(
	int root, const char *path, const char *content, size_t length, struct error *err)
{
	_cleanup_close_ int parent = -1, fd = -1;
	const char *name;

	path += strspn(path, "/");
	parent = mounts_open_parent(root, path, &name, err);
	if (parent < 0)
		return -1;
	fd = openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return error_set(
			err, FAILURE_MOUNT_DENIED, errno, "making the file /%s inside", path);
	return write_all(fd, content, length) < 0
		? error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "writing the file /%s inside",
			  path)
		: 0;
}

/* Directories, links and devices that every root has. */
static int furnish(int root, int *devices, struct error *err)
{
	for (size_t i = 0; i < sizeof DIRECTORIES / sizeof *DIRECTORIES; i++)
		if (mkdirat(root, DIRECTORIES[i], 0755) != 0)
			return error_set(err, FAILURE_MOUNT_DENIED, errno, "making /%s inside",
				DIRECTORIES[i]);
	for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
		if (symlinkat(LINKS[i].target, root, LINKS[i].name) != 0)
			return error_set(err, FAILURE_MOUNT_DENIED, errno,
				"making the link /%s inside", LINKS[i].name);
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		char name[32];
		int fd;

		snprintf(name, sizeof name, "dev/%s", DEVICES[i]);
		fd = openat(root, name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);
		if (fd < 0)
			return error_set(
				err, FAILURE_MOUNT_DENIED, errno, "making /%s inside", name);
		close(fd);
		if (mounts_attach(devices[i], root, name, err) < 0)
			return -1;
	}
	return 0;
}

static int pivot(int root, struct error *err)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

	if (fchdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno,
			"making the sandbox's root the only one%s",
			errno == EINVAL ? " (the host's root is no mount: an initramfs?)" : "");
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return error_set(err, FAILURE_MOUNT_DENIED, errno, "letting go of the host's root");
	if (mount_setattr(root, "", AT_EMPTY_PATH, &read_only, sizeof read_only) != 0)
		return error_set(
			err, FAILURE_MOUNT_DENIED, errno, "making the sandbox's root read-only");
	return 0;
}

/*
 * The host replaced a file after it was opened (a package was installed), and what is deleted
 * cannot be mounted.
 */
static bool was_replaced(const struct plan_bind *bind, struct error *err)
{
	if (!(bind->flags & PLAN_BIND_OPTIONAL) || err->sys_errno != ENOENT)
		return false;
	*err = (struct error)ERROR_INIT;
	return true;
}

/* Fills the root; the ids have been taken, so what is made here belongs to the program's user. */
static int fill(int root, const struct plan *p, const int *fds, struct source *sources,
	int *devices, struct root_output *out, struct error *err)
{
	const struct plan_file *files = packed_rows(p, p->files);
	const struct plan_bind *binds = packed_rows(p, p->binds);

	if (furnish(root, devices, err) < 0)
		return -1;
	for (uint32_t i = 0; i < p->files.count; i++)
		if (make_file(root, packed_string(p, files[i].path),
			    packed_string(p, files[i].content), files[i].content.length, err) < 0)
			return -1;
	if (mounts_private(root, &p->limits, err) < 0)
		return -1;
	if (p->view_fd_index >= 0 && view_stage(root, fds[p->view_fd_index], err) < 0)
		return -1;
	for (uint32_t i = 0; i < p->binds.count; i++)
		if (take_from_view(p, &binds[i], &sources[i], out, err) < 0 ||
			(attach_source(root, packed_string(p, binds[i].target), &sources[i], err) <
					0 &&
				!was_replaced(&binds[i], err)))
			return -1;
	return p->view_fd_index >= 0 ? view_unstage(err) : 0;
}

int root_build(const struct plan *p, const int *fds, struct root_output *out, uint32_t *layers,
	struct error *err)
{
	const struct plan_bind *binds = packed_rows(p, p->binds);
	struct source *sources = calloc(p->binds.count + 1, sizeof *sources);
	int devices[DEVICE_COUNT], tree, root = -1, workspace = -1;
	char options[64];

	*out = (struct root_output){ .scratch_count = 0 };
	for (size_t i = 0; i < PLAN_SCRATCH_MAX; i++)
		out->scratch[i] = -1;
	if (!sources)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "building the root");
	if (mounts_make_private(err) < 0)
		goto out;
	for (uint32_t i = 0; i < p->binds.count; i++) {
		sources[i].tree = -1;
		if (open_source(p, &binds[i], &sources[i], err) < 0)
			goto out;
	}
	if (open_devices(devices, err) < 0 ||
		privileges_become(p->inside_uid, p->inside_gid, err) < 0)
		goto out;
	snprintf(options, sizeof options, "size=%u,nr_inodes=4096,mode=0755", p->root_bytes);
	tree = mounts_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (tree < 0)
		goto out;
	if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0) {
		error_set(err, FAILURE_MOUNT_DENIED, errno, "attaching the new root");
		goto out;
	}
	root = tree;
	if (fill(root, p, fds, sources, devices, out, err) < 0 || pivot(root, err) < 0)
		goto out;
	workspace = open("/workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (workspace < 0)
		error_set(err, FAILURE_MOUNT_DENIED, errno, "opening the workspace");
	else
		*layers |= LAYER_OWN_ROOT;
out:
	if (root >= 0)
		close(root);
	for (uint32_t i = 0; i < p->binds.count; i++)
		free(sources[i].link);
	free(sources);
	return workspace;
}
