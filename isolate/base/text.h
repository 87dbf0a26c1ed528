/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one function through which foreign text reaches a terminal, a file for people, or a title.
 *
 * UTF-8 is decoded, then filtered by class: controls, C1, DEL, ESC, bidirectional overrides and
 * isolates, zero-width and other default-ignorable characters, tags, noncharacters and private use
 * are shown as <U+202E>; bytes that are no UTF-8 as <0xFF>. Everything else, CJK and combining
 * characters too, passes unchanged.
 */
#ifndef CORDON_ISOLATE_BASE_TEXT_H
#define CORDON_ISOLATE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_write.h"

enum text_lines {
	TEXT_ONE_LINE, /* newline and tab are escaped as well */
	TEXT_LINES     /* newline and tab pass */
};

/* Appends the visible form of length bytes to out. */
void text_visible(struct buffer *out, const void *bytes, size_t length, enum text_lines lines);

/*
 * The same into size bytes of the caller's, without allocating: always NUL-terminated, and what
 * does not fit is cut after a whole character and marked "...". Returns out.
 */
char *text_visible_into(
	char *out, size_t out_size, const void *bytes, size_t length, enum text_lines lines);

/* Whether a character is one of those that are shown as <U+...>. Newline and tab are. */
bool text_is_hidden(uint32_t code_point);

/*
 * Decodes one UTF-8 sequence (RFC 3629: no overlongs, no surrogates, at most U+10FFFF). Returns its
 * length in bytes (1-4) and sets *code_point, or returns 0 when the bytes at hand are no valid
 * sequence; *truncated (may be NULL) then says whether more bytes could make it one.
 */
size_t text_decode(
	const unsigned char *bytes, size_t length, uint32_t *code_point, bool *truncated);

#endif
