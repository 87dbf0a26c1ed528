/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: whatever goes in, what the sanitiser lets out is valid UTF-8 without a
 * character that acts on a terminal or hides in it; and a JSON string made of the same bytes passes
 * the gate.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/json_write.h"
#include "isolate/base/text.h"

/*
 * The classes are named here a second time on purpose: the table under test must not vouch for
 * itself.
 */
static void check(const char *text, size_t length, bool lines)
{
	for (size_t at = 0; at < length;) {
		uint32_t c;
		size_t step = text_decode((const unsigned char *)text + at, length - at, &c, NULL);

		if (step == 0)
			abort();
		if (c < 0x20 && !(lines && (c == '\n' || c == '\t')))
			abort();
		if ((c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0xfeff)
			abort();
		if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
			(c >= 0x2060 && c <= 0x206f))
			abort();
		if ((c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xfff9 && c <= 0xfffb) ||
			(c >= 0xe0000 && c <= 0xe0fff))
			abort();
		at += step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_gate_rules rules = {
		.max_depth = 1, .allow_nul = true, .one_line = true
	};

	for (int lines = 0; lines < 2; lines++) {
		struct buffer whole = BUFFER_INIT;

		text_visible(&whole, data, size, lines ? TEXT_LINES : TEXT_ONE_LINE);
		if (whole.failed || whole.length < size / 4)
			abort();
		check(whole.data, whole.length, lines);
		for (size_t room = 1; room < 64; room++) {
			char small[64];

			memset(small, 'x', sizeof small);
			text_visible_into(
				small, room, data, size, lines ? TEXT_LINES : TEXT_ONE_LINE);
			if (strnlen(small, room) == room)
				abort();
			check(small, strlen(small), lines);
			if (whole.length < room && whole.length > 0 &&
				strcmp(small, whole.data) != 0)
				abort();
		}
		buffer_free(&whole);
	}

	struct buffer out = BUFFER_INIT;
	struct json_writer w;
	char reason[240];

	json_begin(&w, &out);
	json_bytes(&w, data, size);
	if (out.failed || !json_gate_check(&rules, out.data, out.length, reason, sizeof reason))
		abort();
	check(out.data, out.length, false);
	buffer_free(&out);
	return 0;
}
