/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the console between a hostile daemon and a terminal.
 *
 * The first bytes are keys and sizes; the rest are lines, as events that passed the gate. Whatever
 * comes, no cell of any picture holds a character that acts on a terminal or hides in it, wide
 * characters are whole, and everything stays inside its bounds (which the sanitizers watch).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/text.h"
#include "tui/model/console.h"
#include "isolate/base/json_read.h"
#include "tui/views/views.h"

static void check(const struct cells *c)
{
	for (int i = 0; i < c->rows * c->columns; i++) {
		const uint32_t *text = c->at[i].text;

		if ((c->at[i].style & 0x3f) >= STYLE_COUNT)
			abort();
		if (text[0] == 0 &&
			(i % c->columns == 0 || wcwidth((wchar_t)c->at[i - 1].text[0]) != 2))
			abort();
		if (text[0] &&
			(wcwidth((wchar_t)text[0]) < 1 ||
				(wcwidth((wchar_t)text[0]) == 2 &&
					(i % c->columns == c->columns - 1 ||
						c->at[i + 1].text[0] != 0))))
			abort();
		for (int j = 0; j <= CELLS_COMBINING; j++)
			if (text[j] &&
				(text_is_hidden(text[j]) || text[j] < 0x20 ||
					(text[j] >= 0x7f && text[j] < 0xa0)))
				abort();
	}
}

/* The line as an answer about tools: a list, or all about one of them. */
static void answer_of_tools(struct console *c, struct json_slice answer, bool one)
{
	struct tool tool;

	tools_take(&c->tools, one ? &c->tools.current : &c->tools.pending,
		json_get(answer, "pending"));
	if (!one || !tool_take(&tool, answer))
		return;
	view_tool_choose(c, &tool);
	buffer_add(&c->tool.shown, answer.text, answer.length);
	buffer_add(&c->tool.history, answer.text, answer.length);
}

static void draw(struct console *c)
{
	console_draw(c);
	check(&c->cells);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_gate_rules GATE = {
		.max_depth = 1024, .allow_nul = true, .must_be_object = true, .one_line = true
	};
	static const struct tui_options options = { .fd = -1 };
	static const uint32_t KEYS[] = { 'j', 'k', 'g', 'G', '1', '2', '3', '4', '/', 'n', 'N', 'f',
		'm', 'w', 't', 's', 'S', 'e', 'o', ' ', '?', '\r', 27, 'q', '\t', 'l', 'h', 'a',
		'd', '{', '}', 4, 21, 'K', 'p', ':', '5', '6', 'a', 'x', 'v', 'A', 'X' };
	const uint8_t *keys = data, *end = data + size;
	size_t key_count = size < 24 ? size : 24, lines = 0;
	struct buffer answer = BUFFER_INIT;
	struct console *c = malloc(sizeof *c);
	char reason[240];

	setlocale(LC_CTYPE, "C.UTF-8");
	if (!c || !console_new(c, &options, &answer))
		abort();
	cells_resize(&c->cells, 24, 80);
	for (data += key_count; data < end;) {
		const uint8_t *newline = memchr(data, '\n', (size_t)(end - data));
		size_t length = (size_t)((newline ? newline : end) - data);
		struct json_slice event = { (const char *)data, length };

		if (json_gate_check(&GATE, event.text, event.length, reason, sizeof reason)) {
			uint8_t key = key_count ? keys[lines % key_count] : 0;

			console_event(c, event);
			if (lines % 5 == 4)
				cells_resize(&c->cells, key % 60, key % 130);
			if (key % 11 == 3)
				answer_of_tools(c, event, key & 1);
			if (key % 7 == 6)
				runs_apply_list(c->runs, event);
			console_key(c, KEYS[key % (sizeof KEYS / sizeof *KEYS)]);
			draw(c);
			lines++;
		}
		data += length + (newline != NULL);
	}
	cells_resize(&c->cells, 24, 80);
	c->prompt.kind = PROMPT_NONE;
	for (size_t i = 0; i < key_count; i++) {
		console_key(c, KEYS[keys[i] % (sizeof KEYS / sizeof *KEYS)]);
		draw(c);
	}
	console_free(c);
	free(c);
	buffer_free(&answer);
	return 0;
}
