/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a line of the control protocol, and a line of an event.
 *
 * Whatever comes: a request that is accepted has an id that may be sent back as it is and
 * parameters inside the line; a refusal has a printable reason; every answer is one line of valid
 * JSON. A value that was cut out of a document is valid JSON by itself. An envelope that is read
 * points into its line.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/daemon/line.h"
#include "isolate/daemon/protocol.h"

static const struct json_gate_rules VALUE = { .max_depth = 64, .one_line = true },
				    ANSWER = { .max_depth = 64,
					    .one_line = true,
					    .must_be_object = true };

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_answers(const struct protocol_request *r, const struct protocol_refusal *refusal)
{
	struct buffer out = BUFFER_INIT;
	char reason[240];

	protocol_error(&out, r->id, refusal->code ? refusal->code : ERROR_FAILED, refusal->message,
		NULL, 0);
	must(out.length == 0 ||
		(out.data[out.length - 1] == '\n' &&
			json_gate_check(&ANSWER, out.data, out.length - 1, reason, sizeof reason)));
	buffer_free(&out);
	protocol_result(&out, r->id, "{}", 2);
	must(out.length == 0 ||
		json_gate_check(&ANSWER, out.data, out.length - 1, reason, sizeof reason));
	buffer_free(&out);
}

static void check_slices(const char *text, size_t length)
{
	struct json_slice key, value;
	char reason[240], copy[64];
	size_t at = 0;

	while (json_next(json_slice(text, length), &at, &key, &value)) {
		must(key.text >= text && key.text + key.length <= text + length &&
			value.text > text && value.text + value.length <= text + length);
		must(json_gate_check(&VALUE, value.text, value.length, reason, sizeof reason));
		json_copy(value, copy, sizeof copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct protocol_refusal refusal = { 0, "" };
	struct protocol_request request;
	struct event_line event;
	int64_t number = 0;
	char text[40];

	if (!line)
		return 0;
	memcpy(line, data, size);
	if (protocol_read(line, size, &request, &refusal)) {
		must(request.params.text[0] == '{' && request.method < METHOD_COUNT);
		check_slices(line, size);
		check_slices(request.params.text, request.params.length);
		protocol_text(&request, "execution_id", text, sizeof text, &refusal);
		protocol_number(&request, "since", 0, INT64_MAX, &number, &refusal);
		must(number >= 0);
	} else {
		must(refusal.code < 0 && refusal.message[0]);
	}
	check_answers(&request, &refusal);
	if (event_line_read(line, size, &event))
		must(event.type >= line && event.type + event.type_length <= line + size &&
			event.subject + event.subject_length <= line + size &&
			event.after_sequence < size);
	/* What is no JSON must not lead a slice out of it either. */
	{
		struct json_slice key, value;
		size_t at = 0;

		while (json_next(json_slice(line, size), &at, &key, &value))
			must(value.text + value.length <= line + size);
	}
	free(line);
	return 0;
}
