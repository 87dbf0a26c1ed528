/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON in and out: the gate against every corner of RFC 8259 and everything that parsers are known
 * to let through, and the writer against what the gate accepts.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"
#include "tests/unit/tap.h"

static const struct json_gate_rules loose = { .max_depth = 4096 };

struct sample {
	const char *text;
	size_t length;
	const char *reason; /* a part of it; NULL = must be accepted */
};

#define GOOD(text) \
	{ \
		text, sizeof text - 1, NULL \
	}
#define BAD(text, reason) \
	{ \
		text, sizeof text - 1, reason \
	}

static void check(const struct json_gate_rules *rules, const char *text, size_t length,
	const char *wanted, const char *name)
{
	char reason[256];
	bool accepted = json_gate_check(rules, text, length, reason, sizeof reason);

	if (!wanted) {
		if (!ok(accepted, "accepted: %s", name))
			diag("%s", reason);
	} else if (accepted) {
		ok(false, "refused: %s", name);
	} else {
		has(reason, wanted, "refused: %s", name);
	}
}

static void check_all(
	const struct json_gate_rules *rules, const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(rules, samples[i].text, samples[i].length, samples[i].reason,
			samples[i].length ? samples[i].text : "(nothing)");
}

#define CHECK_ALL(rules, samples) check_all(rules, samples, sizeof samples / sizeof samples[0])

static void test_structure(void)
{
	static const struct sample samples[] = {
		GOOD("{}"),
		GOOD("[]"),
		GOOD(" \t\r\n[ ] \n"),
		GOOD("null"),
		GOOD("true"),
		GOOD("false"),
		GOOD("\"\""),
		GOOD("0"),
		GOOD("[1,2]"),
		GOOD("{\"a\":1,\"b\":[{},[]]}"),
		GOOD("[[[[]]]]"),
		GOOD("{\"\":0}"),
		BAD("", "ends too early"),
		BAD(" ", "ends too early"),
		BAD("[", "ends too early"),
		BAD("{", "ends too early"),
		BAD("[1", "ends too early"),
		BAD("[1,", "ends too early"),
		BAD("{\"a\"", "ends too early"),
		BAD("{\"a\":", "ends too early"),
		BAD("{\"a\":1", "ends too early"),
		BAD("{\"a\":1,", "ends too early"),
		BAD("[1,]", "value was expected"),
		BAD("[,1]", "value was expected"),
		BAD("[,]", "value was expected"),
		BAD("[1 2]", "comma or ]"),
		BAD("[1,,2]", "value was expected"),
		BAD("{,}", "key in double quotes"),
		BAD("{\"a\":1,}", "key in double quotes"),
		BAD("{\"a\"}", "colon"),
		BAD("{\"a\" 1}", "colon"),
		BAD("{\"a\"::1}", "value was expected"),
		BAD("{\"a\":}", "value was expected"),
		BAD("{a:1}", "key in double quotes"),
		BAD("{1:1}", "key in double quotes"),
		BAD("{'a':1}", "key in double quotes"),
		BAD("['a']", "value was expected"),
		BAD("[}", "value was expected"),
		BAD("{]", "key in double quotes"),
		BAD("[1}", "comma or ]"),
		BAD("{\"a\":1]", "comma or }"),
		BAD("]", "value was expected"),
		BAD(",", "value was expected"),
		BAD("{}{}", "after the end"),
		BAD("{} x", "after the end"),
		BAD("1 2", "after the end"),
		BAD("{}]", "after the end"),
		BAD("{}\0", "after the end"),
		BAD("[]\0[]", "after the end"),
		BAD("\0", "value was expected"),
		BAD("nul", "value was expected"),
		BAD("nulll", "after the end"),
		BAD("True", "value was expected"),
		BAD("NULL", "value was expected"),
		BAD("[truefalse]", "comma or ]"),
		BAD("undefined", "value was expected"),
		BAD("NaN", "value was expected"),
		BAD("Infinity", "value was expected"),
		BAD("-Infinity", "without digits"),
		BAD("[nan]", "value was expected"),
		BAD("// x\n1", "value was expected"),
		BAD("/* x */1", "value was expected"),
		BAD("[1] // x", "after the end"),
		BAD("#", "value was expected"),
		BAD("\xef\xbb\xbf{}", "byte order mark"),
		BAD("{\xef\xbb\xbf}", "key in double quotes"),
		BAD("[\xc2\xa0"
		    "1]",
			"value was expected"),
		BAD("[\f1]", "value was expected"),
		BAD("[\v1]", "value was expected"),
		BAD("\xfe\xff", "value was expected"),
	};

	CHECK_ALL(&loose, samples);
}

