/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emitter, the envelope, the protocol, and options as a profile again.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "isolate/monitor/emitter.h"
#include "isolate/base/json_gate.h"
#include "isolate/options/option_table.h"
#include "isolate/daemon/bus.h"
#include "isolate/daemon/line.h"
#include "isolate/daemon/protocol.h"
#include "tests/unit/tap.h"

static const struct json_gate_rules LINE = {
	.max_depth = 16, .must_be_object = true, .one_line = true
};

static bool all_lines_good(const char *lines, size_t length, unsigned *count)
{
	char reason[240];

	for (*count = 0; length > 0; ++*count) {
		const char *newline = memchr(lines, '\n', length);
		struct event_line envelope;

		if (!newline ||
			!json_gate_check(
				&LINE, lines, (size_t)(newline - lines), reason, sizeof reason) ||
			!event_line_read(lines, (size_t)(newline - lines), &envelope)) {
			diag("%.*s", (int)(length < 300 ? length : 300), lines);
			return false;
		}
		length -= (size_t)(newline + 1 - lines);
		lines = newline + 1;
	}
	return true;
}

static void test_emitter(void)
{
	static const char hostile[] =
		"a\"b\\c\x01\x1b[31m\xc2\x85\xe2\x80\xae\xf0\x9f\x98\x80\xff\xc3\x28";
	struct emitter *e = emitter_new(-1, "subject", EMITTER_DROPS);
	const char *words[] = { "read", "write" };
	struct event_line envelope;
	const char *lines;
	unsigned count;
	size_t length;

	emit_begin(e, EVENT_TYPE_FS_DENIED, INT64_C(1700000000123456789));
	emit_bytes(e, EVENT_FIELD_PATH, hostile, sizeof hostile - 1);
	emit_words(e, EVENT_FIELD_FLAGS, words, 2);
	emit_words(e, EVENT_FIELD_OBSERVED, NULL, 0);
	emit_number(e, EVENT_FIELD_COUNT, INT64_MIN);
	emit_truth(e, EVENT_FIELD_SUCCESS, false);
	emit_duration(e, EVENT_FIELD_DURATION, 12045);
	emit_duration(e, EVENT_FIELD_ELAPSED, -1);
	emit_end(e);
	lines = emitter_lines(e, &length);
	ok(all_lines_good(lines, length, &count) && count == 1,
		"hostile bytes give one line of JSON");
	ok(memmem(lines, length, "\"path_b64\":\"", 12) != NULL,
		"bytes that are no UTF-8 stand beside in base64");
	ok(memchr(lines, '\x1b', length) == NULL &&
			memmem(lines, length, "\xe2\x80\xae", 3) == NULL,
		"nothing in it acts on a terminal");
	ok(memmem(lines, length, "\"time\":\"2023-11-14T22:13:20.123456Z\"", 36) != NULL,
		"the time is what it was");
	ok(memmem(lines, length, "-9223372036854775808", 20) != NULL, "the smallest number");
	ok(memmem(lines, length, "\"duration_ms\":12.045,\"elapsed_ms\":0.000", 39) != NULL,
		"milliseconds have fractions, and are never negative");
	event_line_read(lines, length - 1, &envelope);
	ok(envelope.sequence == 0 && envelope.type_length == 9 && envelope.subject_length == 7,
		"the envelope is read");
	emitter_close(e, NULL);
}

