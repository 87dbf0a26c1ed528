/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sanitiser: every class of character that must be shown, every kind of byte sequence that is
 * no UTF-8, and what must pass untouched.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>

#include "isolate/base/text.h"
#include "tests/unit/tap.h"

/* Encodes without any check, so that surrogates and overlongs can be made. */
static size_t encode(uint32_t code_point, char out[5])
{
	size_t size = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	out[0] = (char)(lead[size] | code_point >> 6 * (size - 1));
	for (size_t i = 1; i < size; i++)
		out[i] = (char)(0x80 | (code_point >> 6 * (size - 1 - i) & 0x3f));
	out[size] = '\0';
	return size;
}

static void shows(const char *bytes, size_t length, enum text_lines lines, const char *wanted,
	const char *name)
{
	struct buffer out = BUFFER_INIT;
	char small[128];

	text_visible(&out, bytes, length, lines);
	is_str(out.data ? out.data : "", wanted, "%s", name);
	is_str(text_visible_into(small, sizeof small, bytes, length, lines), wanted,
		"%s, without allocating", name);
	buffer_free(&out);
}

#define SHOWS(bytes, lines, wanted, name) shows(bytes, sizeof bytes - 1, lines, wanted, name)

/*
 * Every character of a range is shown, and its neighbours outside are not (unless `joined`: another
 * hidden range follows there).
 */
static void test_classes(void)
{
	static const struct {
		uint32_t first, last;
		bool before, after; /* whether the neighbours pass */
		const char *name;
	} classes[] = {
		{ 0x00, 0x1f, false, true, "C0 controls" },
		{ 0x7f, 0x7f, true, false, "DEL" },
		{ 0x80, 0x9f, false, true, "C1 controls" },
		{ 0xad, 0xad, true, true, "soft hyphen" },
		{ 0x34f, 0x34f, true, true, "combining grapheme joiner" },
		{ 0x61c, 0x61c, true, true, "Arabic letter mark" },
		{ 0x115f, 0x1160, true, true, "Hangul fillers" },
		{ 0x17b4, 0x17b5, true, true, "Khmer inherent vowels" },
		{ 0x180b, 0x180f, true, true, "Mongolian selectors" },
		{ 0x200b, 0x200f, true, true, "zero-width characters and marks" },
		{ 0x2028, 0x2029, true, false, "line separators" },
		{ 0x202a, 0x202e, false, true, "bidi embeddings and overrides" },
		{ 0x2060, 0x2064, true, false, "word joiner and invisible operators" },
		{ 0x2066, 0x2069, false, false, "bidi isolates" },
		{ 0x206a, 0x206f, false, true, "deprecated format characters" },
		{ 0x3164, 0x3164, true, true, "Hangul filler" },
		{ 0xe000, 0xf8ff, false, true, "private use" },
		{ 0xfdd0, 0xfdef, true, true, "noncharacters of the Arabic block" },
		{ 0xfe00, 0xfe0f, true, true, "variation selectors" },
		{ 0xfeff, 0xfeff, true, true, "byte order mark" },
		{ 0xffa0, 0xffa0, true, true, "halfwidth Hangul filler" },
		{ 0xfff9, 0xfffb, false, true, "interlinear annotation" },
		{ 0xfffe, 0xffff, true, true, "noncharacters of plane 0" },
		{ 0x1bca0, 0x1bca3, true, true, "shorthand controls" },
		{ 0x1d173, 0x1d17a, true, true, "musical controls" },
		{ 0x1fffe, 0x1ffff, true, true, "noncharacters of plane 1" },
		{ 0xe0000, 0xe007f, false, false, "tags" },
		{ 0xe0100, 0xe01ef, false, false, "variation selectors supplement" },
		{ 0xf0000, 0xffffd, false, false, "private use plane 15" },
		{ 0x100000, 0x10ffff, false, false, "private use plane 16" },
	};

	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		uint32_t bad = UINT32_MAX;
		char raw[5], form[16], got[16];

		for (uint32_t c = classes[i].first; c <= classes[i].last; c++) {
			snprintf(form, sizeof form, "<U+%04X>", c);
			text_visible_into(got, sizeof got, raw, encode(c, raw), TEXT_ONE_LINE);
			if (!text_is_hidden(c) || strcmp(got, form) != 0)
				bad = c;
		}
		ok(bad == UINT32_MAX, "%s are shown", classes[i].name);
		if (bad != UINT32_MAX)
			diag("U+%04X is not", bad);
		if (classes[i].before)
			ok(!text_is_hidden(classes[i].first - 1), "the character before %s passes",
				classes[i].name);
		if (classes[i].after)
			ok(!text_is_hidden(classes[i].last + 1), "the character after %s passes",
				classes[i].name);
	}
}

