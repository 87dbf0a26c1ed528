/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talking to the runner. See runner_client.h.
 *
 * The reply was written by a process that ran hostile code. It is copied once, checked for its
 * shape, and each part is checked for what it claims to be: the value and the details must be JSON
 * by the strict gate, the error becomes one visible line. What fails a check is dropped with a word
 * about it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/runner_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/text.h"

#define LONGEST_ERROR 8192
#define LARGEST_REPLY ((off_t)3 << 30)

static const struct json_gate_rules VALUE_RULES = {
	.max_depth = 1024, .allow_nul = true, .one_line = true
};
static const struct json_gate_rules DETAIL_RULES = { .max_bytes = 1 << 20,
	.max_depth = 16,
	.allow_nul = true,
	.must_be_object = true,
	.one_line = true };

int runner_client_begin(struct sandbox_plan *c, const int standard[3], struct error *err)
{
	int pair[2], fds[RUNNER_SPAWN_FDS];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the socket of the execution");
	fds[0] = pair[1];
	memcpy(fds + 1, standard, 3 * sizeof *standard);
	if (message_send(c->runner_socket, &c->spawn, sizeof c->spawn, fds, RUNNER_SPAWN_FDS) !=
			0 ||
		message_send(pair[0], "R", 1, c->request_fds, c->request_fd_count) != 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"sending the request to the runner");
		close(pair[0]);
		pair[0] = -1;
	}
	close(pair[1]);
	return pair[0];
}

static void fail(struct record *r, const char *sentence)
{
	r->success = false;
	buffer_free(&r->output);
	buffer_free(&r->error);
	buffer_free(&r->detail);
	buffer_add_text(&r->error, sentence);
	buffer_add_text(&r->detail,
		"{\"stage\":\"execute\",\"type\":\"ResultChannel\",\"message\":\"the program left "
		"no usable result\",\"line\":null,\"column\":null,\"traceback\":[]}");
}

static void take_answer(const struct runner_answer *a, struct record *r)
{
	char reason[160], sentence[256];
	size_t length = a->field[BODY_ERROR].length;

	if (a->verdict == BODY_SUCCEEDED) {
		if (!json_gate_check(&VALUE_RULES, a->field[BODY_OUTPUT].bytes,
			    a->field[BODY_OUTPUT].length, reason, sizeof reason)) {
			snprintf(sentence, sizeof sentence,
				"ResultChannel: the result is not JSON: %s", reason);
			fail(r, sentence);
			return;
		}
		buffer_add(&r->output, a->field[BODY_OUTPUT].bytes, a->field[BODY_OUTPUT].length);
		r->success = true;
		if (a->field[BODY_DETAIL].length > 0)
			r->note = "nothing was returned or called: the body only defines functions "
				  "or classes";
		return;
	}
	r->refused = a->verdict == BODY_REFUSED;
	text_visible(&r->error, a->field[BODY_ERROR].bytes,
		length < LONGEST_ERROR ? length : LONGEST_ERROR, TEXT_ONE_LINE);
	if (a->field[BODY_DETAIL].length > 0 &&
		json_gate_check(&DETAIL_RULES, a->field[BODY_DETAIL].bytes,
			a->field[BODY_DETAIL].length, reason, sizeof reason))
		buffer_add(&r->detail, a->field[BODY_DETAIL].bytes, a->field[BODY_DETAIL].length);
}

static bool read_at(int fd, char *to, size_t from, size_t until)
{
	while (from < until) {
		ssize_t got = pread(fd, to + from, until - from, (off_t)from);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		from += (size_t)got;
	}
	return true;
}

/*
 * A private copy of the head and of as much as it lays claim to: the file is shared memory, and a
 * copy cannot change between two looks. NULL when the file is none of ours or the claim is beyond
 * it.
 */
static char *copy_of(int fd, size_t *length)
{
	struct body_reply head;
	size_t end = sizeof head;
	struct stat st;
	char *copy;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
		st.st_size < (off_t)sizeof head || st.st_size > LARGEST_REPLY ||
		!read_at(fd, (char *)&head, 0, sizeof head))
		return NULL;
	for (int i = 0; i < BODY_FIELDS; i++) {
		uint64_t room = (uint64_t)st.st_size - sizeof head;

		if (head.field[i].offset > room ||
			head.field[i].length > room - head.field[i].offset)
			return NULL;
		if (sizeof head + head.field[i].offset + head.field[i].length > end)
			end = sizeof head + (size_t)(head.field[i].offset + head.field[i].length);
	}
	copy = malloc(end);
	if (!copy)
		return NULL;
	memcpy(copy, &head, sizeof head);
	if (!read_at(fd, copy, sizeof head, end)) {
		free(copy);
		return NULL;
	}
	*length = end;
	return copy;
}

void runner_client_take(const void *bytes, size_t length, bool refused, struct record *r)
{
	struct runner_answer answer;

	if (!runner_reply_parse(bytes, length, &answer) ||
		(answer.verdict != BODY_NO_VERDICT && refused != (answer.verdict == BODY_REFUSED)))
		fail(r,
			"ResultChannel: the program damaged the memory in which its result is "
			"left");
	else if (answer.verdict != BODY_NO_VERDICT)
		take_answer(&answer, r);
	else
		fail(r, "ResultChannel: the program ended without leaving a result");
}

void runner_client_end(int reply_fd, bool refused, struct record *r)
{
	size_t length = 0;
	char *copy = copy_of(reply_fd, &length);

	runner_client_take(copy ? copy : "", length, refused, r);
	free(copy);
}
