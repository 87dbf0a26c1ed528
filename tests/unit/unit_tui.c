/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console's parts that need neither a terminal nor a daemon: values, cells, lines, pages,
 * lists, the log, plots, keys.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"
#include "tui/draw/cells.h"
#include "tui/draw/lines.h"
#include "tui/draw/keys.h"
#include "tui/draw/page.h"
#include "tui/model/log.h"
#include "tui/model/runs.h"
#include "tui/model/series.h"
#include "tui/model/tool_list.h"
#include "isolate/base/json_read.h"

static struct json_slice slice(const char *text)
{
	return json_slice(text, strlen(text));
}

static void is_string(const char *json, const char *wanted, size_t length)
{
	struct buffer out = BUFFER_INIT;

	ok(json_decode(slice(json), &out) && out.length == length &&
			(length == 0 || memcmp(out.data, wanted, length) == 0),
		"the string %s", json);
	buffer_free(&out);
}

static void test_values(void)
{
	struct buffer out = BUFFER_INIT;
	struct json_slice item, array = slice("[1, \"a,]\\\"\" ,{\"b\":[2,3]}, [ ] ,null ] ");
	static const char HIDES[] = "{\"a\":\"\xe2\x80\xae\xf3\xa0\x80\x81\x7f\xc2\x9b\"}";
	const char *const wanted[] = { "1", "\"a,]\\\"\"", "{\"b\":[2,3]}", "[ ]", "null" };
	size_t at = 0, count = 0;

	is_string("\"\"", "", 0);
	is_string("\"a\\n\\t\\\"\\\\\\/\\u0041\"", "a\n\t\"\\/A", 7);
	is_string("\"\\u0000x\"", "\0x", 2);
	is_string("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	ok(!json_decode(slice("5"), &out) && !json_decode(slice("\""), &out) &&
			!json_decode(JSON_NONE, &out),
		"what is no string");
	array.length -= 1;
	for (; json_item(array, &at, &item); count++)
		ok(count < 5 && item.length == strlen(wanted[count]) &&
				memcmp(item.text, wanted[count], item.length) == 0,
			"item %zu: %.*s", count, (int)item.length, item.text);
	is_int(count, 5, "items");
	at = 0;
	ok(!json_item(slice("[]"), &at, &item), "an empty array");
	is_int(json_int(slice("-12"), 0), -12, "a number");
	is_int(json_int(slice("\"x\""), 7), 7, "no number");
	is_int(json_time(slice("\"1970-01-01T00:00:01.5Z\"")), 1500000000, "a time");
	is_int(json_time(slice("\"nonsense\"")), 0, "no time");
	json_get_bytes(slice("{\"text\":\"\xef\xbf\xbd\",\"text_b64\":\"/w==\"}"), "text", &out);
	ok(out.length == 1 && (unsigned char)out.data[0] == 0xff,
		"bytes come from base64 where that is");
	out.length = 0;
	json_add_visible(&out, HIDES, strlen(HIDES));
	is_str(out.data, "{\"a\":\"\\u202e\\udb40\\udc01\\u007f\\u009b\"}",
		"JSON that hides nothing");
	buffer_free(&out);
}