static void test_passing(void)
{
	SHOWS("plain ~ text", TEXT_ONE_LINE, "plain ~ text", "ASCII passes");
	SHOWS("na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xed\x95\x9c\xea\xb8\x80",
		TEXT_ONE_LINE,
		"na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xed\x95\x9c\xea\xb8\x80",
		"accents, CJK and Hangul pass");
	SHOWS("e\xcc\x81 \xf0\x9f\x98\x80", TEXT_ONE_LINE, "e\xcc\x81 \xf0\x9f\x98\x80",
		"combining characters and emoji pass");
	SHOWS("\xef\xbf\xbd", TEXT_ONE_LINE, "\xef\xbf\xbd", "U+FFFD passes");
	SHOWS("", TEXT_ONE_LINE, "", "nothing stays nothing");
	SHOWS("a\nb\tc\r\n", TEXT_LINES, "a\nb\tc<U+000D>\n",
		"newline and tab pass where lines may, CR does not");
	SHOWS("a\nb\tc", TEXT_ONE_LINE, "a<U+000A>b<U+0009>c",
		"newline and tab are shown in one line");
	SHOWS("\x1b[31m", TEXT_LINES, "<U+001B>[31m", "ESC is shown");
	SHOWS("\xc2\x9b"
	      "31m",
		TEXT_LINES, "<U+009B>31m", "the C1 form of CSI is shown");
	SHOWS("a\0b", TEXT_LINES, "a<U+0000>b", "NUL is shown and does not end the text");
	SHOWS("\xe2\x9d\xa4\xef\xb8\x8f", TEXT_LINES, "\xe2\x9d\xa4<U+FE0F>",
		"the emoji selector is shown");
}

static void test_invalid(void)
{
	SHOWS("\xff", TEXT_ONE_LINE, "<0xFF>", "a byte that never occurs");
	SHOWS("\x9b", TEXT_ONE_LINE, "<0x9B>", "a raw C1 byte");
	SHOWS("a\x80z", TEXT_ONE_LINE, "a<0x80>z", "a continuation byte alone");
	SHOWS("\xc0\xaf", TEXT_ONE_LINE, "<0xC0><0xAF>", "an overlong slash of two bytes");
	SHOWS("\xe0\x80\xaf", TEXT_ONE_LINE, "<0xE0><0x80><0xAF>",
		"an overlong slash of three bytes");
	SHOWS("\xf0\x80\x80\xaf", TEXT_ONE_LINE, "<0xF0><0x80><0x80><0xAF>",
		"an overlong slash of four bytes");
	SHOWS("\xc1\x9b", TEXT_ONE_LINE, "<0xC1><0x9B>", "an overlong bracket");
	SHOWS("\xed\xa0\x80", TEXT_ONE_LINE, "<0xED><0xA0><0x80>", "a surrogate");
	SHOWS("\xed\xbf\xbf", TEXT_ONE_LINE, "<0xED><0xBF><0xBF>", "the last surrogate");
	SHOWS("\xf4\x90\x80\x80", TEXT_ONE_LINE, "<0xF4><0x90><0x80><0x80>", "above U+10FFFF");
	SHOWS("\xf8\x88\x80\x80\x80", TEXT_ONE_LINE, "<0xF8><0x88><0x80><0x80><0x80>",
		"a form of five bytes");
	SHOWS("\xe2\x82", TEXT_ONE_LINE, "<0xE2><0x82>", "cut after two of three bytes");
	SHOWS("\xf0\x9f\x98", TEXT_ONE_LINE, "<0xF0><0x9F><0x98>", "cut after three of four bytes");
	SHOWS("\xe2\x82(", TEXT_ONE_LINE, "<0xE2><0x82>(",
		"a sequence broken by ASCII keeps the ASCII");
	SHOWS("\xe2\x1b[m", TEXT_ONE_LINE, "<0xE2><U+001B>[m",
		"a sequence broken by ESC hides no ESC");
	SHOWS("\xc3\xc3\xa9", TEXT_ONE_LINE, "<0xC3>\xc3\xa9",
		"a lead byte before a whole sequence");
}

