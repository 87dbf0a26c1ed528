/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log. See audit.h.
 *
 * A write that comes back short (a full disk) is taken back with ftruncate(2), so no line is ever
 * half there. The lock is on a file of its own beside the log, since the log itself is renamed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/monitor/emitter.h"
#include "isolate/daemon/line.h"

struct log_file {
	char path[PATH_MAX - 16];
	int fd;
	uint64_t length;
};

struct audit {
	struct log_file log;
	struct log_file decisions; /* those of the log, once more */
	int lock;
	uint64_t size, next, failed;
	uint64_t missing;  /* the first number that could not be written; 0: none */
	bool no_decisions; /* they cannot be written, which was said */
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

/*
 * The last line of a file that is an event: its number, and where it ends (*whole; 0 when there is
 * none). What stands behind it was being written when the daemon or the machine went down, or is no
 * line of ours.
 */
static bool find_last(int fd, off_t length, off_t *whole, uint64_t *last)
{
	const char *text =
		length > 0 ? mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	size_t end = (size_t)length;
	bool found = false;

	*whole = 0;
	if (text == MAP_FAILED)
		return false;
	for (const char *newline; !found && (newline = memrchr(text, '\n', end));
		end = (size_t)(newline - text)) {
		const char *before = memrchr(text, '\n', (size_t)(newline - text)),
			   *start = before ? before + 1 : text;
		struct event_line line;

		if ((size_t)(newline - start) >= EMITTER_LINE_MAX ||
			!event_line_read(start, (size_t)(newline - start), &line))
			continue;
		*last = line.sequence;
		*whole = newline - text + 1;
		found = true;
	}
	munmap((void *)(uintptr_t)text, (size_t)length);
	return found;
}

static int open_file(struct log_file *f)
{
	struct stat st;

	f->fd = open(f->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (f->fd < 0 || fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	f->length = (uint64_t)st.st_size;
	return 0;
}

/* The last number in the older files, newest first. */
static bool find_in_older(const struct audit *a, uint64_t *last)
{
	bool found = false;

	for (unsigned n = 1; n <= a->keep && !found; n++) {
		char older[PATH_MAX];
		off_t ignored;
		struct stat st;
		int fd;

		snprintf(older, sizeof older, "%s.%u", a->log.path, n);
		fd = open(older, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			break;
		found = fstat(fd, &st) == 0 && find_last(fd, st.st_size, &ignored, last);
		close(fd);
	}
	return found;
}

/*
 * Cuts what is behind the last event, which is said. Returns 1 with that one's number, 0 where
 * there is none, or -1.
 */
static int find_end(struct log_file *f, uint64_t *last)
{
	off_t whole = 0;
	bool found = find_last(f->fd, (off_t)f->length, &whole, last);

	if (whole < (off_t)f->length) {
		fprintf(stderr,
			"cordon serve: %llu bytes at the end of the log %s are no whole event, and "
			"are cut\n",
			(unsigned long long)f->length - (unsigned long long)whole, f->path);
		if (ftruncate(f->fd, whole) != 0)
			return -1;
		f->length = (uint64_t)whole;
	}
	return found;
}

/*
 * Where the numbers go on; they never go back. After a rotation the file may be empty: then the
 * ones before it know.
 */
static int find_ends(struct audit *a)
{
	uint64_t last = 0, decided = 0;
	int found = find_end(&a->log, &last);

	if (found < 0 || find_end(&a->decisions, &decided) < 0)
		return -1;
	if (!found)
		find_in_older(a, &last);
	a->next = (last > decided ? last : decided) + 1;
	return 0;
}

void audit_decisions_path(const char *log, char *out, size_t size)
{
	const char *slash = strrchr(log, '/'), *name = slash ? slash + 1 : log;

	if (strcmp(name, "events.ndjson") == 0)
		snprintf(out, size, "%.*sdecisions.ndjson", (int)(name - log), log);
	else
		snprintf(out, size, "%s.decisions", log);
}

struct audit *audit_open(const char *path, uint64_t size, unsigned keep, struct error *err)
{
	struct audit *a = calloc(1, sizeof *a);
	char lock[PATH_MAX];

	if (!a) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "opening the audit log");
		return NULL;
	}
	a->log.fd = a->decisions.fd = a->lock = -1;
	a->size = size;
	a->keep = keep;
	a->next = 1;
	snprintf(a->log.path, sizeof a->log.path, "%s", path);
	audit_decisions_path(a->log.path, a->decisions.path, sizeof a->decisions.path);
	snprintf(lock, sizeof lock, "%s.lock", a->log.path);
	if (make_directories(path) == 0)
		a->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->lock < 0) {
		error_set(err, FAILURE_PATH_MISSING, errno, "opening the audit log %s", path);
	} else if (flock(a->lock, LOCK_EX | LOCK_NB) != 0) {
		error_set(err, FAILURE_DAEMON_RUNNING, errno,
			"another daemon writes the audit log %s", path);
	} else if (open_file(&a->log) < 0 || open_file(&a->decisions) < 0 || find_ends(a) < 0) {
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
	if (a->log.fd >= 0)
		close(a->log.fd);
	if (a->decisions.fd >= 0)
		close(a->decisions.fd);
	if (a->lock >= 0)
		close(a->lock);
	free(a);
}

/* Begins a new file under the name; where it cannot, the old one goes on. */
static bool begin_anew(struct log_file *f)
{
	int before = f->fd;

	if (open_file(f) == 0) {
		close(before);
		return true;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = before;
	return false;
}

static void rotate(struct audit *a)
{
	char from[PATH_MAX], to[PATH_MAX];
	const char *path = a->log.path;

	for (unsigned n = a->keep; n > 0; n--) {
		snprintf(to, sizeof to, "%s.%u", path, n);
		snprintf(from, sizeof from, n > 1 ? "%s.%u" : "%s", path, n - 1);
		if (rename(from, to) != 0 && errno != ENOENT)
			return; /* goes on in the same file */
	}
	if (a->keep > 0 || unlink(path) == 0)
		begin_anew(&a->log);
}

/* A deleted file cannot be read again: begin a new one. */
static void find_again(struct log_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st) != 0 || st.st_nlink > 0)
		return;
	fprintf(stderr, "cordon serve: the audit log %s was deleted; a new one is begun\n",
		f->path);
	begin_anew(f);
}

/* Appends all of it, or nothing. */
static bool append(struct log_file *f, const char *bytes, size_t length)
{
	ssize_t wrote;

	do
		wrote = write(f->fd, bytes, length);
	while (wrote < 0 && errno == EINTR);
	if (wrote == (ssize_t)length) {
		f->length += length;
		return true;
	}
	if (wrote >= 0)
		errno = ENOSPC;
	if (wrote > 0 && ftruncate(f->fd, (off_t)f->length) != 0)
		f->length += (uint64_t)wrote;
	return false;
}

static void keep_decision(struct audit *a, const char *line, size_t length)
{
	find_again(&a->decisions);
	if (append(&a->decisions, line, length)) {
		a->no_decisions = false;
		return;
	}
	a->failed++;
	if (!a->no_decisions)
		fprintf(stderr, "cordon serve: the log of decisions %s cannot be written: %s\n",
			a->decisions.path, error_errno_name(errno));
	a->no_decisions = true;
}

/* Events of runs rotate away; decisions about tools have a file of their own, which stays. */
static void keep_decisions(struct audit *a, const char *lines, size_t length)
{
	const char *newline;

	for (; (newline = memchr(lines, '\n', length));
		length -= (size_t)(newline + 1 - lines), lines = newline + 1) {
		struct event_line e;

		if (event_line_read(lines, (size_t)(newline - lines), &e) &&
			event_is_decision(e.type, e.type_length))
			keep_decision(a, lines, (size_t)(newline + 1 - lines));
	}
}

/* The numbers that are missing from the log, in a line that has the last of them. */
static bool write_missing(struct audit *a)
{
	unsigned long long count = a->next - a->missing;
	char line[DROPPED_LINE_MAX + 1];
	size_t length = dropped_line(line, DROPPED_LINE_MAX, a->missing, count);

	line[length++] = '\n';
	if (!append(&a->log, line, length))
		return false;
	fprintf(stderr,
		"cordon serve: the audit log %s is written again; %llu events are missing, from "
		"number %llu on\n",
		a->log.path, count, (unsigned long long)a->missing);
	a->missing = 0;
	return true;
}

void audit_write(struct audit *a, const char *lines, size_t length, uint64_t next)
{
	if (a->size > 0 && a->log.length > 0 && a->log.length + length > a->size)
		rotate(a);
	else
		find_again(&a->log);
	if ((a->missing && !write_missing(a)) || !append(&a->log, lines, length)) {
		a->failed++;
		if (!a->missing) {
			fprintf(stderr,
				"cordon serve: the audit log %s cannot be written: %s; what "
				"happens meanwhile will be missing\n",
				a->log.path, error_errno_name(errno));
			a->missing = a->next;
		}
	}
	keep_decisions(a, lines, length);
	a->next = next;
}

uint64_t audit_next(const struct audit *a)
{
	return a->next;
}

uint64_t audit_failed_writes(const struct audit *a)
{
	return a->failed;
}
