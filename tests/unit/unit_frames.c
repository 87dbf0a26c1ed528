/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that comes from inside as bytes: reports, replies, spawn messages, plans. Good ones
 * are read, and each way of being wrong is refused.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/view/view_config.h"
#include "isolate/wire/limits.h"
#include "isolate/base/message.h"
#include "isolate/wire/init_plan.h"
#include "isolate/wire/init_report.h"
#include "isolate/wire/body_request.h"
#include "isolate/sandbox/runner_client.h"
#include "tests/unit/tap.h"

static void test_reports(void)
{
	struct report good, read_back, bad;
	struct error err = ERROR_INIT;

	report_init(&good, REPORT_STARTED);
	good.layers = LAYER_SECCOMP;
	ok(report_parse(&good, sizeof good, &read_back) && read_back.layers == LAYER_SECCOMP,
		"a report is read as it was written");
	ok(!report_parse(&good, sizeof good - 1, &read_back), "a short report is refused");
#define REFUSED(change, what) \
	do { \
		bad = good; \
		change; \
		ok(!report_parse(&bad, sizeof bad, &read_back), "refused: " what); \
	} while (0)
	REFUSED(bad.magic ^= 1, "another magic");
	REFUSED(bad.kind = 0, "no kind");
	REFUSED(bad.kind = REPORT_CONTINUED + 1, "an unknown kind");
	REFUSED(bad.layers = 1u << LAYER_COUNT, "an unknown layer");
	REFUSED(bad.failure = FAILURE_COUNT, "an unknown failure");
	REFUSED(bad.status = -1, "a negative status");
	REFUSED(bad.status = 0x10000, "a status beyond wait(2)'s");
	REFUSED(bad.error = 5000, "an errno beyond the kernel's");
	REFUSED(bad.limits = 8, "a limit that is no limit");
	REFUSED(bad.pid = 0x80000000u, "a process number beyond what the kernel gives");
	REFUSED(bad.kind = REPORT_FAILED, "a failure without a code");
	REFUSED(memset(bad.context, 'a', sizeof bad.context), "text without an end");
#undef REFUSED
	error_set(&err, FAILURE_PROC_MASKED, 1, "%0400d", 7);
	report_failure(&good, &err);
	ok(report_parse(&good, sizeof good, &read_back) && read_back.failure == FAILURE_PROC_MASKED,
		"a failure with a long context is cut to fit");
}

union area {
	struct body_reply head;
	char room[sizeof(struct body_reply) + 64];
};

static void fill(union area *a, enum body_verdict verdict, const char *output, const char *error)
{
	memset(a, 0, sizeof *a);
	a->head.verdict = verdict;
	memcpy(a->head.data, output, strlen(output));
	memcpy(a->head.data + 32, error, strlen(error));
	a->head.field[BODY_OUTPUT].length = strlen(output);
	a->head.field[BODY_ERROR].offset = 32;
	a->head.field[BODY_ERROR].length = strlen(error);
}

static void test_replies(void)
{
	struct runner_answer answer;
	union area a;

	fill(&a, BODY_SUCCEEDED, "[1,2]", "");
	ok(runner_reply_parse(&a, sizeof a, &answer) && answer.verdict == BODY_SUCCEEDED &&
			answer.field[BODY_OUTPUT].length == 5,
		"a value is found");
	ok(!runner_reply_parse(&a, sizeof a.head - 1, &answer), "refused: a head that is cut");
	a.head.field[BODY_OUTPUT].length = 65;
	ok(!runner_reply_parse(&a, sizeof a, &answer), "refused: a length beyond the area");
	a.head.field[BODY_OUTPUT].length = UINT64_MAX;
	a.head.field[BODY_OUTPUT].offset = 8;
	ok(!runner_reply_parse(&a, sizeof a, &answer), "refused: offset and length that overflow");
	fill(&a, BODY_SUCCEEDED, "", "");
	ok(!runner_reply_parse(&a, sizeof a, &answer), "refused: a success without a value");
	fill(&a, BODY_FAILED, "1", "");
	ok(!runner_reply_parse(&a, sizeof a, &answer), "refused: a failure without a word");
	fill(&a, (enum body_verdict)77, "1", "x");
	ok(!runner_reply_parse(&a, sizeof a, &answer), "refused: an unknown verdict");
}

