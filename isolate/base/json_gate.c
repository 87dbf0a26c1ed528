/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict JSON gate.
 *
 * One pass over the bytes with a small state machine: what may come next, and for every open array
 * or object one word on a fixed stack. No recursion, so depth costs nothing and cannot overflow.
 * Keys of the objects that are open are kept as (hash, offset) pairs; when an object closes, its
 * keys are sorted by hash and then by their unescaped text, which brings duplicates next to each
 * other, and are forgotten. That bounds memory by the keys of open objects and time by n log n
 * whatever the input, and makes "scope" and "\u0073cope" the same key, as they are to every parser.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_gate.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_read.h"
#include "isolate/base/text.h"

const struct json_gate_rules JSON_GATE_DOCUMENT = {
	.max_bytes = (size_t)1 << 20,
	.max_depth = 64,
	.must_be_object = true,
};
const struct json_gate_rules JSON_GATE_ARGUMENTS = {
	.max_bytes = (size_t)16 << 20,
	.max_depth = 512,
	.allow_nul = true,
	.must_be_object = true,
};

enum {
	DEPTH_LIMIT = 4096,
	KEYS_AT_HAND = 64,    /* keys that need no allocation */
	KEYS_LIMIT = 1 << 20, /* keys of the objects open at one time */
};
static const uint32_t IS_OBJECT = UINT32_C(1) << 31;
static const size_t TEXT_LIMIT = UINT32_MAX; /* offsets are 32 bits wide */

enum expect { A_VALUE, VALUE_OR_END, A_KEY, KEY_OR_END, A_COLON, COMMA_OR_END, NOTHING };

struct key {
	uint32_t hash;
	uint32_t offset; /* of the opening quote */
};

struct gate {
	const struct json_gate_rules *rules;
	const unsigned char *text;
	size_t length, at;
	char *reason;
	size_t reason_size;
	struct key *keys;
	size_t key_count, key_capacity;
	uint32_t depth;
	/* IS_OBJECT, and the number of keys that were on the stack when it opened */
	uint32_t level[DEPTH_LIMIT];
	struct key at_hand[KEYS_AT_HAND];
};

/*
 * Writes why, and where: the byte (counted from 0), and the line when there is more than one.
 * Returns false.
 */
