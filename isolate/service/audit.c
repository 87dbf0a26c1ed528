/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log. See audit.h.
 *
 * A write that comes back short (a full disk) is taken back with ftruncate(2), so no line is ever half there. The lock is on a file of its own beside the log, since
 * the log itself is renamed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/service/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/events/emitter.h"
#include "isolate/service/line.h"

struct audit {
	char path[PATH_MAX - 16];
	int fd, lock;
	uint64_t length, size, next, failed;
	unsigned keep;
};

bool audit_default_path(char *out, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length = -1;

	if (state && state[0] == '/')
		length = snprintf(out, size, "%s/cordon/events.ndjson", state);
	else if (home && home[0] == '/')
		length = snprintf(out, size, "%s/.local/state/cordon/events.ndjson", home);
	return length > 0 && (size_t)length < size;
}

/* Every directory above the file. One that is there already is left as it is. */
static int make_directories(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* The number of the last whole line among the last bytes of the file, and the length up to its newline. */
static bool read_tail(int fd, off_t file_length, off_t *whole, uint64_t *last)
{
	static char tail[2 * EMITTER_LINE_MAX];
	off_t from = file_length > (off_t)sizeof tail ? file_length - (off_t)sizeof tail : 0;
	ssize_t got = pread(fd, tail, sizeof tail, from);
	const char *end, *start;
	struct event_line line;

	*whole = from;
	if (got <= 0)
		return false;
	end = memrchr(tail, '\n', (size_t)got);
	if (!end)
		return false;
	*whole = from + (end - tail) + 1;
	start = memrchr(tail, '\n', (size_t)(end - tail));
	start = start ? start + 1 : tail;
	if (!event_line_read(start, (size_t)(end - start), &line))
		return false;
	*last = line.sequence;
	return true;
}

static int open_file(struct audit *a)
{
	struct stat st;

	a->fd = open(a->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->fd < 0 || fstat(a->fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	a->length = (uint64_t)st.st_size;
	return 0;
}

/* Where the numbers go on. After a rotation the file may be empty: then the one before it knows. */
static int find_end(struct audit *a)
{
	char older[PATH_MAX];
	off_t whole = 0, ignored;
	uint64_t last;
	struct stat st;
	int fd;

	if (read_tail(a->fd, (off_t)a->length, &whole, &last))
		a->next = last + 1;
	if (whole < (off_t)a->length) {
		if (ftruncate(a->fd, whole) != 0)
			return -1;
		a->length = (uint64_t)whole;
	}
	if (a->length > 0)
		return 0;
	snprintf(older, sizeof older, "%s.1", a->path);
	fd = open(older, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && read_tail(fd, st.st_size, &ignored, &last))
		a->next = last + 1;
	close(fd);
	return 0;
}

struct audit *audit_open(const char *path, uint64_t size, unsigned keep, struct error *err)
{
	struct audit *a = calloc(1, sizeof *a);
	char lock[PATH_MAX];

	if (!a) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "opening the audit log");
		return NULL;
	}
	a->fd = a->lock = -1;
	a->size = size;
	a->keep = keep;
	a->next = 1;
	snprintf(a->path, sizeof a->path, "%s", path);
	snprintf(lock, sizeof lock, "%s.lock", a->path);
	if (make_directories(path) == 0)
		a->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->lock < 0) {
		error_set(err, FAILURE_PATH_MISSING, errno, "opening the audit log %s", path);
	} else if (flock(a->lock, LOCK_EX | LOCK_NB) != 0) {
		error_set(err, FAILURE_DAEMON_RUNNING, errno, "another daemon writes the audit log %s", path);
	} else if (open_file(a) < 0 || find_end(a) < 0) {
		error_set(err, FAILURE_PATH_MISSING, errno, "opening the audit log %s", path);
	} else {
		return a;
	}
	audit_close(a);
	return NULL;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	if (a->lock >= 0)
		close(a->lock);
	free(a);
}

static void rotate(struct audit *a)
{
	char from[PATH_MAX], to[PATH_MAX];
	int before = a->fd;

	for (unsigned n = a->keep; n > 0; n--) {
		snprintf(to, sizeof to, "%s.%u", a->path, n);
		snprintf(from, sizeof from, n > 1 ? "%s.%u" : "%s", a->path, n - 1);
		if (rename(from, to) != 0 && errno != ENOENT)
			return; /* goes on in the same file */
	}
	if (a->keep == 0 && unlink(a->path) != 0)
		return;
	if (open_file(a) < 0) {
		if (a->fd >= 0)
			close(a->fd);
		a->fd = before;
		return;
	}
	close(before);
}

void audit_write(struct audit *a, const char *lines, size_t length, uint64_t next)
{
	ssize_t wrote;

	if (a->size > 0 && a->length > 0 && a->length + length > a->size)
		rotate(a);
	do
		wrote = write(a->fd, lines, length);
	while (wrote < 0 && errno == EINTR);
	a->next = next;
	if (wrote == (ssize_t)length) {
		a->length += length;
		return;
	}
	if (a->failed++ == 0)
		fprintf(stderr, "cordon serve: the audit log %s cannot be written: %s\n", a->path, wrote < 0 ? error_errno_name(errno) : "no room");
	if (wrote > 0 && ftruncate(a->fd, (off_t)a->length) != 0)
		a->length += (uint64_t)wrote;
}

uint64_t audit_next(const struct audit *a)
{
	return a->next;
}

uint64_t audit_failed_writes(const struct audit *a)
{
	return a->failed;
}
