/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding our own files. See locate.h.
 *
 * The environment variable is the caller's word about the caller's own files, as PATH is; cordon
 * has no privileges to be tricked out of.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/locate.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PKGLIBEXECDIR
#define PKGLIBEXECDIR "/usr/local/libexec/cordon"
#endif

static const struct {
	const char *name, *in_build_tree;
	int access;
} FILES[] = {
	[OWN_INIT] = { "cordon-init", "cordon-init", X_OK },
	[OWN_VIEW] = { "cordon-view", "cordon-view", X_OK },
	[OWN_OPERATE] = { "cordon-operate", "cordon-operate", X_OK },
	[OWN_RUNNER] = { "_cordon.so", ".libs/_cordon.so", R_OK },
};

static bool try_path(char *path, size_t size, const char *directory, const char *name, int mode)
{
	int length = snprintf(path, size, "%s/%s", directory, name);

	return length > 0 && (size_t)length < size && directory[0] == '/' &&
		access(path, mode) == 0;
}

/* The directory of the running executable, or "" when the kernel does not say. */
static void own_directory(char *directory, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", directory, size - 1);
	char *slash;

	directory[length > 0 ? length : 0] = '\0';
	slash = strrchr(directory, '/');
	if (slash)
		*slash = '\0';
}

int locate(enum own_file which, char *path, size_t size, struct error *err)
{
	const char *named = getenv("CORDON_LIBEXECDIR");
	char beside[PATH_MAX];

	if (named && *named) {
		if (try_path(path, size, named, FILES[which].name, FILES[which].access) ||
			try_path(
				path, size, named, FILES[which].in_build_tree, FILES[which].access))
			return 0;
		return error_set(err, FAILURE_HELPER_MISSING, 0,
			"%s is not in %s (CORDON_LIBEXECDIR)", FILES[which].name, named);
	}
	own_directory(beside, sizeof beside);
	if (try_path(path, size, beside, FILES[which].in_build_tree, FILES[which].access) ||
		try_path(path, size, PKGLIBEXECDIR, FILES[which].name, FILES[which].access))
		return 0;
	return error_set(err, FAILURE_HELPER_MISSING, 0,
		"%s is neither beside the program (%.100s) nor in %s", FILES[which].name, beside,
		PKGLIBEXECDIR);
}