static void test_cells(void)
{
	struct cells c = CELLS_INIT;
	struct buffer out = BUFFER_INIT;

	cells_resize(&c, 3, 10);
	is_int(cells_text(&c, 0, 0, 10, STYLE_PLAIN, "\xe6\xbc\xa2\xe5\xad\x97x"), 5,
		"wide characters take two");
	is_int(cells_text(&c, 1, 8, 10, STYLE_PLAIN, "a\xe6\xbc\xa2"), 1,
		"one that has no room is left out");
	is_int(cells_text(&c, 2, 0, 10, STYLE_PLAIN, "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81z"),
		2, "marks take none");
	is_int(c.at[20].text[3], 0x301, "three marks stay");
	is_int(c.at[21].text[0], 'z', "and what follows stands beside them");
	cells_text(&c, 0, 1, 1, STYLE_PLAIN, "y");
	is_int(c.at[0].text[0], ' ', "half a wide character is none");
	cells_text(&c, 2, 3, 7, STYLE_PLAIN, "\x1b[2J\xff");
	cells_text(&c, -1, 0, 5, STYLE_PLAIN, "x");
	cells_text(&c, 3, 0, 5, STYLE_PLAIN, "x");
	cells_text(&c, 0, 10, 5, STYLE_PLAIN, "x");
	cells_text(&c, 0, 0, -5, STYLE_PLAIN, "x");
	cells_write(&c, &out);
	ok(strstr(out.data, "?[2J?") != NULL, "what acts on a terminal is a question mark: %s",
		out.data);
	is_int(cells_put(&c, 0, 0, 10, STYLE_PLAIN, "abcdef", 6, 4), 2, "skipping");
	is_int(cells_width("a\tb", 3), 9, "tabs");
	is_int(cells_fit("\xe6\xbc\xa2\xe5\xad\x97", 6, 3), 3, "as much as fits");
	is_int(cells_fit("\xe6\xbc\xa2\xe5\xad\x97", 6, 1), 3, "at least one");
	ok(cells_resize(&c, 100000, -5) && c.rows == CELLS_ROWS_MAX && c.columns == 0,
		"sizes are clamped");
	cells_free(&c);
	buffer_free(&out);
}

static void test_breaking(void)
{
	static const char WIDE[] = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2";
	struct cells c = CELLS_INIT;
	struct buffer out = BUFFER_INIT;
	char text[64];

	is_str(cells_middle(text, sizeof text, "short", 5), "short", "what fits stays");
	is_str(cells_middle(text, sizeof text, "beginning_middle_end", 10), "begi.._end",
		"a middle is left out");
	is_str(cells_middle(text, sizeof text, "beginning_middle_end", 11), "begin.._end",
		"of an odd width, too");
	is_str(cells_middle(text, sizeof text,
		       "abcde\xcc\x81"
		       "fghij\xcc\x81z",
		       6),
		"ab..j\xcc\x81z", "a mark stays with its base");
	is_str(cells_middle(text, sizeof text,
		       "abcde\xcc\x81"
		       "z",
		       5),
		"ab..z", "or goes with it");
	is_str(cells_middle(text, sizeof text, WIDE, 8), "\xe6\xbc\xa2..\xe6\xbc\xa2",
		"wide characters are not halved");
	is_int(cells_rows("", 0, 10), 1, "nothing takes a row");
	is_int(cells_rows("one two three", 13, 8), 2, "words stay whole");
	is_int(cells_rows("wwwwwwwwwwwwwwwww", 17, 8), 3, "but for such as are too long");
	cells_resize(&c, 3, 12);
	is_int(cells_wrap(&c, 0, 2, 1, 8, STYLE_PLAIN, "one two three four five", 23), 2,
		"no more rows than there are");
	cells_write(&c, &out);
	is_str(out.data, " one two\n three ..\n\n", "and it says that there is more");
	cells_free(&c);
	buffer_free(&out);
}

static void test_taking(void)
{
	struct tools t = { .read_count = 0 };
	struct buffer list = BUFFER_INIT;
	int steps = 0;

	buffer_add_text(&list, "[");
	for (int i = 0; i < 100; i++)
		buffer_printf(&list,
			"%s{\"name\":\"t%d\",\"user\":\"u\",\"hash\":\"0123456789abcdef\","
			"\"version\":%d,\"description\":\"%0800d\"}",
			i ? "," : "", i, i, 0);
	buffer_add_text(&list, "]");
	tools_take(&t, &t.pending, json_slice(list.data, list.length));
	is_int((long)t.pending.count, 100, "all of a list");
	t.pending.at[7].marked = true;
	tools_begin(&t, &t.pending, json_slice(list.data, list.length));
	ok(!tools_step(&t, 4000) && tools_is_taking(&t), "a slice is not the whole");
	t.pending.at[9].marked = true;
	for (steps = 1; !tools_step(&t, 4000); steps++)
		continue;
	ok(steps > 10 && !tools_is_taking(&t), "many slices are: %d", steps);
	ok(t.pending.count == 100 && tools_marked(&t.pending) == 2 && t.pending.at[7].marked &&
			t.pending.at[9].marked,
		"marks stay, those that were put on meanwhile too");
	ok(t.pending.at[99].version == 99 &&
			strncmp(t.pending.at[99].description, "0000", 4) == 0 &&
			strlen(t.pending.at[99].description) < sizeof t.pending.at->description,
		"members");
	tools_begin(&t, &t.pending, json_slice(list.data, list.length));
	tools_step(&t, 4000);
	tools_free(&t);
	buffer_free(&list);
}