static void take(const union area *a, struct record *r)
{
	memset(r, 0, sizeof *r);
	runner_client_take(a, sizeof *a, false, r);
}

static void test_results(void)
{
	struct record r;
	union area a;

	fill(&a, BODY_SUCCEEDED, "18446744073709551616", "");
	take(&a, &r);
	ok(r.success && r.output.length == 20 &&
			memcmp(r.output.data, "18446744073709551616", 20) == 0,
		"a number beyond 2^53 passes to the byte");
	record_free(&r);
	fill(&a, BODY_SUCCEEDED, "NaN", "");
	take(&a, &r);
	ok(!r.success && r.output.length == 0 && r.error.length > 0,
		"a value that is no JSON becomes a failure");
	record_free(&r);
	fill(&a, BODY_SUCCEEDED, "[1,\n2]", "");
	take(&a, &r);
	ok(!r.success,
		"a value with a raw newline, which would break the record's line, becomes a "
		"failure");
	record_free(&r);
	fill(&a, BODY_FAILED, "", "E: \x1b[2Jx");
	take(&a, &r);
	ok(!r.success && !memchr(r.error.data, 0x1b, r.error.length),
		"an escape sequence in an error is made visible");
	record_free(&r);
	fill(&a, BODY_REFUSED, "", "ValidationError: x");
	take(&a, &r);
	ok(!r.success && !r.refused, "a refusal that PID 1 did not hear of is none");
	record_free(&r);
	fill(&a, BODY_SUCCEEDED, "1", "");
	memset(&r, 0, sizeof r);
	runner_client_take(&a, sizeof a, true, &r);
	ok(!r.success && !r.refused, "nor is a success of a body that never began");
	record_free(&r);
	fill(&a, BODY_REFUSED, "", "ValidationError: x");
	memset(&r, 0, sizeof r);
	runner_client_take(&a, sizeof a, true, &r);
	ok(r.refused, "a refusal that both tell of is one");
	record_free(&r);
	fill(&a, BODY_NO_VERDICT, "", "");
	take(&a, &r);
	ok(!r.success && r.error.length > 0 && r.detail.length > 0,
		"no answer is a failure with details");
	record_free(&r);
}

static void test_spawns(void)
{
	struct runner_spawn good, out;

	memset(&good, 0, sizeof good);
	good.magic = RUNNER_SPAWN_MAGIC;
	good.limits.profile = PROFILE_BODY;
	ok(runner_spawn_parse(&good, sizeof good, &out), "a spawn message is read");
	good.limits.profile = PROFILE_NONE;
	ok(!runner_spawn_parse(&good, sizeof good, &out), "refused: a program without a filter");
	good.limits.profile = PROFILE_BODY;
	good.targets_length = sizeof good.targets + 1;
	ok(!runner_spawn_parse(&good, sizeof good, &out), "refused: targets beyond the message");
	good.targets_length = 4;
	memcpy(good.targets, "/tmp", 4);
	ok(!runner_spawn_parse(&good, sizeof good, &out), "refused: targets without an end");
}

static void test_plans(void)
{
	struct plan_builder b;
	struct error err = ERROR_INIT;
	const struct plan *read_plan;
	const struct plan_bind *binds;
	const struct plan_file *files;
	struct plan copy;
	int fd, damaged;

	plan_begin(&b);
	b.plan.command = packer_string(&b.packer, "true");
	b.plan.directory = packer_string(&b.packer, "/");
	plan_add_argument(&b, "true");
	plan_add_environment(&b, "A=b");
	plan_add_bind(&b, "/usr", "/there", PLAN_BIND_OPTIONAL);
	plan_add_file(&b, "/etc/x", "a\0b", 3);
	fd = plan_finish(&b, &err);
	read_plan = plan_open(fd, &err);
	ok(read_plan != NULL, "a plan is read");
	if (!read_plan)
		return;
	binds = packed_rows(read_plan, read_plan->binds);
	files = packed_rows(read_plan, read_plan->files);
	is_str(packed_string(read_plan, read_plan->command), "true", "its command");
	is_str(packed_row_string(read_plan, read_plan->env, 0), "A=b", "its environment");
	is_str(packed_string(read_plan, binds[0].target), "/there", "the target of its bind");
	ok(files[0].content.length == 3 &&
			memcmp(packed_string(read_plan, files[0].content), "a\0b", 3) == 0,
		"the content of its file, NUL and all");
	ok(ftruncate(fd, 1) != 0 && write(fd, "x", 1) < 0, "it is sealed");
	copy = *read_plan;
	for (int i = 0; i < 3; i++) {
		copy = *read_plan;
		if (i == 0)
			copy.argv.count = 0x20000000;
		else if (i == 1)
			copy.command.offset = copy.head.size;
		else
			copy.head.version++;
		damaged = memfd_create("damaged", MFD_CLOEXEC);
		ok(damaged >= 0 && write(damaged, &copy, sizeof copy) == sizeof copy &&
				ftruncate(damaged, (off_t)copy.head.size) == 0 &&
				!plan_open(damaged, &err),
			"a damaged plan is refused (%d)", i);
		close(damaged);
	}
	close(fd);
}