static void test_numbers(void)
{
	static const struct sample samples[] = {
		GOOD("0"),
		GOOD("-0"),
		GOOD("1"),
		GOOD("-1"),
		GOOD("10"),
		GOOD("1.5"),
		GOOD("-0.0"),
		GOOD("0.10"),
		GOOD("1e1"),
		GOOD("1E1"),
		GOOD("1e+1"),
		GOOD("1e-1"),
		GOOD("1.25e-03"),
		GOOD("0e0"),
		GOOD("0e999999999999999999999"),
		GOOD("0.000e400"),
		GOOD("1e-999999999999999999999"),
		GOOD("9007199254740993"),
		GOOD("18446744073709551616"),
		GOOD("1e308"),
		GOOD("1.7976931348623157e308"),
		GOOD("17976931348623157e292"),
		GOOD("0.00017976931348623157e312"),
		GOOD("5e-324"),
		GOOD("[0,-1,2.5]"),
		GOOD("123456789012345678901234567890123456789012345678901234567890"),
		BAD("01", "leading zero"),
		BAD("-01", "leading zero"),
		BAD("00", "leading zero"),
		BAD("[01]", "leading zero"),
		BAD("0123.5", "leading zero"),
		BAD("1.", "after its point"),
		BAD("[1.]", "after its point"),
		BAD("1.e5", "after its point"),
		BAD(".5", "value was expected"),
		BAD("-.5", "without digits"),
		BAD("-", "without digits"),
		BAD("--1", "without digits"),
		BAD("+1", "value was expected"),
		BAD("1e", "in its exponent"),
		BAD("1e+", "in its exponent"),
		BAD("1e-", "in its exponent"),
		BAD("1e1.5", "after the end"),
		BAD("1e+-1", "in its exponent"),
		BAD("0x10", "after the end"),
		BAD("1_000", "after the end"),
		BAD("1,5", "after the end"),
		BAD("1f", "after the end"),
		BAD("1 e5", "after the end"),
		BAD("1e999", "beyond the range"),
		BAD("-1e999", "beyond the range"),
		BAD("1e309", "beyond the range"),
		BAD("1.8e308", "beyond the range"),
		BAD("17976931348623159e292", "beyond the range"),
		BAD("1e99999999999999999999999999", "beyond the range"),
		BAD("0.001e312", "beyond the range"),
		BAD("100.0e308", "beyond the range"),
	};
	char big[5001];

	CHECK_ALL(&loose, samples);
	memset(big, '7', sizeof big - 1);
	check(&loose, big, sizeof big - 1, NULL, "an integer of 5,000 digits");
	memcpy(big + sizeof big - 3, ".0", 2);
	check(&loose, big, sizeof big - 1, "beyond the range", "the same with a fraction");
}