static void test_pages(void)
{
	struct lines l = LINES_INIT;
	struct cells c = CELLS_INIT;
	struct page p = { .parts = { &l } };
	struct buffer out = BUFFER_INIT;
	char *wide = malloc(5000);

	memset(wide, 'w', 5000);
	lines_foreign(&l, STYLE_PLAIN, wide, 5000, 1);
	for (int i = 0; i < 50; i++)
		lines_print(&l, STYLE_PLAIN, "line %d", i);
	lines_foreign(&l, STYLE_PLAIN, "x\x1by", 3, 0);
	page_write(&p, &out);
	ok(out.length > 5000 && memcmp(out.data, wide, 5000) == 0 && out.data[5000] == '\n',
		"a long line comes out as one line");
	cells_resize(&c, 10, 40);
	page_draw(&p, &c, 0, 10, "");
	ok(!p.saw_end, "the end was not seen yet");
	page_move(&p, ACTION_LAST, 10, 40);
	page_draw(&p, &c, 0, 10, "");
	ok(p.saw_end && p.follow, "the end was seen, and is followed");
	page_move(&p, ACTION_UP, 10, 40);
	ok(!p.follow, "moving up lets go");
	page_move(&p, ACTION_DOWN, 10, 40);
	ok(p.follow, "moving to the end follows");
	ok(page_find(&p, "LINE 7", 1, true) && memcmp(page_line(&p, p.top)->text, "line 7", 6) == 0,
		"found, whatever the case");
	ok(!page_find(&p, "nowhere", -1, false), "not found");
	for (int columns = 1; columns < 60; columns++)
		for (int rows = 1; rows < 5; rows++) {
			cells_resize(&c, rows, columns);
			page_move(&p, ACTION_PAGE_UP, rows, columns);
			page_draw(&p, &c, 0, rows, "w");
			page_move(&p, ACTION_PAGE_DOWN, rows, columns);
		}
	ok(true, "narrow pages");
	lines_clear(&l);
	page_draw(&p, &c, 0, 4, "");
	ok(p.top == 0, "lines that went");
	l.bound = 100;
	for (int i = 0; i < 100; i++)
		lines_print(&l, STYLE_PLAIN, "0123456789");
	ok(lines_count(&l) == 10 && l.dropped == 90, "a bound drops the oldest, and counts them");
	lines_free(&l);
	cells_free(&c);
	buffer_free(&out);
	free(wide);
}

static void test_lists(void)
{
	struct list l = { 0, 0, true };

	list_settle(&l, 100, 10);
	ok(l.cursor == 99 && l.top == 90, "following");
	list_move(&l, ACTION_UP, 100, 10);
	list_settle(&l, 200, 10);
	ok(l.cursor == 98 && !l.follow, "not following");
	list_move(&l, ACTION_LAST, 200, 10);
	list_settle(&l, 201, 10);
	ok(l.cursor == 200, "following again");
	list_move(&l, ACTION_FIRST, 0, 10);
	list_move(&l, ACTION_PAGE_DOWN, 0, 0);
	ok(l.cursor == 0 && l.top == 0, "nothing to move in");
	ok(!list_move(&l, ACTION_SORT, 5, 5), "no motion");
}