static void test_room(void)
{
	static char large[EMITTER_LINE_MAX];
	struct emitter *e = emitter_new(-1, "s", EMITTER_DROPS);
	const char *lines;
	unsigned count;
	size_t length;

	memset(large, 'x', sizeof large);
	emit_begin(e, EVENT_TYPE_OUTPUT_STDOUT, 0);
	emit_bytes(e, EVENT_FIELD_TEXT, large, sizeof large);
	emit_end(e);
	ok(emitter_lost(e) == 1, "a line that is too long is counted");
	for (int i = 0; i < 600; i++) {
		emit_begin(e, EVENT_TYPE_OUTPUT_STDOUT, 0);
		emit_bytes(e, EVENT_FIELD_TEXT, large, 40000);
		emit_end(e);
	}
	lines = emitter_lines(e, &length);
	ok(all_lines_good(lines, length, &count) && length <= 16 << 20,
		"what waits is bounded and whole");
	ok(emitter_lost(e) + count == 1 + 600 + 1,
		"everything else was counted, and events.dropped was told once (%u lines)", count);
	ok(memmem(lines, length, "events.dropped", 14) != NULL, "what was dropped is said");
	emit_last(e);
	emit_begin(e, EVENT_TYPE_SANDBOX_EXECUTED, 0);
	emit_end(e);
	lines = emitter_lines(e, &length);
	ok(memmem(lines + length - 300, 300, "sandbox.executed", 16) != NULL,
		"there is room for the last line");
	ok(all_lines_good(lines, length, &count) && emitter_lost(e) == 1 + 600 - (count - 3),
		"and for what is missing");
	emitter_close(e, NULL);
}

static void test_budget(void)
{
	struct emitter *e = emitter_new(-1, "s", EMITTER_DROPS);
	unsigned hits = 0, count = 0;
	const char *lines, *at;
	size_t length;

	emitter_budget(e, 10000);
	for (int i = 0; i < 1000; i++) {
		emit_begin(e, EVENT_TYPE_SANDBOX_PAUSED, 0);
		emit_duration(e, EVENT_FIELD_ELAPSED, i);
		emit_end(e);
	}
	lines = emitter_lines(e, &length);
	ok(emitter_is_spent(e) && length > 9500 && length < 10400,
		"events end with their budget: %zu bytes", length);
	for (at = lines; (at = memmem(at, (size_t)(lines + length - at), "\"event-size\"", 12));
		at++)
		hits++;
	ok(hits == 1 && all_lines_good(lines, length, &count) && emitter_lost(e) == 1001 - count,
		"which is said once, and the lost are counted");
	emit_begin(e, EVENT_TYPE_LIMIT_HIT, 0);
	emit_text(e, EVENT_FIELD_LIMIT, "wall-time");
	emit_end(e);
	lines = emitter_lines(e, &length);
	ok(memmem(lines, length, "wall-time", 9) != NULL,
		"another limit that is hit is told all the same");
	emit_last(e);
	emit_begin(e, EVENT_TYPE_SANDBOX_EXECUTED, 0);
	emit_end(e);
	lines = emitter_lines(e, &length);
	ok(memmem(lines, length, "sandbox.executed", 16) != NULL &&
			memmem(lines, length, "events.dropped", 14) != NULL,
		"the last ones come all the same, and what was dropped is said");
	emitter_close(e, NULL);
}

static void test_pipe(void)
{
	struct emitter *e;
	char bytes[4096];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	e = emitter_new(ends[1], "s", EMITTER_DROPS);
	emit_begin(e, EVENT_TYPE_SANDBOX_PAUSED, 0);
	emit_duration(e, EVENT_FIELD_ELAPSED, 1);
	emit_end(e);
	emit_flush(e);
	ok(read(ends[0], bytes, sizeof bytes) > 0 && !emitter_is_waiting(e),
		"a line is written to the pipe");
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		emit_begin(e, EVENT_TYPE_SANDBOX_PAUSED, 0);
		emit_end(e);
		emit_flush(e);
	}
	ok(emitter_lost(e) == 3, "a reader that has gone loses the rest");
	emitter_close(e, NULL);
}

static void test_table(void)
{
	bool sound = true;

	for (int i = 0; i < EVENT_TYPES; i++) {
		const char *at = event_types[i].fields;
		int optional;

		while (event_next_field(&at, &optional))
			;
		sound &= *at == '\0';
	}
	ok(sound, "every type names fields that exist");
}