static void test_strings(void)
{
	static const struct sample samples[] = {
		GOOD("\"a\""),
		GOOD("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
		GOOD("\"\\u0041\\u00e9\\uFFFF\\uabCD\""),
		GOOD("\"\\ud83d\\ude00\""),
		GOOD("\"\\uDBFF\\uDFFF\""),
		GOOD("\"\x7f\""),
		GOOD("\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\""),
		GOOD("\"\xf4\x8f\xbf\xbf\""),
		GOOD("\"\xef\xbf\xbe\""),
		GOOD("\"\xe2\x80\xa8\""),
		GOOD("\"\\u0001\""),
		GOOD("\"\xc2\x9b\""),
		GOOD("\"\xef\xbb\xbf\""),
		BAD("\"", "unfinished"),
		BAD("\"a", "unfinished"),
		BAD("\"\\\"", "unfinished"),
		BAD("\"\\", "unfinished"),
		BAD("[\"a]", "unfinished"),
		BAD("\"\\a\"", "unknown escape"),
		BAD("\"\\x41\"", "unknown escape"),
		BAD("\"\\U0041\"", "unknown escape"),
		BAD("\"\\'\"", "unknown escape"),
		BAD("\"\\\0\"", "unknown escape"),
		BAD("\"\\\n\"", "unknown escape"),
		BAD("\"\\u\"", "four hexadecimal"),
		BAD("\"\\u004\"", "four hexadecimal"),
		BAD("\"\\u00g1\"", "four hexadecimal"),
		BAD("\"\\u 041\"", "four hexadecimal"),
		BAD("\"\\u+041\"", "four hexadecimal"),
		BAD("\"\\u00", "four hexadecimal"),
		BAD("\"\\ud800\"", "lone surrogate"),
		BAD("\"\\udc00\"", "lone surrogate"),
		BAD("\"\\ud800x\"", "lone surrogate"),
		BAD("\"\\ud800\\n\"", "lone surrogate"),
		BAD("\"\\ud800\\u0041\"", "lone surrogate"),
		BAD("\"\\ud800\\ud800\"", "lone surrogate"),
		BAD("\"\\udc00\\ud800\"", "lone surrogate"),
		BAD("\"\\ud800\\udc0\"", "lone surrogate"),
		BAD("\"\\ud83d", "lone surrogate"),
		BAD("\"\\u0000\"", "U+0000"),
		BAD("\"a\\u0000b\"", "U+0000"),
		BAD("{\"a\\u0000\":1}", "U+0000"),
		BAD("\"a\0b\"", "control character 0x00"),
		BAD("\"a\nb\"", "control character 0x0A"),
		BAD("\"a\tb\"", "control character 0x09"),
		BAD("\"\x1b[m\"", "control character 0x1B"),
		BAD("\"\x1f\"", "control character 0x1F"),
		BAD("\"\xff\"", "invalid UTF-8"),
		BAD("\"\x80\"", "invalid UTF-8"),
		BAD("\"\xc0\xaf\"", "invalid UTF-8"),
		BAD("\"\xc1\xbf\"", "invalid UTF-8"),
		BAD("\"\xe0\x80\xaf\"", "invalid UTF-8"),
		BAD("\"\xe0\x9f\xbf\"", "invalid UTF-8"),
		BAD("\"\xf0\x80\x80\xaf\"", "invalid UTF-8"),
		BAD("\"\xf0\x8f\xbf\xbf\"", "invalid UTF-8"),
		BAD("\"\xed\xa0\x80\"", "invalid UTF-8"),
		BAD("\"\xed\xbf\xbf\"", "invalid UTF-8"),
		BAD("\"\xf4\x90\x80\x80\"", "invalid UTF-8"),
		BAD("\"\xf5\x80\x80\x80\"", "invalid UTF-8"),
		BAD("\"\xe2\x82\"", "invalid UTF-8"),
		BAD("\"\xc3", "unfinished UTF-8"),
		BAD("\"\xf0\x9f\x98", "unfinished UTF-8"),
		BAD("{\"\xff\":1}", "invalid UTF-8"),
	};
	static const struct json_gate_rules nul = { .max_depth = 8, .allow_nul = true };

	CHECK_ALL(&loose, samples);
	check(&nul, "\"a\\u0000b\"", 10, NULL, "the escape of U+0000 where the rules let it");
	check(&nul, "{\"\\u0000\":1,\"\\u0000\":2}", 23, "duplicate key", "two keys of U+0000");
	check(&nul, "\"a\0b\"", 5, "control character", "a raw NUL nevertheless");
}

static void test_duplicates(void)
{
	static const struct sample samples[] = {
		GOOD("{\"a\":1,\"A\":2}"),
		GOOD("{\"a\":{\"a\":{\"a\":1}}}"),
		GOOD("[{\"a\":1},{\"a\":2}]"),
		GOOD("{\"a\":[{\"b\":1},{\"b\":2}],\"b\":3}"),
		GOOD("{\"\\u00e9\":1,\"e\\u0301\":2}"),
		GOOD("{\"\":1,\" \":2}"),
		GOOD("{\"ab\":1,\"a\":2,\"abc\":3}"),
		BAD("{\"scope\":\"agent\",\"scope\":\"operator\"}",
			"duplicate key \"scope\" at byte 17"),
		BAD("{\"a\":1,\"b\":2,\"a\":3}", "duplicate key \"a\""),
		BAD("{\"a\":1,\"\\u0061\":2}", "duplicate key"),
		BAD("{\"scope\":1,\"\\u0073cope\":2}", "duplicate key"),
		BAD("{\"/\":1,\"\\/\":2}", "duplicate key"),
		BAD("{\"\\n\":1,\"\\u000a\":2}", "duplicate key"),
		BAD("{\"\\u000A\":1,\"\\u000a\":2}", "duplicate key"),
		BAD("{\"\xc3\xa9\":1,\"\\u00E9\":2}", "duplicate key"),
		BAD("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}", "duplicate key"),
		BAD("{\"\":1,\"\":2}", "duplicate key"),
		BAD("[[{\"x\":{\"a\":1,\"a\":1}}]]", "duplicate key"),
		BAD("{\"o\":{\"p\":1},\"o\":1}", "duplicate key"),
		BAD("{\"a\":1,\"b\":{\"c\":1,\"d\":[{\"e\":1}]},\"f\":1,\"b\":2}",
			"duplicate key \"b\""),
		BAD("{\"k\xe2\x80\xae\":1,\"k\xe2\x80\xae\":2}", "duplicate key \"k<U+202E>\""),
	};

	CHECK_ALL(&loose, samples);
}

/* Many keys: the table grows, and both a duplicate and its absence are seen. */
static void test_many_keys(void)
{
	struct buffer text = BUFFER_INIT;
	clock_t start;

	buffer_add_text(&text, "{\"x\":[");
	for (int i = 0; i < 300; i++)
		buffer_printf(&text, "%s{\"k%d\":%d,\"k\":1}", i ? "," : "", i, i);
	buffer_add_text(&text, "]");
	for (int i = 0; i < 100000; i++)
		buffer_printf(&text, ",\"key%d\":%d", i, i);
	buffer_add_text(&text, "}");
	start = clock();
	check(&loose, text.data, text.length, NULL, "100,000 different keys");
	text.data[text.length - 1] = ',';
	buffer_add_text(&text, "\"key77777\":0}");
	check(&loose, text.data, text.length, "duplicate key \"key77777\"",
		"one of 100,001 keys twice");
	buffer_free(&text);
	buffer_add_text(&text, "{\"a\":1");
	for (int i = 0; i < 200000; i++)
		buffer_printf(&text, ",\"the same key over and over, and a lengthy one\":1");
	buffer_add_text(&text, "}");
	check(&loose, text.data, text.length, "duplicate key \"the same",
		"200,000 times the same key");
	ok((double)(clock() - start) / CLOCKS_PER_SEC < 20,
		"in a time that does not grow with the square");
	buffer_free(&text);
	buffer_add_text(&text, "{\"0\":0");
	for (int i = 1; i <= 1 << 20; i++)
		buffer_printf(&text, ",\"%x\":0", (unsigned)i);
	buffer_add_text(&text, "}");
	check(&loose, text.data, text.length, "more than 1048576 keys",
		"more keys than are compared");
	buffer_free(&text);
}

/*
 * Two keys whose hashes are equal and whose texts are not are no duplicates; with a third one there
 * are some.
 */
static void test_collisions(void)
{
	enum { TRIES = 1 << 18 };
	static struct {
		uint32_t hash;
		unsigned number;
	} seen[1 << 20];
	char text[128];

	for (unsigned n = 1; n < TRIES; n++) {
		uint64_t sum = UINT64_C(14695981039346656037);
		uint32_t hash;
		size_t slot;
		char key[16];

		snprintf(key, sizeof key, "%u", n);
		for (const char *p = key; *p; p++)
			sum = (sum ^ (unsigned char)*p) * UINT64_C(1099511628211);
		hash = (uint32_t)(sum ^ sum >> 32);
		for (slot = hash % (1 << 20); seen[slot].number && seen[slot].hash != hash;)
			slot = (slot + 1) % (1 << 20);
		if (seen[slot].number) {
			snprintf(text, sizeof text, "{\"%u\":1,\"%u\":2}", seen[slot].number, n);
			check(&loose, text, strlen(text), NULL, "two keys of one hash");
			snprintf(text, sizeof text, "{\"%u\":1,\"%u\":2,\"x\":0,\"%u\":3}",
				seen[slot].number, n, n);
			check(&loose, text, strlen(text), "duplicate key",
				"one of two keys of one hash twice");
			return;
		}
		seen[slot].hash = hash;
		seen[slot].number = n;
	}
	skip(2, "no two keys with one hash were found");
}

static void nest(struct buffer *text, const char *open, const char *close, size_t depth)
{
	buffer_free(text);
	for (size_t i = 0; i < depth; i++)
		buffer_add_text(text, open);
	if (strcmp(open, "[") != 0)
		buffer_add_text(text, "1");
	for (size_t i = 0; i < depth; i++)
		buffer_add_text(text, close);
}

static void test_bounds(void)
{
	static const struct json_gate_rules flat = { .max_depth = 0 },
					    line = { .max_depth = 4, .one_line = true },
					    small = { .max_depth = 4, .max_bytes = 10 },
					    huge = { .max_depth = 1000000 };
	struct buffer text = BUFFER_INIT;
	char reason[8], *big;

	nest(&text, "[", "]", 64);
	check(&JSON_GATE_DOCUMENT, text.data, text.length, "object was expected",
		"an array where an object must be");
	nest(&text, "{\"a\":", "}", 64);
	check(&JSON_GATE_DOCUMENT, text.data, text.length, NULL, "64 levels in a document");
	nest(&text, "{\"a\":", "}", 65);
	check(&JSON_GATE_DOCUMENT, text.data, text.length, "deeper than 64",
		"65 levels in a document");
	nest(&text, "{\"a\":", "}", 512);
	check(&JSON_GATE_ARGUMENTS, text.data, text.length, NULL, "512 levels in arguments");
	nest(&text, "{\"a\":", "}", 513);
	check(&JSON_GATE_ARGUMENTS, text.data, text.length, "deeper than 512",
		"513 levels in arguments");
	nest(&text, "[", "]", 4096);
	check(&huge, text.data, text.length, NULL, "4,096 levels");
	nest(&text, "[", "]", 4097);
	check(&huge, text.data, text.length, "deeper than 4096",
		"4,097 levels, whatever the rules say");
	nest(&text, "[", "]", 1000000);
	check(&huge, text.data, text.length, "deeper than 4096", "a million levels");
	text.length = 1000000;
	check(&huge, text.data, text.length, "deeper than 4096",
		"a million brackets that nothing closes");
	check(&flat, "1", 1, NULL, "a scalar without any depth");
	check(&flat, "[]", 2, "deeper than 0", "an array without any depth");
	check(&line, "[1, \t2]", 7, NULL, "blanks in one line");
	check(&line, "[1,\n2]", 6, "line break", "a newline in one line");
	check(&line, "[1]\n", 4, "line break", "a newline at the end of one line");
	check(&line, "\r1", 2, "line break", "a carriage return in one line");
	check(&line, "\"a\\nb\"", 6, NULL, "an escaped newline in one line");
	check(&small, "1234567890", 10, NULL, "ten of ten bytes");
	check(&small, "12345678901", 11, "11 bytes long; the most is 10", "eleven of ten bytes");
	check(&JSON_GATE_DOCUMENT, "{\"a\":\"\\u0000\"}", 14, "U+0000", "U+0000 in a document");
	check(&JSON_GATE_ARGUMENTS, "{\"a\":\"\\u0000\"}", 14, NULL, "U+0000 in arguments");
	check(&loose, "[\n1,\n2\n3]", 9, "at byte 7 (line 4)",
		"the line is told when there are several");
	ok(!json_gate_check(&loose, "{\"scope\":", 9, reason, sizeof reason) &&
			strlen(reason) < sizeof reason,
		"a small buffer for the reason is not overrun");
	ok(!json_gate_check(&loose, "x", 1, NULL, 0), "no buffer for the reason at all");
	big = malloc((16 << 20) + 2);
	if (big) {
		memset(big, ' ', (16 << 20) + 2);
		memcpy(big, "{}", 2);
		check(&JSON_GATE_ARGUMENTS, big, 16 << 20, NULL, "arguments of 16 MiB");
		check(&JSON_GATE_ARGUMENTS, big, (16 << 20) + 1, "bytes long",
			"arguments of 16 MiB and a byte");
		check(&JSON_GATE_DOCUMENT, big, (1 << 20) + 1, "bytes long",
			"a document of 1 MiB and a byte");
	}
	free(big);
	buffer_free(&text);
}

/*
 * The text ends exactly where the memory does, so the address sanitizer sees a read beyond it;
 * every prefix of a document is refused.
 */
static void test_prefixes(void)
{
	static const char whole[] = "{\"a\\u00e9\\ud83d\\ude00\":[1.5e+3,-0,true,false,null,"
				    "\"\xe6\x97\xa5\",{}],\"b\":\"\\n\"}";
	size_t length = sizeof whole - 1, accepted = 0;
	char reason[256];

	for (size_t cut = 0; cut <= length; cut++) {
		char *copy = malloc(cut ? cut : 1);

		if (!copy)
			break;
		memcpy(copy, whole, cut);
		accepted += json_gate_check(&loose, copy, cut, reason, sizeof reason);
		free(copy);
	}
	is_int(accepted, 1, "of all prefixes of a document only the whole is accepted");
}

static void test_writer(void)
{
	static const char odd[] = "q\"b\\s/"
				  "\b\t\n\f\r\x01\x1f\x7f\xc3\xa9\xe2\x80\xae\xc2\x9b\xf0\x9f\x98"
				  "\x80\xf3\xa0\x80\x81\xff\xed\xa0\x80";
	struct buffer out = BUFFER_INIT;
	struct json_writer w;
	char reason[256];
	struct buffer read = BUFFER_INIT;

	json_begin(&w, &out);
	json_open_object(&w);
	json_key(&w, "list");
	json_open_array(&w);
	json_integer(&w, INT64_MIN);
	json_integer(&w, INT64_MAX);
	json_bool(&w, true);
	json_bool(&w, false);
	json_null(&w);
	json_string(&w, NULL);
	json_open_object(&w);
	json_close_object(&w);
	json_open_array(&w);
	json_close_array(&w);
	json_close_array(&w);
	json_key(&w, "raw");
	json_raw(&w, "[1.50]", 6);
	json_key(&w, "real");
	json_real(&w, 1.0 / 3, 2);
	json_key(&w, "text");
	json_bytes(&w, "a\0b", 3);
	json_close_object(&w);
	ok(!out.failed, "a document is written");
	is_str(out.data,
		"{\"list\":[-9223372036854775808,9223372036854775807,true,false,null,null,{},[]],"
		"\"raw\":[1.50],\"real\":0.33,"
		"\"text\":\"a\\u0000b\"}",
		"with its commas");
	buffer_free(&out);

	json_begin(&w, &out);
	json_bytes(&w, odd, sizeof odd - 1);
	is_str(out.data,
		"\"q\\\"b\\\\s/"
		"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\xc3\xa9\\u202e\\u009b\xf0\x9f\x98\x80\\udb40"
		"\\udc01\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
		"\xef\xbf\xbd\"",
		"what acts on a terminal is escaped, what is no UTF-8 replaced");
	ok(json_gate_check(&loose, out.data, out.length, reason, sizeof reason),
		"and the gate takes it");
	json_decode(json_slice(out.data, out.length), &read);
	is_str(read.data,
		"q\"b\\s/"
		"\b\t\n\f\r\x01\x1f\x7f\xc3\xa9\xe2\x80\xae\xc2\x9b\xf0\x9f\x98\x80\xf3\xa0\x80\x81"
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
		"and a parser reads the same characters back");
	buffer_free(&read);
	buffer_free(&out);
}

static void test_reals(void)
{
	static const struct {
		double value;
		int decimals;
		const char *wanted;
	} reals[] = {
		{ 0, 3, "0.000" },
		{ 12.3456, 3, "12.346" },
		{ -1.5, 1, "-1.5" },
		{ 3, 0, "3" },
		{ NAN, 2, "null" },
		{ INFINITY, 2, "null" },
		{ -INFINITY, 2, "null" },
		{ 1e300, 0, NULL },
		{ 1e-300, 17, NULL },
	};
	static const char *const locales[] = { "C", "de_DE.UTF-8", "ps_AF.UTF-8" };
	char reason[256];

	for (size_t l = 0; l < sizeof locales / sizeof locales[0]; l++) {
		if (!setlocale(LC_NUMERIC, locales[l])) {
			skip(1, "no locale with another radix character is installed");
			continue;
		}
		for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
			struct buffer out = BUFFER_INIT;
			struct json_writer w;

			json_begin(&w, &out);
			json_real(&w, reals[i].value, reals[i].decimals);
			if (reals[i].wanted)
				is_str(out.data, reals[i].wanted,
					"%g with %d decimals in locale %s", reals[i].value,
					reals[i].decimals, locales[l]);
			else
				ok(json_gate_check(
					   &loose, out.data, out.length, reason, sizeof reason),
					"%g is a JSON number", reals[i].value);
			buffer_free(&out);
		}
	}
	setlocale(LC_NUMERIC, "C");
}