static void add(struct log *l, int number, const char *type, const char *path)
{
	char text[400];
	int length = snprintf(text, sizeof text,
		"{\"sequence\":%d,\"type\":\"%s\",\"subject\":\"a\",\"time\":\"2026-01-01T00:00:"
		"00Z\",\"data\":{\"path\":\"%s\",\"flags\":[\"read\"],\"text\":\"%s\",\"rule\":"
		"\"r\"}}",
		number, type, path, path);

	log_add(l, json_slice(text, (size_t)length));
}

/* An event of so many milliseconds past the hour. */
static void add_at(struct log *l, int number, int ms)
{
	char text[200];
	int length = snprintf(text, sizeof text,
		"{\"sequence\":%d,\"type\":\"%s\",\"subject\":\"a\","
		"\"time\":\"2026-01-01T00:00:%02d.%03dZ\","
		"\"data\":{\"text\":\"%.*s\"}}",
		number, number % 2 ? "fs.denied" : "output.stdout", ms / 1000, ms % 1000,
		number % 7, "xxxxxxx");

	log_add(l, json_slice(text, (size_t)length));
}

/* The sequence numbers of the rows from a serial on, as one number. */
static long rows_from(struct log *l, uint64_t serial)
{
	long numbers = 0;

	for (size_t row = log_row_of(l, serial); row < log_rows(l); row++) {
		const struct log_entry *e = log_entry(l, log_serial(l, row));
		struct json_slice event = log_event(l, e);

		numbers = 10 * numbers + (long)json_int(json_get(event, "sequence"), 0);
		ok(event.text[event.length - 1] == '}', "a whole line");
	}
	return numbers;
}

static void test_sorting(void)
{
	const int times_ms[] = { 1000, 1100, 1050, 1100, 1040, 850, 1300 };
	struct log *l = log_new();

	for (int i = 0; i < 7; i++)
		add_at(l, i + 1, times_ms[i]);
	is_int(rows_from(l, 1), 1532467, "by time, equal ones and late ones as they came");
	log_filter(l, "deny", "");
	is_int(rows_from(l, 1), 1537, "the rows of a filter, too");
	add_at(l, 9, 1200);
	is_int(rows_from(l, 1), 15397, "and those that come later");
	log_filter(l, "", "");
	add_at(l, 8, 900);
	is_int(rows_from(l, 1), 153246978, "later than the window");
	log_fix(l);
	add_at(l, 1, 1250);
	is_int(rows_from(l, 8), 781, "what is fixed does not move");
	log_free(l);
	l = log_new();
	for (int i = 0; i < 600; i++)
		add_at(l, 2, 1100);
	add_at(l, 1, 1000);
	for (uint64_t serial = log_first(l); serial < log_next(l); serial++)
		if (log_entry(l, serial)->sequence == 1)
			is_int(log_next(l) - serial, 257, "it moves 256 others and no more");
	log_free(l);
	l = log_new();
	for (int i = 0; i < 400000; i++)
		add_at(l, 2 + i % 2, i % 50000 + (i % 3) * 20);
	ok(log_rows(l) > 1000, "many");
	for (uint64_t serial = log_first(l); serial < log_next(l); serial++) {
		struct json_slice event = log_event(l, log_entry(l, serial));

		if (event.text[0] != '{' || event.text[event.length - 1] != '}')
			ok(false, "line %d is whole", (int)serial);
	}
	log_free(l);
}