static void test_requests(void)
{
	const struct body_request good = {
		.source = { "a\0b", 3 },
		.args = { "{}", 2 },
		.return_expr = { "", 0 },
		.allow = { "re,json", 7 },
		.permit = { "", 0 },
		.copies = { "one\0two", 8 },
		.output_limit = UINT64_C(5) << 32,
		.validate_only = true,
	};
	struct error err = ERROR_INIT;
	struct body_request r;
	int fd = body_request_write(&good, &err);

	ok(body_request_open(fd, &r, &err) == 0 && r.source.length == 3 &&
			memcmp(r.source.bytes, "a\0b", 3) == 0 &&
			strcmp(r.allow.bytes, "re,json") == 0,
		"a body request is read, NUL and all");
	ok(r.copies.length == 8 && strcmp(r.copies.bytes + 4, "two") == 0,
		"with the names of its files");
	ok(r.output_limit == good.output_limit && r.validate_only && !r.skip_validation,
		"and what is asked of it");
	ok(!plan_open(fd, &err), "it does not pass for a plan");
	close(fd);
}

static void test_view_configs(void)
{
	struct error err = ERROR_INIT;
	const struct view_config *c;
	const struct config_place *places;
	struct config_builder b;
	struct body_request r;
	int fd;

	config_begin(&b, "/home/u");
	b.config.flags = CONFIG_SEND_OPENS;
	config_add_tree(&b, "/srv", "/data", CONFIG_TREE_OPTIONAL);
	config_add_hide(&b, "*.key");
	config_add_mask(&b, "/srv/a", "x");
	config_add_place(&b, "sub", 0, true);
	fd = config_finish(&b, &err);
	c = config_open(fd, &err);
	ok(c != NULL, "a view's configuration is read");
	if (!c)
		return;
	places = packed_rows(c, c->places);
	is_str(packed_string(c, config_trees(c)[0].target), "/data", "its tree");
	is_str(packed_row_string(c, c->hides, 0), "*.key", "its pattern");
	ok(c->masks.count == 1 && places[0].is_directory && c->flags == CONFIG_SEND_OPENS,
		"its stand-in, place and flags");
	ok(body_request_open(fd, &r, &err) < 0, "it does not pass for a body request");
	close(fd);
}

static void test_messages(void)
{
	int pair[2], fds[4], many[4] = { 0, 1, 2, 0 };
	char bytes[8];
	size_t count;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return;
	ok(message_send(pair[0], "hello", 5, many, 2) == 0 &&
			message_receive(pair[1], bytes, sizeof bytes, fds, 4, &count) == 5 &&
			count == 2,
		"a message with two descriptors");
	close(fds[0]);
	close(fds[1]);
	ok(message_send(pair[0], "hello", 5, many, 4) == 0 &&
			message_receive(pair[1], bytes, sizeof bytes, fds, 2, &count) < 0 &&
			count == 0,
		"more descriptors than there is room for: refused, and none is kept");
	ok(message_send(pair[0], "much too long", 13, NULL, 0) == 0 &&
			message_receive(pair[1], bytes, sizeof bytes, fds, 4, &count) < 0,
		"a message that does not fit is refused");
	close(pair[0]);
	ok(message_receive(pair[1], bytes, sizeof bytes, fds, 4, &count) == 0,
		"the end of the peer");
	close(pair[1]);
}

int main(void)
{
	plan(0);
	test_reports();
	test_replies();
	test_results();
	test_spawns();
	test_plans();
	test_requests();
	test_view_configs();
	test_messages();
	return done();
}