static void test_filter(void)
{
	static const char line[] =
		"{\"sequence\":7,\"specversion\":\"1.0\",\"id\":\"a-1\",\"source\":\"/"
		"cordon\",\"type\":\"fs.denied\",\"subject\":\"a\",\"data\":{}}";
	struct event_line e;

	ok(event_line_read(line, sizeof line - 1, &e) && e.sequence == 7, "a line");
	ok(event_filter_wants(&(struct event_filter){ "", "" }, &e), "no filter");
	ok(event_filter_wants(&(struct event_filter){ "*.denied", "a" }, &e), "type and subject");
	ok(!event_filter_wants(&(struct event_filter){ "net.*", "" }, &e), "another type");
	ok(!event_filter_wants(&(struct event_filter){ "", "ab" }, &e), "another subject");
	for (size_t cut = 0; cut + 1 < sizeof line - 1; cut++)
		if (event_line_read(line, cut, &e)) {
			ok(false, "a line cut at %zu is read", cut);
			return;
		}
	ok(true, "a line that is cut is none");
}

static int read_code(const char *line, char *id, size_t size)
{
	struct protocol_request r;
	struct protocol_refusal refusal;
	bool accepted = protocol_read(line, strlen(line), &r, &refusal);

	snprintf(id, size, "%s", r.id);
	return accepted ? 0 : refusal.code;
}

static void test_protocol(void)
{
	static const struct {
		const char *line;
		int code;
		const char *id;
	} CASES[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\"}", 0, "1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\",\"method\":\"daemon.info\",\"params\":{}"
		  "}",
			0, "\"\\u00e9\"" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"daemon.info\"}", 0, "" },
		{ " { \"method\" : \"events.subscribe\" , \"jsonrpc\" : \"2.0\" , \"params\" : { "
		  "\"since\" : 5 } , \"id\" : -3 } ",
			0, "-3" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"daemon.info\"}", ERROR_REQUEST,
			"null" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"daemon.info\"}", ERROR_REQUEST, "1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\",\"extra\":1}",
			ERROR_REQUEST, "null" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon\"}", ERROR_METHOD, "1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sandbox.kill\",\"params\":{"
		  "\"execution\":\"a\"}}",
			ERROR_PARAMS, "1" },
		{ "[]", ERROR_PARSE, "null" },
		{ "", ERROR_PARSE, "null" },
	};
	char id[PROTOCOL_ID_MAX];

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		int code = read_code(CASES[i].line, id, sizeof id);

		ok(code == CASES[i].code && strcmp(id, CASES[i].id) == 0, "request: %s",
			CASES[i].line);
	}
}

static void test_slices(void)
{
	static const char text[] = "{ \"a\" : {\"a\":1, \"b\":[\"}\",2]} , \"b\":\"x\\\"y\" "
				   ",\"c\":12345678901234567890 }";
	struct json_slice a = json_get(json_slice(text, sizeof text - 1), "a"),
			  b = json_get(json_slice(text, sizeof text - 1), "b"),
			  c = json_get(json_slice(text, sizeof text - 1), "c");
	char copy[8];

	ok(a.length == 20 && memcmp(a.text, "{\"a\":1, \"b\":[\"}\",2]}", 20) == 0,
		"an object (%zu)", a.length);
	ok(b.length == 6 && !json_copy(b, copy, sizeof copy),
		"a string with an escape is cut out and not copied");
	ok(c.length == 20, "a number keeps its digits");
	ok(!json_get(json_slice(text, sizeof text - 1), "d").text, "what is not there");
}