static void test_writer_misuse(void)
{
	struct buffer out = BUFFER_INIT;
	struct json_writer w;

	json_begin(&w, &out);
	for (int i = 0; i < 31; i++)
		json_open_array(&w);
	ok(!out.failed, "31 levels are written");
	json_open_array(&w);
	ok(out.failed, "one more is not");
	buffer_free(&out);
	json_begin(&w, &out);
	json_close_object(&w);
	ok(out.failed, "a bracket too many fails");
	buffer_free(&out);
	json_begin(&w, &out);
	json_open_object(&w);
	json_key(&w, "a");
	json_close_object(&w);
	ok(out.failed, "a key without a value fails");
	buffer_free(&out);
	json_begin(&w, &out);
	json_open_object(&w);
	json_key(&w, "a");
	json_key(&w, "b");
	ok(out.failed, "a key after a key fails");
	buffer_free(&out);
	json_begin(&w, &out);
	json_raw(&w, "", 0);
	ok(out.failed, "raw text that is empty fails");
	buffer_free(&out);
}

static void test_buffer(void)
{
	struct buffer b = BUFFER_INIT;
	static char block[4096];

	buffer_add(&b, "", 0);
	ok(b.length == 0 && !b.failed, "nothing adds nothing");
	buffer_add_text(&b, "abc");
	buffer_printf(&b, "%d-%s", 42, "x");
	is_str(b.data, "abc42-x", "text and formatted text are added");
	buffer_printf(&b, "%s", "");
	is_int(b.length, 7, "an empty format adds nothing");
	buffer_free(&b);
	ok(!b.data && b.length == 0 && b.capacity == 0 && !b.failed, "a freed buffer is empty");
	b.cap = 10;
	buffer_add_text(&b, "0123456789");
	ok(!b.failed && b.length == 10, "a buffer can be filled to its cap");
	is_str(b.data, "0123456789", "with its NUL behind");
	buffer_add_text(&b, "x");
	ok(b.failed && b.length == 10, "and not beyond");
	b.length = 5;
	buffer_add_text(&b, "y");
	is_int(b.length, 5, "after a failure nothing is added");
	buffer_free(&b);
	b.cap = 0;
	memset(block, 'z', sizeof block);
	for (int i = 0; i < 1000; i++)
		buffer_add(&b, block, sizeof block);
	ok(!b.failed && b.length == 1000 * sizeof block && b.data[b.length] == '\0',
		"a buffer grows");
	buffer_printf(&b, "%*d", 100000, 7);
	ok(!b.failed && b.length == 1000 * sizeof block + 100000, "by a large formatted piece too");
	buffer_free(&b);
}

int main(void)
{
	plan(0);
	test_structure();
	test_numbers();
	test_strings();
	test_duplicates();
	test_many_keys();
	test_collisions();
	test_bounds();
	test_prefixes();
	test_writer();
	test_reals();
	test_writer_misuse();
	test_buffer();
	return done();
}