__attribute__((format(printf, 3, 4))) static bool refuse(
	struct gate *g, size_t offset, const char *format, ...)
{
	char what[160], where[80] = "";
	size_t line = 1, used;
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	for (size_t i = 0; i < offset && i < g->length; i++)
		line += g->text[i] == '\n';
	if (line > 1)
		snprintf(where, sizeof where, " at byte %zu (line %zu)", offset, line);
	else
		snprintf(where, sizeof where, " at byte %zu", offset);
	text_visible_into(g->reason, g->reason_size, what, strlen(what), TEXT_ONE_LINE);
	used = g->reason_size ? strlen(g->reason) : 0;
	if (used + strlen(where) < g->reason_size)
		memcpy(g->reason + used, where, strlen(where) + 1);
	return false;
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The value of the four hexadecimal digits at offset, or -1. */
static int32_t hex_four(const struct gate *g, size_t offset)
{
	int32_t value = 0;

	if (g->length - offset < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		int digit = hex_digit(g->text[offset + i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/*
 * Reads the escape whose backslash is at *at, moves past it and gives the character it stands for.
 */
static bool read_escape(struct gate *g, size_t *at, uint32_t *code_point)
{
	static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
	size_t start = *at;
	const char *found;
	int32_t unit, low = -1;

	if (g->length - start < 2)
		return refuse(g, start, "unfinished string");
	found = g->text[start + 1] ? strchr(plain, g->text[start + 1]) : NULL;
	if (found) {
		*code_point = (unsigned char)meaning[found - plain];
		*at += 2;
		return true;
	}
	if (g->text[start + 1] != 'u')
		return refuse(g, start, "unknown escape in a string");
	unit = hex_four(g, start + 2);
	if (unit < 0)
		return refuse(g, start, "\\u without four hexadecimal digits");
	*at += 6;
	if (unit == 0 && !g->rules->allow_nul)
		return refuse(g, start, "the character U+0000 is not allowed here");
	*code_point = (uint32_t)unit;
	if (unit < 0xd800 || unit > 0xdfff)
		return true;
	if (unit < 0xdc00 && g->length - *at >= 6 && g->text[*at] == '\\' &&
		g->text[*at + 1] == 'u')
		low = hex_four(g, *at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return refuse(g, start, "lone surrogate escape");
	*at += 6;
	*code_point = 0x10000 + (((uint32_t)unit & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
	return true;
}

/*
 * Reads the character of a string at *at and moves past it. *end is set at the closing quote, which
 * is moved past too.
 */
static bool read_character(struct gate *g, size_t *at, uint32_t *code_point, bool *end)
{
	unsigned char c;
	size_t size;
	bool cut;

	*end = false;
	if (*at >= g->length)
		return refuse(g, *at, "unfinished string");
	c = g->text[*at];
	if (c == '"') {
		++*at;
		*end = true;
		return true;
	}
	if (c == '\\')
		return read_escape(g, at, code_point);
	if (c < 0x20)
		return refuse(g, *at, "raw control character 0x%02X in a string", c);
	size = text_decode(g->text + *at, g->length - *at, code_point, &cut);
	if (size == 0)
		return refuse(
			g, *at, "%s (byte 0x%02X)", cut ? "unfinished UTF-8" : "invalid UTF-8", c);
	*at += size;
	return true;
}

/*
 * Reads a string from its opening quote; *hash (hash may be NULL) is over its unescaped characters.
 */
static bool read_string(struct gate *g, uint32_t *hash)
{
	uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a, by characters */
	uint32_t code_point = 0;
	bool end = false;

	g->at++;
	while (!end) {
		if (!hash) { /* nothing to add up: run over plain bytes */
			while (g->at < g->length && g->text[g->at] >= 0x20 &&
				g->text[g->at] < 0x80 && g->text[g->at] != '"' &&
				g->text[g->at] != '\\')
				g->at++;
		}
		if (!read_character(g, &g->at, &code_point, &end))
			return false;
		if (!end)
			sum = (sum ^ code_point) * UINT64_C(1099511628211);
	}
	if (hash)
		*hash = (uint32_t)(sum ^ sum >> 32);
	return true;
}

/*
 * The order of two keys, given as the offsets of their quotes, by unescaped text. Both were read
 * before, so this cannot fail.
 */
static int compare_text(struct gate *g, size_t first, size_t second)
{
	uint32_t one = 0, other = 0;
	bool one_ends = false, other_ends = false;

	first++;
	second++;
	for (;;) {
		if (!read_character(g, &first, &one, &one_ends) ||
			!read_character(g, &second, &other, &other_ends))
			return 0;
		if (one_ends || other_ends)
			return (int)other_ends - (int)one_ends;
		if (one != other)
			return one < other ? -1 : 1;
	}
}

static int by_hash(const void *a, const void *b)
{
	const struct key *one = a, *other = b;

	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static int by_text(const void *a, const void *b, void *context)
{
	const struct key *one = a, *other = b;
	int order = compare_text(context, one->offset, other->offset);

	return order != 0 ? order : one->offset < other->offset ? -1 : one->offset > other->offset;
}

static bool refuse_duplicate(struct gate *g, size_t offset)
{
	char key[81];
	size_t used = 0, at = offset + 1;
	uint32_t code_point;
	bool end;

	/* The key is shown as it was typed, escapes and all, cut to what helps to find it. */
	while (used + 12 < sizeof key) {
		size_t start = at;

		if (!read_character(g, &at, &code_point, &end) || end)
			break;
		memcpy(key + used, g->text + start, at - start);
		used += at - start;
	}
	key[used] = '\0';
	return refuse(
		g, offset, "duplicate key \"%s%s", key, g->text[at - 1] == '"' ? "\"" : "...\"");
}

/*
 * Refuses two equal keys among those from index `base` on, and forgets them: their object is
 * closed.
 */
static bool close_keys(struct gate *g, size_t base)
{
	struct key *keys = g->keys + base;
	size_t count = g->key_count - base;

	g->key_count = base;
	if (count < 2)
		return true;
	qsort(keys, count, sizeof *keys, by_hash);
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count && keys[next].hash == keys[first].hash;)
			next++;
		if (next - first < 2)
			continue;
		/*
		 * Nearly always two equal hashes are two equal keys. Only where they are not does
		 * the text have to be sorted.
		 */
		if (compare_text(g, keys[first].offset, keys[first + 1].offset) == 0)
			return refuse_duplicate(g, keys[first + 1].offset);
		qsort_r(keys + first, next - first, sizeof *keys, by_text, g);
		for (size_t i = first + 1; i < next; i++) {
			if (compare_text(g, keys[i - 1].offset, keys[i].offset) == 0)
				return refuse_duplicate(g, keys[i].offset);
		}
	}
	return true;
}

static bool read_key(struct gate *g)
{
	size_t offset = g->at;
	uint32_t hash = 0;

	if (g->text[offset] != '"')
		return refuse(g, offset, "a key in double quotes was expected");
	if (!read_string(g, &hash))
		return false;
	if (g->key_count == g->key_capacity) {
		size_t capacity = g->key_capacity * 2;
		struct key *keys;

		if (g->key_count >= KEYS_LIMIT)
			return refuse(g, offset, "more than %d keys in the objects that are open",
				KEYS_LIMIT);
		keys = g->keys == g->at_hand ? malloc(capacity * sizeof *keys)
					     : realloc(g->keys, capacity * sizeof *keys);
		if (!keys)
			return refuse(g, offset, "no memory to compare the keys");
		if (g->keys == g->at_hand)
			memcpy(keys, g->at_hand, sizeof g->at_hand);
		g->keys = keys;
		g->key_capacity = capacity;
	}
	g->keys[g->key_count++] = (struct key){ hash, (uint32_t)offset };
	return true;
}

static size_t skip_digits(struct gate *g)
{
	size_t start = g->at;

	while (g->at < g->length && g->text[g->at] >= '0' && g->text[g->at] <= '9')
		g->at++;
	return g->at - start;
}

/*
 * The grammar of RFC 8259. A number with a fraction or an exponent that no double can hold is
 * refused although the grammar has it: parsers read 1e999 as null, as infinity or as an error.
 * Plain integers may have any length.
 */
static bool read_number(struct gate *g)
{
	const char *text = (const char *)g->text + g->at;
	size_t start = g->at, whole;
	bool is_real = false, may_be_beyond;

	g->at += *text == '-';
	whole = skip_digits(g);
	if (whole == 0)
		return refuse(g, start, "a number without digits");
	if (whole > 1 && g->text[g->at - whole] == '0')
		return refuse(g, start, "a number with a leading zero");
	if (g->at < g->length && g->text[g->at] == '.') {
		is_real = true;
		g->at++;
		if (skip_digits(g) == 0)
			return refuse(g, start, "a number without digits after its point");
	}
	may_be_beyond = is_real && whole > 308;
	if (g->at < g->length && (g->text[g->at] | 0x20) == 'e') {
		may_be_beyond = true;
		g->at++;
		g->at += g->at < g->length && (g->text[g->at] == '-' || g->text[g->at] == '+');
		if (skip_digits(g) == 0)
			return refuse(g, start, "a number without digits in its exponent");
	}
	if (may_be_beyond && isinf(json_double(json_slice(text, g->at - start), INFINITY)))
		return refuse(g, start, "a number beyond the range of a double");
	return true;
}

static bool read_word(struct gate *g)
{
	static const char *const known[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		size_t length = strlen(known[i]);

		if (g->length - g->at >= length && memcmp(g->text + g->at, known[i], length) == 0) {
			g->at += length;
			return true;
		}
	}
	return refuse(g, g->at, "a value was expected");
}

/* Reads a scalar, or steps into an array or object. */
static bool read_value(struct gate *g, enum expect *expect)
{
	unsigned char c = g->text[g->at];

	*expect = g->depth ? COMMA_OR_END : NOTHING;
	if (c == '"')
		return read_string(g, NULL);
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(g);
	if (c != '{' && c != '[')
		return read_word(g);
	if (g->depth >= DEPTH_LIMIT || g->depth >= g->rules->max_depth)
		return refuse(g, g->at, "nested deeper than %u levels", g->depth);
	g->level[g->depth++] = (uint32_t)g->key_count | (c == '{' ? IS_OBJECT : 0);
	g->at++;
	*expect = c == '{' ? KEY_OR_END : VALUE_OR_END;
	return true;
}

/*
 * After an item, or in an empty array or object: a comma (where one may stand) or the closing
 * bracket.
 */
static bool read_separator(struct gate *g, enum expect *expect)
{
	uint32_t level = g->level[g->depth - 1];
	bool object = level & IS_OBJECT;
	unsigned char c = g->text[g->at];

	if (c == ',' && *expect == COMMA_OR_END) {
		g->at++;
		*expect = object ? A_KEY : A_VALUE;
		return true;
	}
	if (c != (object ? '}' : ']'))
		return refuse(g, g->at,
			object ? "a comma or } was expected" : "a comma or ] was expected");
	g->at++;
	g->depth--;
	*expect = g->depth ? COMMA_OR_END : NOTHING;
	return close_keys(g, level & ~IS_OBJECT);
}

/* Skips white space between tokens. */
static bool skip_space(struct gate *g)
{
	for (; g->at < g->length; g->at++) {
		unsigned char c = g->text[g->at];

		if (c == '\n' || c == '\r') {
			if (g->rules->one_line)
				return refuse(g, g->at, "a line break between tokens");
		} else if (c != ' ' && c != '\t') {
			break;
		}
	}
	return true;
}

static bool read_document(struct gate *g)
{
	enum expect expect = A_VALUE;

	for (;;) {
		bool good = true;

		if (!skip_space(g))
			return false;
		if (g->at == g->length)
			return expect == NOTHING || refuse(g, g->at, "the text ends too early");
		switch (expect) {
		case VALUE_OR_END:
			good = g->text[g->at] == ']' ? read_separator(g, &expect)
						     : read_value(g, &expect);
			break;
		case A_VALUE:
			if (g->depth == 0 && g->rules->must_be_object && g->text[g->at] != '{')
				return refuse(g, g->at, "an object was expected");
			good = read_value(g, &expect);
			break;
		case KEY_OR_END:
			if (g->text[g->at] == '}') {
				good = read_separator(g, &expect);
				break;
			}
			/* fall through */
		case A_KEY:
			good = read_key(g);
			expect = A_COLON;
			break;
		case A_COLON:
			if (g->text[g->at] != ':')
				return refuse(g, g->at, "a colon was expected after the key");
			g->at++;
			expect = A_VALUE;
			break;
		case COMMA_OR_END:
			good = read_separator(g, &expect);
			break;
		case NOTHING:
			return refuse(g, g->at, "more text after the end of the document");
		}
		if (!good)
			return false;
	}
}

bool json_gate_check(const struct json_gate_rules *rules, const char *text, size_t length,
	char *reason, size_t reason_size)
{
	struct gate g;
	bool good;

	/*
	 * Not initialised as a whole: the stack of levels is 16 KiB, and only what was pushed is
	 * ever read.
	 */
	g.rules = rules;
	g.text = (const unsigned char *)text;
	g.length = length;
	g.at = 0;
	g.reason = reason;
	g.reason_size = reason_size;
	g.keys = g.at_hand;
	g.key_count = 0;
	g.key_capacity = KEYS_AT_HAND;
	g.depth = 0;
	if (reason_size)
		reason[0] = '\0';
	if ((rules->max_bytes && length > rules->max_bytes) || length > TEXT_LIMIT) {
		if (reason_size)
			snprintf(reason, reason_size, "%zu bytes long; the most is %zu", length,
				rules->max_bytes ? rules->max_bytes : TEXT_LIMIT);
		return false;
	}
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		good = refuse(&g, 0, "a byte order mark");
	else
		good = read_document(&g);
	if (g.keys != g.at_hand)
		free(g.keys);
	return good;
}