/* Every code point decodes to itself, and the decoder tells what is cut from what is wrong. */
static void test_decode(void)
{
	static const struct {
		const char *bytes;
		size_t length;
		bool truncated;
		const char *name;
	} bad[] = {
		{ "", 0, false, "nothing" },
		{ "\xc3", 1, true, "one of two bytes" },
		{ "\xe2\x82", 2, true, "two of three bytes" },
		{ "\xf0\x9f\x98", 3, true, "three of four bytes" },
		{ "\xed\xa0", 2, false, "half a surrogate" },
		{ "\xe0\x9f", 2, false, "half an overlong" },
		{ "\xf4\x90", 2, false, "half of what is above U+10FFFF" },
		{ "\xf5", 1, false, "a byte that leads nothing" },
		{ "\x80", 1, false, "a continuation byte" },
	};
	uint32_t wrong = UINT32_MAX, value = 0;
	char raw[5];

	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		size_t size = encode(c, raw),
		       got = text_decode((unsigned char *)raw, size, &value, NULL);
		bool surrogate = c >= 0xd800 && c <= 0xdfff;

		if (surrogate ? got != 0 : got != size || value != c)
			wrong = c;
	}
	ok(wrong == UINT32_MAX, "every code point decodes to itself, surrogates to nothing");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		bool truncated = !bad[i].truncated;

		ok(text_decode((const unsigned char *)bad[i].bytes, bad[i].length, &value,
			   &truncated) == 0 &&
				truncated == bad[i].truncated,
			"%s is %s", bad[i].name, bad[i].truncated ? "cut" : "wrong");
	}
}

static void test_cut(void)
{
	char out[12];

	is_str(text_visible_into(out, sizeof out, "hello worl", 10, TEXT_ONE_LINE), "hello worl",
		"what fits is whole");
	is_str(text_visible_into(out, sizeof out, "hello world", 11, TEXT_ONE_LINE), "hello world",
		"what fits to the last byte is whole");
	is_str(text_visible_into(out, sizeof out, "hello world!", 12, TEXT_ONE_LINE), "hello wo...",
		"what does not is cut and marked");
	is_str(text_visible_into(out, sizeof out, "hello w\xc3\xa9ll", 12, TEXT_ONE_LINE),
		"hello w...", "and never inside a character");
	is_str(text_visible_into(out, sizeof out,
		       "12345\x1b"
		       "678",
		       9, TEXT_ONE_LINE),
		"12345...", "nor inside a shown form");
	is_str(text_visible_into(out, 3, "abcdef", 6, TEXT_ONE_LINE), "ab",
		"too small for the mark");
	is_str(text_visible_into(out, 1, "abc", 3, TEXT_ONE_LINE), "", "room for the NUL only");
	out[0] = 'x';
	ok(text_visible_into(out, 0, "abc", 3, TEXT_ONE_LINE) == out && out[0] == 'x',
		"no room, nothing written");
}

static void test_bounded(void)
{
	struct buffer out = BUFFER_INIT;

	out.cap = 10;
	text_visible(&out, "\x1b\x1b\x1b", 3, TEXT_ONE_LINE);
	ok(out.failed && out.length <= 10, "a buffer over its cap fails and stays within it");
	buffer_free(&out);
}

int main(void)
{
	plan(0);
	test_classes();
	test_passing();
	test_invalid();
	test_decode();
	test_cut();
	test_bounded();
	return done();
}
