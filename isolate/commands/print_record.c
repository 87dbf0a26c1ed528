/* SPDX-License-Identifier: Apache-2.0 */
/* Answers. See print_record.h. Text that may come from inside reaches a terminal through the sanitiser only. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/print_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/failure_record.h"
#include "isolate/base/text.h"

int answer_line(const struct buffer *text)
{
	static const char newline = '\n';
	const struct { const char *bytes; size_t length; } parts[] = { { text->data, text->length }, { &newline, 1 } };

	if (text->failed)
		return EXIT_FAILED;
	for (size_t i = 0; i < 2; i++)
		for (size_t at = 0; at < parts[i].length;) {
			ssize_t wrote = write(STDOUT_FILENO, parts[i].bytes + at, parts[i].length - at);

			if (wrote < 0 && errno == EINTR)
				continue;
			if (wrote <= 0) {
				fprintf(stderr, "cordon: the answer could not be written to standard output\n");
				return EXIT_FAILED;
			}
			at += (size_t)wrote;
		}
	return EXIT_OK;
}

static void answer_failure_record(const struct error *err)
{
	struct buffer out = BUFFER_INIT;

	failure_record_write(err, &out);
	answer_line(&out);
	buffer_free(&out);
}

int answer_failure(const char *command, const struct error *err, bool json)
{
	char sentence[1400];

	fprintf(stderr, "cordon %s: %s [%s]\n", command, error_sentence(err, sentence, sizeof sentence), failure_name(err->code));
	if (json)
		answer_failure_record(err);
	return err->code == FAILURE_BAD_OPTION ? EXIT_USAGE : EXIT_FAILED;
}

int answer_usage(const char *command, const struct error *err, bool json)
{
	if (err->code != FAILURE_BAD_OPTION)
		return answer_failure(command, err, json);
	fprintf(stderr, "cordon %s: %s\nTry `cordon %s --help`.\n", command, err->context, command);
	if (json)
		answer_failure_record(err);
	return EXIT_USAGE;
}

void answer_outcome(const struct result *r)
{
	struct buffer line = BUFFER_INIT;
	char sentence[1400];

	if (r->export_error.code != FAILURE_NONE)
		fprintf(stderr, "cordon: the export is not complete: %s [%s]\n", error_sentence(&r->export_error, sentence, sizeof sentence),
			failure_name(r->export_error.code));
	/* A program that ended by itself has said what it had to say. */
	if (r->error.length == 0 || (r->exit_code >= 0 && !r->exec_errno))
		return;
	text_visible(&line, r->error.data, r->error.length, TEXT_ONE_LINE);
	fprintf(stderr, "cordon: %s\n", line.length ? line.data : "the program did not succeed");
	buffer_free(&line);
}
