/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one sanitiser of text that others wrote.
 *
 * Text is decoded first and filtered by class afterwards: filtering bytes would either damage UTF-8
 * names or miss the C1 controls, which are two innocent-looking bytes (C2 80 to C2 9F) until a
 * terminal decodes them. What is filtered is shown rather than dropped, so that a reader sees that
 * something was there. The table holds the Unicode property Default_Ignorable_Code_Point (which has
 * the bidirectional controls, the zero-width characters, the tags and all variation selectors in
 * it), and beside it the line separators, the interlinear marks, private use and the noncharacters.
 *
 * Variation selectors are shown too, U+FE0F among them: runs of them carry hidden bytes behind one
 * visible character, and an emoji that shows as two signs is the smaller harm. The output is for
 * people and is not meant to be turned back: the characters "<U+202E>" in the input come out the
 * same as what they stand for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/text.h"

#include <string.h>

struct range {
	uint32_t first, last;
};

static const struct range hidden[] = {
	{ 0x0000, 0x001f }, /* C0, ESC among them */
	{ 0x007f, 0x009f }, /* DEL, C1 */
	{ 0x00ad, 0x00ad }, /* soft hyphen */
	{ 0x034f, 0x034f }, /* combining grapheme joiner */
	{ 0x061c, 0x061c }, /* Arabic letter mark (bidi) */
	{ 0x115f, 0x1160 }, /* Hangul fillers */
	{ 0x17b4, 0x17b5 }, /* Khmer inherent vowels */
	{ 0x180b, 0x180f }, /* Mongolian variation selectors, vowel separator */
	{ 0x200b, 0x200f }, /* zero width space, joiners, left-to-right and right-to-left marks */
	{ 0x2028, 0x202e }, /* line and paragraph separator; bidi embeddings and overrides */
	/* word joiner, invisible operators, bidi isolates, deprecated format characters */
	{ 0x2060, 0x206f }, { 0x3164, 0x3164 }, /* Hangul filler */
	{ 0xe000, 0xf8ff },                     /* private use */
	{ 0xfdd0, 0xfdef },                     /* noncharacters */
	{ 0xfe00, 0xfe0f },                     /* variation selectors */
	{ 0xfeff, 0xfeff },                     /* byte order mark, zero width no-break space */
	{ 0xffa0, 0xffa0 },                     /* halfwidth Hangul filler */
	{ 0xfff0, 0xfffb },    /* unassigned default-ignorable, interlinear annotation */
	{ 0x1bca0, 0x1bca3 },  /* shorthand format controls */
	{ 0x1d173, 0x1d17a },  /* musical format controls */
	{ 0xe0000, 0xe0fff },  /* tags, variation selectors supplement */
	{ 0xf0000, 0x10ffff }, /* private use planes */
};

bool text_is_hidden(uint32_t code_point)
{
	size_t low = 0, high = sizeof hidden / sizeof hidden[0];

	if (code_point >= 0x20 && code_point < 0x7f)
		return false;
	if ((code_point & 0xfffe) == 0xfffe) /* the last two of every plane are noncharacters */
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code_point < hidden[middle].first)
			high = middle;
		else if (code_point > hidden[middle].last)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

size_t text_decode(const unsigned char *bytes, size_t length, uint32_t *code_point, bool *truncated)
{
	/*
	 * The second byte's range keeps overlongs, surrogates and what lies above U+10FFFF out (RFC
	 * 3629, section 4).
	 */
	unsigned char low = 0x80, high = 0xbf, lead;
	size_t size;
	uint32_t value;

	if (truncated)
		*truncated = false;
	if (length == 0)
		return 0;
	lead = bytes[0];
	if (lead < 0x80) {
		*code_point = lead;
		return 1;
	}
	if (lead >= 0xc2 && lead <= 0xdf) {
		size = 2;
		value = lead & 0x1f;
	} else if (lead >= 0xe0 && lead <= 0xef) {
		size = 3;
		value = lead & 0x0f;
		low = lead == 0xe0 ? 0xa0 : low;
		high = lead == 0xed ? 0x9f : high;
	} else if (lead >= 0xf0 && lead <= 0xf4) {
		size = 4;
		value = lead & 0x07;
		low = lead == 0xf0 ? 0x90 : low;
		high = lead == 0xf4 ? 0x8f : high;
	} else {
		return 0;
	}
	for (size_t i = 1; i < size; i++) {
		if (i == length) {
			if (truncated)
				*truncated = true;
			return 0;
		}
		if (bytes[i] < low || bytes[i] > high)
			return 0;
		value = value << 6 | (bytes[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*code_point = value;
	return size;
}

/*
 * Writes prefix, the value in upper case hexadecimal of at least `least` digits, and ">". Returns
 * the number of bytes, at most 10.
 */
static size_t write_form(char form[16], const char prefix[3], uint32_t value, unsigned least)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned count = least;
	size_t used = 3;

	memcpy(form, prefix, 3);
	while (count < 8 && value >> 4 * count)
		count++;
	while (count-- > 0)
		form[used++] = digits[value >> 4 * count & 15];
	form[used++] = '>';
	return used;
}

/*
 * Looks at the character at the start of bytes. Returns how many bytes it takes (at least 1);
 * *shown is then 0 when they may be shown as they are, else the number of bytes of the visible
 * form, which is in form.
 */
static size_t look(const unsigned char *bytes, size_t length, enum text_lines lines, char form[16],
	size_t *shown)
{
	uint32_t code_point;
	size_t size = text_decode(bytes, length, &code_point, NULL);

	*shown = 0;
	if (size == 0) {
		*shown = write_form(form, "<0x", bytes[0], 2);
		return 1;
	}
	if (lines == TEXT_LINES && (code_point == '\n' || code_point == '\t'))
		return size;
	if (text_is_hidden(code_point))
		*shown = write_form(form, "<U+", code_point, 4);
	return size;
}

void text_visible(struct buffer *out, const void *bytes, size_t length, enum text_lines lines)
{
	const unsigned char *text = bytes;
	size_t at = 0, plain = 0; /* text[plain..at) waits to be copied as it is */

	while (at < length) {
		char form[16];
		size_t shown, size;

		if (text[at] >= 0x20 && text[at] < 0x7f) {
			at++;
			continue;
		}
		size = look(text + at, length - at, lines, form, &shown);
		if (shown) {
			buffer_add(out, text + plain, at - plain);
			buffer_add(out, form, shown);
			plain = at + size;
		}
		at += size;
	}
	if (at > plain)
		buffer_add(out, text + plain, at - plain);
}

char *text_visible_into(
	char *out, size_t out_size, const void *bytes, size_t length, enum text_lines lines)
{
	static const char dots[] = "...";
	const unsigned char *text = bytes;
	size_t used = 0, mark = 0, at = 0; /* mark: the last place where the dots would still fit */

	if (out_size == 0)
		return out;
	while (at < length) {
		char form[16];
		size_t shown;
		size_t size = look(text + at, length - at, lines, form, &shown);
		const void *piece = shown ? (const void *)form : text + at;
		size_t piece_size = shown ? shown : size;

		if (used + piece_size >= out_size)
			break;
		memcpy(out + used, piece, piece_size);
		used += piece_size;
		at += size;
		if (used + sizeof dots <= out_size)
			mark = used;
	}
	if (at < length && out_size >= sizeof dots) {
		memcpy(out + mark, dots, sizeof dots - 1);
		used = mark + sizeof dots - 1;
	}
	out[used] = '\0';
	return out;
}
