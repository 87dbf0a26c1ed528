/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prompt. See prompt.h. It is closed before its function is called, so that one prompt can lead
 * to the next.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/prompt.h"

#include <stdio.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/text.h"
#include "tui/draw/keys.h"

void prompt_ask(struct prompt *p, const char *label, const char *initial, prompt_done *done,
	prompt_typed *typed, prompt_done *dropped)
{
	*p = (struct prompt){
		.kind = PROMPT_TEXT, .done = done, .typed = typed, .dropped = dropped
	};
	snprintf(p->label, sizeof p->label, "%s", label);
	snprintf(p->text, sizeof p->text, "%s", initial);
	p->length = strlen(p->text);
}

void prompt_question(struct prompt *p, const char *label, int64_t ready_at_ms, prompt_done *done,
	prompt_done *dropped)
{
	*p = (struct prompt){ .kind = PROMPT_QUESTION,
		.done = done,
		.dropped = dropped,
		.ready_at_ms = ready_at_ms };
	snprintf(p->label, sizeof p->label, "%s", label);
}

static void leave(struct prompt *p, struct console *c, bool done)
{
	struct prompt was = *p;

	*p = (struct prompt){ .kind = PROMPT_NONE };
	if (done)
		was.done(c, was.text);
	else if (was.dropped)
		was.dropped(c, was.text);
}

static void take_back(struct prompt *p, bool word)
{
	while (word && p->length > 0 && p->text[p->length - 1] == ' ')
		p->length--;
	do {
		while (p->length > 0 && ((unsigned char)p->text[p->length - 1] & 0xc0) == 0x80)
			p->length--;
		p->length -= p->length > 0;
	} while (word && p->length > 0 && p->text[p->length - 1] != ' ');
	p->text[p->length] = '\0';
}

/* Pasted text may hold anything; only visible characters are taken. */
static void put_in(struct prompt *p, uint32_t key)
{
	char bytes[4];
	size_t length = key < 0x80 ? 1 : key < 0x800 ? 2 : key < 0x10000 ? 3 : 4;

	if (key >= 0x110000 || text_is_hidden(key) || p->length + length >= sizeof p->text)
		return;
	bytes[0] = (char)(length == 1 ? key : (0xf00u >> length & 0xff) | key >> 6 * (length - 1));
	for (size_t i = 1; i < length; i++)
		bytes[i] = (char)(0x80 | (key >> 6 * (length - 1 - i) & 0x3f));
	memcpy(p->text + p->length, bytes, length);
	p->length += length;
	p->text[p->length] = '\0';
}

void prompt_key(struct prompt *p, struct console *c, uint32_t key, int64_t now_ms)
{
	/* Saying no is always possible. */
	if (now_ms < p->ready_at_ms && key != KEYS_ESCAPE && key != 'c' - 'a' + 1)
		return;
	if (p->kind == PROMPT_QUESTION) {
		leave(p, c, key == 'y' || key == 'Y');
		return;
	}
	switch (key) {
	case KEYS_ENTER:
		leave(p, c, true);
		return;
	case KEYS_ESCAPE:
	case 'c' - 'a' + 1:
		leave(p, c, false);
		return;
	case KEYS_BACKSPACE:
	case KEYS_DELETE:
		if (p->length == 0) {
			leave(p, c, false);
			return;
		}
		take_back(p, false);
		break;
	case 'w' - 'a' + 1:
		take_back(p, true);
		break;
	case 'u' - 'a' + 1:
		p->length = 0;
		p->text[0] = '\0';
		break;
	default:
		put_in(p, key);
	}
	if (p->typed)
		p->typed(c, p->text);
}

#define TYPED_LEAST 8 /* columns of the typed text that must be visible */

/* Label and text as one, without the first bytes of the text. */
static void compose(const struct prompt *p, size_t without, struct buffer *out)
{
	buffer_add_text(out, p->label);
	if (p->kind == PROMPT_TEXT)
		buffer_add(out, p->text + without, p->length - without);
}

static int rows_without(const struct prompt *p, size_t without, int columns)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
	int rows;

	compose(p, without, &whole);
	rows = cells_rows(whole.length ? whole.data : "", whole.length, columns - 1);
	return rows;
}

int prompt_rows(const struct prompt *p, int columns)
{
	return rows_without(p, 0, columns);
}

bool prompt_fits(const struct prompt *p, int rows, int columns)
{
	struct prompt least = *p;

	snprintf(least.text, sizeof least.text, "%*s", TYPED_LEAST, "");
	least.length = TYPED_LEAST;
	return rows_without(&least, 0, columns) <= rows;
}

void prompt_draw(const struct prompt *p, struct cells *c, int row, int rows, int *cursor_row,
	int *cursor_column)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
	size_t without = 0, label = strlen(p->label);
	int used = 0, width = c->columns - 1;

	/* A long text shows its end, where the cursor is. */
	while (without < p->length && rows_without(p, without, c->columns) > rows)
		for (without++;
			without < p->length && ((unsigned char)p->text[without] & 0xc0) == 0x80;)
			without++;
	compose(p, without, &whole);
	*cursor_row = row;
	*cursor_column = 0;
	for (size_t at = 0, piece; at < whole.length && used < rows; at += piece) {
		size_t own;

		piece = cells_break(whole.data + at, whole.length - at, width);
		own = at >= label ? 0 : label - at < piece ? label - at : piece;
		*cursor_row = row + used++;
		*cursor_column =
			cells_put(c, *cursor_row, 0, width, STYLE_KEY, whole.data + at, own, 0);
		*cursor_column += cells_put(c, *cursor_row, *cursor_column, width - *cursor_column,
			STYLE_PLAIN, whole.data + at + own, piece - own, 0);
	}
}