static void test_options(void)
{
	struct options one, two;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	struct json_writer w;
	struct error err = ERROR_INIT;

	options_init(&one, FOR_RUN);
	options_init(&two, FOR_RUN);
	ok(options_set(&one, FOR_RUN, "memory", "33.333333", &err) == 0 &&
			options_set(&one, FOR_RUN, "timeout", "1.234567", &err) == 0 &&
			options_set(&one, FOR_RUN, "ro", "/a:b:/c", &err) == 0 &&
			options_set(&one, FOR_RUN, "env", "A=b=c", &err) == 0 &&
			options_set(&one, FOR_RUN, "hide", "**/x y", &err) == 0 &&
			options_set(&one, FOR_RUN, "events", "/e", &err) == 0,
		"options are set");
	json_begin(&w, &first);
	ok(options_write(&one, FOR_RUN, &w), "they are written");
	ok(options_profile(&two, FOR_RUN, "again", first.data, first.length, &err) == 0,
		"and read: %s", err.context);
	json_begin(&w, &second);
	options_write(&two, FOR_RUN, &w);
	ok(first.length == second.length && memcmp(first.data, second.data, first.length) == 0,
		"to the same options");
	ok(two.memory_bytes == one.memory_bytes && two.timeout_us == one.timeout_us &&
			two.events_file == NULL,
		"to the byte; where events go is no part of it");
	options_set(&one, FOR_RUN, "export", "/\xff", &err);
	buffer_free(&first);
	json_begin(&w, &first);
	ok(!options_write(&one, FOR_RUN, &w), "what JSON cannot say is told");
	buffer_free(&first);
	buffer_free(&second);
	options_free(&one);
	options_free(&two);
}

/*
 * Enough to go round the ring several times, in lines of every length; what is remembered is what
 * was written, and the log has everything.
 */
static void test_bus(void)
{
	static char line[5000];
	char directory[] = "/tmp/cordon-unit-XXXXXX", path[64], *log_line = NULL;
	struct error err = ERROR_INIT;
	struct audit *audit;
	struct bus *bus;
	size_t capacity = 0, length;
	bool remembered = true, complete = true;
	uint64_t expected = 1;
	FILE *file;

	if (!mkdtemp(directory))
		return;
	snprintf(path, sizeof path, "%s/log", directory);
	audit = audit_open(path, 0, 0, &err);
	bus = audit ? bus_new(audit) : NULL;
	for (unsigned i = 0; bus && i < 70000; i++) {
		int head = snprintf(line, sizeof line,
			"{\"sequence\":0,\"specversion\":\"1.0\",\"id\":\"%u\",\"source\":\"/"
			"\",\"type\":\"t\",\"subject\":\"s\",\"data\":{\"x\":\"",
			i);
		size_t filling = i * 7919 % 1500;

		memset(line + head, 'x', filling);
		memcpy(line + head + filling, "\"}}", 4);
		bus_publish(bus, line, (size_t)head + filling + 3);
		if (i % 50 == 0)
			bus_commit(bus);
	}
	bus_publish(bus, "no event", 8);
	bus_commit(bus);
	ok(bus_next(bus) == 70001 && bus_malformed(bus) == 1,
		"everything was numbered, what was no event was not");
	for (uint64_t n = bus_oldest(bus); n < bus_next(bus); n++) {
		const char *text = bus_line(bus, n, &length);
		struct event_line e;

		remembered &= text && text[length - 1] == '\n' &&
			event_line_read(text, length - 1, &e) && e.sequence == n;
	}
	ok(remembered && bus_next(bus) - bus_oldest(bus) > 5000,
		"the last %llu are remembered whole",
		(unsigned long long)(bus_next(bus) - bus_oldest(bus)));
	ok(!bus_line(bus, bus_oldest(bus) - 1, &length) && !bus_line(bus, bus_next(bus), &length),
		"what is older or not yet there is not");
	bus_free(bus);
	audit_close(audit);
	file = fopen(path, "re");
	for (ssize_t got; file && (got = getline(&log_line, &capacity, file)) > 0; expected++) {
		struct event_line e;

		complete &=
			event_line_read(log_line, (size_t)got - 1, &e) && e.sequence == expected;
	}
	if (file)
		fclose(file);
	free(log_line);
	ok(complete && expected == 70001, "the log has every line, in order (%llu)",
		(unsigned long long)expected - 1);
	unlink(path);
	snprintf(path, sizeof path, "%s/log.lock", directory);
	unlink(path);
	rmdir(directory);
}

int main(void)
{
	plan(0);
	test_table();
	test_emitter();
	test_room();
	test_budget();
	test_pipe();
	test_filter();
	test_protocol();
	test_slices();
	test_bus();
	test_options();
	return done();
}
