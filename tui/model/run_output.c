/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a run. See run_output.h.
 *
 * The two streams come in pieces that end anywhere, in the middle of a character too: such an end is kept back until its rest comes. A piece goes on in the line that its stream left
 * open, unless the other stream wrote in between.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/model/run_output.h"

#include <string.h>

#include "isolate/base/text.h"
#include "tui/model/value.h"

/* How many bytes at the end are the beginning of a character. */
static size_t cut_end(const char *text, size_t length)
{
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		uint32_t c;
		bool truncated;

		if (((unsigned char)text[length - back] & 0xc0) != 0xc0)
			continue;
		return text_decode((const unsigned char *)text + length - back, back, &c, &truncated) == 0 && truncated ? back : 0;
	}
	return 0;
}

void run_output_add(struct run *run, int stream, struct json_slice data)
{
	struct buffer text = BUFFER_INIT;
	size_t at = 0, cut;

	buffer_add(&text, run->rest[stream], run->rest_length[stream]);
	run->rest_length[stream] = 0;
	if (!value_bytes(data, "text", &text) || text.failed || text.length == 0)
		goto out;
	cut = cut_end(text.data, text.length);
	memcpy(run->rest[stream], text.data + text.length - cut, cut);
	run->rest_length[stream] = cut;
	text.length -= cut;
	if (run->open_stream == stream) {
		const char *newline = memchr(text.data, '\n', text.length);

		at = newline ? (size_t)(newline - text.data) : text.length;
		lines_extend(&run->output, text.data, at);
		at += newline != NULL;
		run->open_stream = newline ? -1 : stream;
	}
	if (at < text.length) {
		lines_foreign(&run->output, stream ? STYLE_WARN : STYLE_PLAIN, text.data + at, text.length - at, 0);
		run->open_stream = text.data[text.length - 1] == '\n' ? -1 : stream;
	}
out:
	buffer_free(&text);
}