static void test_log(void)
{
	struct log *l = log_new();
	struct buffer text = BUFFER_INIT;
	uint64_t kept;

	for (int i = 1; i <= 1000; i++)
		add(l, i, i % 2 ? "fs.denied" : "output.stdout", i % 10 == 1 ? "special" : "other");
	is_int(log_rows(l), 1000, "rows");
	log_filter(l, "deny SPECIAL", "");
	is_int(log_rows(l), 100, "rows that have the words");
	log_filter(l, "deny !special", "");
	is_int(log_rows(l), 400, "rows that have not");
	ok(log_serial(l, log_row_of(l, 502)) == 503,
		"the row of an event that is none is the next one");
	log_filter(l, "", "b");
	is_int(log_rows(l), 0, "of another subject");
	log_filter(l, "", "");
	for (int i = 1001; i <= 200000; i++)
		add(l, i, "output.stdout", "more");
	ok(log_first(l) > 1000 && log_next(l) == 200001 &&
			log_rows(l) == log_next(l) - log_first(l),
		"the oldest go");
	ok(log_entry(l, 5) == NULL && log_entry(l, 200000)->sequence == 200000,
		"what went is gone");
	kept = log_first(l) + 10;
	log_protect(l, kept);
	for (int i = 200001; i <= 300000; i++)
		add(l, i, "output.stdout", "more");
	ok(log_entry(l, kept) != NULL && log_unkept(l) > 0,
		"what is protected stays, and what had no place is counted");
	kept = log_unkept(l);
	log_protect(l, 0);
	log_describe(log_entry(l, log_next(l) - 1)->row,
		log_event(l, log_entry(l, log_next(l) - 1)), &text);
	is_int(strtoull(text.data, NULL, 10), kept, "a row says how many");
	ok(log_matches("A !z", "cab") && !log_matches("a !c", "cab") && log_matches("", "x") &&
			log_matches("!", "!"),
		"filters");
	buffer_free(&text);
	log_free(l);
}

static void test_rest(void)
{
	struct series s = { .count = 0 };
	struct cells c = CELLS_INIT;
	char text[FORMAT_MAX];
	uint32_t key;

	for (int i = 0; i < 10000; i++)
		series_add(&s, i % 100);
	ok(s.count <= SERIES_MAX && s.top == 99, "a series is bounded and keeps its top");
	cells_resize(&c, 5, 20);
	series_draw(&s, &c, 0, 0, 5, 20, 100);
	series_draw(&s, &c, 0, 0, 50, 200, 0);
	c.unicode = false;
	series_draw(&s, &c, 3, 15, 5, 20, 1);
	ok(c.at[4 * 20 + 19].text[0] == '#', "a plot in signs");
	is_str(format_bytes(512 << 20, text), "512M", "bytes");
	is_str(format_bytes(-1, text), "0B", "less than none");
	is_str(format_bytes(INT64_MAX, text), "8192P", "very many");
	is_str(format_duration(61000, text), "1:01", "a duration");
	is_str(format_count(1234567, text), "1,234,567", "a count");
	is_int(keys_read("<C-d>", &key), 5, "a key's name");
	is_int(key, 4, "its code");
	is_int(keys_read("<nonsense>", &key), 1, "what is no name is a character");
	is_int(keys_action('K', IN_RUNS), ACTION_KILL, "an action");
	is_int(keys_action('K', IN_HELP), ACTION_NONE, "not everywhere");
	is_int(keys_named("next-view", 9, IN_HELP), ACTION_NEXT_VIEW, "by name");
	for (int where = 1; where <= IN_HELP; where <<= 1)
		for (int a = 1; a < ACTION_COUNT; a++)
			for (const char *at = key_texts[a].where & (unsigned)where
					? key_texts[a].keys
					: "";
				*at; at += strspn(at, " ")) {
				size_t length = keys_read(at, &key);

				if (length == 0 ||
					keys_action(key, (enum where)where) != (enum action)a)
					ok(false, "each key means one thing in view %d: %s", where,
						at);
				at += length ? length : 1;
			}
	cells_free(&c);
}

static void test_runs(void)
{
	struct runs *r = runs_new();

	if (!r)
		return;
	runs_apply_list(r,
		slice("[{\"execution_id\":\"a1\",\"method\":\"sandbox.run\",\"state\":\"running\"},"
		      "{\"execution_id\":\"b2\",\"method\":\"tool.spawn\",\"state\":\"running\"}"
		      "]"));
	is_int((int)runs_count(r), 1, "what runs nothing is no row");
	runs_apply_list(r, slice("[]"));
	ok(runs_newest(r) && !run_is_live(runs_newest(r)), "a run that is listed no more is gone");
	runs_free(r);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	plan(0);
	test_values();
	test_runs();
	test_cells();
	test_breaking();
	test_taking();
	test_pages();
	test_lists();
	test_log();
	test_sorting();
	test_rest();
	return done();
}
