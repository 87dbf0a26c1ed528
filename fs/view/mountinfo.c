/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other paths of an object. See mountinfo.h.
 *
 * A mount shows a file system from some directory on (its root). So the object's path within its file system is the root and what follows the mount point in its path;
 * every other mount of the same file system whose root lies above that shows it as well, unless something is mounted over it: that is why each path is tried.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/mountinfo.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
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
		if (sscanf(*text, "%llu %*u %u:%u %4095s %4095s", &line->id, &line->major, &line->minor, line->root, line->point) != 5)
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

	return strncmp(path, top, length) == 0 && (path[length] == '/' || path[length] == '\0') ? path + length : NULL;
}

static bool leads_to(const char *path, const struct stat *wanted)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino;
}

/* The line of the mount that the object was reached through, and the object's path within the file system. */
static bool find_own(FILE *file, char **text, size_t *size, int fd, const char *path, struct mount_line *own, char inner[PATH_MAX])
{
	struct statx x;
	const char *rest;

	if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &x) != 0 || !(x.stx_mask & STATX_MNT_ID))
		return false;
	while (next_line(file, text, size, own)) {
		if (own->id != x.stx_mnt_id)
			continue;
		rest = below(path, own->point);
		return rest && snprintf(inner, PATH_MAX, "%s%s", strcmp(own->root, "/") == 0 ? "" : own->root, rest) < PATH_MAX;
	}
	return false;
}

int mountinfo_paths(int fd, const char *path, bool *bound, bool *has_mounts, mountinfo_visit *visit, void *argument)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	struct mount_line *lines = calloc(2, sizeof *lines);
	char *text = NULL, *inner = malloc(PATH_MAX), *other = malloc(2 * PATH_MAX);
	const char *rest;
	size_t size = 0;
	struct stat st;
	int status = 0;

	*bound = *has_mounts = false;
	if (!file || !lines || !inner || !other || fstat(fd, &st) != 0 || !find_own(file, &text, &size, fd, path, &lines[0], inner))
		goto out;
	*bound = strcmp(lines[0].root, "/") != 0;
	rewind(file);
	while (status == 0 && next_line(file, &text, &size, &lines[1])) {
		const char *further = below(lines[1].point, path);

		*has_mounts |= further && *further == '/' && further[1];
		rest = lines[1].major == lines[0].major && lines[1].minor == lines[0].minor ? below(inner, lines[1].root) : NULL;
		if (!rest)
			continue;
		snprintf(other, 2 * PATH_MAX, "%s%s", strcmp(lines[1].point, "/") == 0 && *rest ? "" : lines[1].point, rest);
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
