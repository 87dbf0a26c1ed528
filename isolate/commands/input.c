/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a program. See commands.h. Bytes are taken as they are: what they mean is for the
 * confined runner to say.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_read(const char *path, struct buffer *out, struct error *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), status = 0;
	char block[65536];
	struct stat st;

	if (fd < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno, "reading the program %s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		status = error_set(err, FAILURE_BAD_INPUT, EISDIR,
			"reading the program %s: it is a directory",
			standard ? "on standard input" : path);
	while (status == 0) {
		ssize_t got = read(fd, block, sizeof block);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			status = error_set(err, FAILURE_BAD_INPUT, errno, "reading the program %s",
				standard ? "on standard input" : path);
		else if (out->length + (size_t)got > INPUT_MOST)
			status = error_set(err, FAILURE_BAD_INPUT, E2BIG,
				"the program %s is larger than 64 MiB",
				standard ? "on standard input" : path);
		else
			buffer_add(out, block, (size_t)got);
		if (got <= 0)
			break;
	}
	if (!standard)
		close(fd);
	if (status == 0 && out->failed)
		status = error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "reading the program %s", path);
	return status;
}

struct line {
	char *start;
	size_t length, blanks; /* without its newline */
	bool empty;
};

static bool next_line(const struct buffer *text, size_t *at, struct line *line)
{
	const char *end;

	if (*at >= text->length)
		return false;
	line->start = text->data + *at;
	end = memchr(line->start, '\n', text->length - *at);
	line->length = end ? (size_t)(end - line->start) : text->length - *at;
	*at += line->length + 1;
	for (line->blanks = 0;
		line->blanks < line->length && strchr(" \t", line->start[line->blanks]);)
		line->blanks++;
	line->empty = line->blanks == line->length || line->start[line->blanks] == '\r';
	return true;
}

/*
 * Blanks the first and the last line that holds anything, when both are fences (the last may be
 * missing).
 */
static void blank_fences(struct buffer *text)
{
	struct line line, first = { .start = NULL }, last = { .start = NULL };

	for (size_t at = 0; next_line(text, &at, &line);) {
		if (!first.start && !line.empty)
			first = line;
		if (!line.empty)
			last = line;
	}
	if (!first.start || first.length - first.blanks < 3 ||
		memcmp(first.start + first.blanks, "```", 3) != 0)
		return;
	memset(first.start, ' ', first.length);
	if (last.length - last.blanks >= 3 && memcmp(last.start + last.blanks, "```", 3) == 0)
		memset(last.start, ' ', last.length);
}

void input_dedent(struct buffer *text)
{
	size_t shared = 0, to = 0;
	const char *model = NULL;
	struct line line;

	blank_fences(text);
	for (size_t at = 0; next_line(text, &at, &line);) {
		if (line.empty)
			continue;
		if (!model)
			shared = line.blanks;
		for (size_t i = 0; model && i < shared; i++)
			if (i >= line.blanks || line.start[i] != model[i])
				shared = i;
		model = model ? model : line.start;
	}
	for (size_t at = 0; next_line(text, &at, &line);) {
		size_t cut = line.blanks < shared ? line.blanks : shared, more = at <= text->length;

		memmove(text->data + to, line.start + cut, line.length - cut + more);
		to += line.length - cut + more;
	}
	text->length = to;
}
