/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of a view. See view_client.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/view_client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/view/view_config.h"
#include "fs/view/view_event.h"
#include "isolate/base/json_write.h"
#include "isolate/base/message.h"
#include "isolate/base/text.h"
#include "isolate/wire/execution_request.h"
#include "isolate/wire/init_report.h"

#define READY_MS 20000
#define STEP_MS 100
#define FINISH_MS 500

/*
 * What the caller asks for meanwhile: to end, which is done at once, or something for the program,
 * which is kept.
 */
static bool is_interrupted(struct view_client *s, int interrupts)
{
	unsigned char numbers[16];
	ssize_t count = read(interrupts, numbers, sizeof numbers);

	for (ssize_t i = 0; i < count; i++) {
		if (numbers[i] == SIGINT || numbers[i] == SIGTERM || numbers[i] == SIGHUP ||
			numbers[i] == SIGQUIT || numbers[i] == SIGKILL)
			s->interrupted = numbers[i];
		else if (numbers[i] > 0 && numbers[i] < 64)
			s->held_signals |= UINT64_C(1) << numbers[i];
		else if (numbers[i] > CONTROL_CAUSE && numbers[i] < CONTROL_CAUSE + END_CAUSES)
			s->end_cause = (enum end_cause)(numbers[i] - CONTROL_CAUSE);
	}
	return s->interrupted != 0;
}

/*
 * Waits for the first word. The server goes through directories of the caller's, and they may be
 * slow.
 */
static int await_word(struct view_client *s, int interrupts, struct error *err)
{
	struct pollfd polled[2] = { { s->launch.control, POLLIN, 0 }, { interrupts, POLLIN, 0 } };

	for (int waited = 0; waited < READY_MS; waited += STEP_MS) {
		siginfo_t info = { .si_pid = 0 };

		if (poll(polled, 2, STEP_MS) < 0 && errno != EINTR)
			return error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
				"waiting for the view's server");
		if (polled[1].revents && is_interrupted(s, interrupts))
			return error_set(err, FAILURE_VIEW_LOST, 0,
				"signal %d came before the view's server was ready",
				s->interrupted);
		if (polled[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			polled[1].fd = -1;
		if (polled[0].revents)
			return 0;
		if (waitid(P_PIDFD, (id_t)s->launch.pidfd, &info,
			    WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
			info.si_pid != 0)
			return error_set(err, FAILURE_VIEW_LOST, 0,
				"the view's server (process %d) was stopped by signal %d before it "
				"was ready",
				(int)info.si_pid, info.si_status);
	}
	return error_set(err, FAILURE_VIEW_LOST, ETIMEDOUT,
		"the view's server was not ready after %d seconds; a named path may lie on a file "
		"system that does not answer",
		READY_MS / 1000);
}

/* The answer to the configuration: ready with the mount, or why not. */
static int await(struct view_client *s, int interrupts, struct error *err)
{
	char bytes[sizeof(struct report) + 1];
	struct report r;
	siginfo_t how;
	int fds[1];
	size_t count;
	ssize_t got;

	if (await_word(s, interrupts, err) < 0)
		return -1;
	got = message_receive(s->launch.control, bytes, sizeof bytes, fds, 1, &count);
	if (got > 0 && report_parse(bytes, (size_t)got, &r)) {
		if (r.kind == REPORT_READY && count == 1)
			return fds[0];
		if (count == 1)
			close(fds[0]);
		if (r.kind == REPORT_FAILED)
			return error_set(err, (enum failure)r.failure, r.error, "%s", r.context);
	}
	error_set(err, FAILURE_FUSE_UNAVAILABLE, got < 0 ? errno : 0,
		"the view's server ended before it was ready");
	if (launch_is_over(&s->launch, FINISH_MS, &how) && how.si_code != CLD_EXITED)
		error_set(err, FAILURE_VIEW_LOST, 0,
			"the view's server (process %d) was ended by signal %d before it was ready",
			(int)how.si_pid, how.si_status);
	return -1;
}

int view_client_start(struct view_client *s, int config, int sandbox_pidfd, int interrupts,
	struct event_log *log, struct view_summary *summary, struct error *err)
{
	struct launch_request request = { .program = OWN_VIEW };
	const int fds[2] = { config, sandbox_pidfd };
	int mount = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct view_config *c = config_open(config, err);

	s->log = log;
	s->summary = summary;
	s->policy = c ? config_policy(c, NULL, err) : NULL;
	if (!s->policy)
		goto out;
	if (null < 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "opening /dev/null");
		goto out;
	}
	request.standard[0] = request.standard[1] = request.standard[2] = null;
	if (launch_init(&request, &s->launch, err) < 0)
		goto out;
	if (message_send(s->launch.control, "V", 1, fds, 2) != 0)
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"sending the configuration of the view");
	else
		mount = await(s, interrupts, err);
	if (mount >= 0 && fcntl(s->launch.control, F_SETFL, O_NONBLOCK) != 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "setting up the view's socket");
		close(mount);
		mount = -1;
	}
out:
	if (null >= 0)
		close(null);
	if (mount < 0)
		/* it may be stopped, or wait for a file system that does not answer */
		view_client_kill(s);
	return mount;
}

static const char *rule_name(const struct view_client *s, int rule)
{
	if (rule == EVENT_RULE_READ_ONLY)
		return "read-only";
	if (rule == EVENT_RULE_KERNEL)
		return "kernel";
	if (rule == EVENT_RULE_DESCRIPTORS)
		return "open-files";
	return policy_rule_id(s->policy, rule);
}

/*
 * Notes a refusal among the most frequent. A full table lets go of its rarest entry, so what is
 * refused often stays.
 */
static void count_refusal(struct view_client *s, const struct event *e)
{
	struct view_summary *sum = s->summary;
	struct view_refusal *rarest = &sum->refused[0];

	for (size_t i = 0; i < VIEW_REFUSALS; i++) {
		struct view_refusal *r = &sum->refused[i];

		if (r->path && r->rule_number == e->head.rule &&
			strlen(r->path) == e->head.path_length &&
			memcmp(r->path, e->path, e->head.path_length) == 0) {
			r->count += e->head.count;
			r->is_write |= e->head.flags & EVENT_WRITE;
			return;
		}
		if (r->count < rarest->count)
			rarest = r;
	}
	free(rarest->path);
	rarest->path = strndup(e->path, e->head.path_length);
	rarest->count = rarest->path ? e->head.count : 0;
	rarest->rule_number = e->head.rule;
	rarest->is_write = e->head.flags & EVENT_WRITE;
	strncpy(rarest->rule, rule_name(s, e->head.rule), sizeof rarest->rule - 1);
}

static void take(struct view_client *s, const struct event *e)
{
	switch ((enum event_kind)e->head.kind) {
	case EVENT_OPENED:
		break; /* the last event has the sum of all */
	case EVENT_DENIED:
		s->summary->denied += e->head.count;
		count_refusal(s, e);
		break;
	case EVENT_DROPPED:
		s->summary->dropped += e->head.count;
		break;
	case EVENT_SUMMARY:
		s->summary->opened = e->head.count;
		s->finished = true;
		return;
	}
	if (!s->log)
		return;
	if (s->processes && e->head.pid > 0)
		processes_asked(s->processes, s->log, e->head.pid, e->head.time_ns);
	event_log_file(s->log, e, rule_name(s, e->head.rule),
		policy_rule_pattern(s->policy, e->head.rule));
}

bool view_client_read(struct view_client *s)
{
	static _Thread_local char bytes[EVENT_BATCH + sizeof(struct event_head) + EVENT_PATH_MAX];

	if (s->launch.control < 0)
		return false;
	for (;;) {
		ssize_t got = recv(s->launch.control, bytes, sizeof bytes, MSG_DONTWAIT);
		struct event e;
		size_t at = 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		while (event_parse(bytes, (size_t)got, &at, &e) > 0)
			take(s, &e);
		if (s->log)
			event_log_flush(s->log);
	}
}

bool view_client_is_lost(struct view_client *s, struct error *err)
{
	siginfo_t info = { .si_pid = 0 };

	if (s->finished || s->launch.pidfd < 0)
		return false;
	if (waitid(P_PIDFD, (id_t)s->launch.pidfd, &info,
		    WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0)
		info.si_pid = 0;
	/* Its socket closes a moment before it can be waited for. */
	if (view_client_read(s) && info.si_pid == 0)
		return false;
	if (s->finished)
		return false;
	if (info.si_pid == 0)
		error_set(err, FAILURE_VIEW_LOST, 0, "the view's server ended without a word");
	else if (info.si_code == CLD_STOPPED)
		error_set(err, FAILURE_VIEW_LOST, 0,
			"the view's server (process %d) was stopped by signal %d", (int)info.si_pid,
			info.si_status);
	else
		error_set(err, FAILURE_VIEW_LOST, 0, "the view's server (process %d) %s %d",
			(int)info.si_pid,
			info.si_code == CLD_EXITED ? "ended with status" : "was ended by signal",
			info.si_status);
	return true;
}

void view_client_kill(struct view_client *s)
{
	if (s->launch.pidfd >= 0)
		syscall(SYS_pidfd_send_signal, s->launch.pidfd, SIGKILL, NULL, 0);
}

void view_client_close(struct view_client *s, int wait_ms)
{
	struct pollfd rest = { s->launch.control, POLLIN, 0 };

	if (s->launch.control >= 0) {
		shutdown(s->launch.control, SHUT_WR);
		while (view_client_read(s) && poll(&rest, 1, FINISH_MS) > 0)
			;
	}
	launch_close(&s->launch, wait_ms);
	if (s->policy && s->summary && s->options)
		view_allow(s->summary, s->options, s->policy);
	policy_free(s->policy);
	s->policy = NULL;
}

/* ---- view advice ---- */

/*
 * What would have allowed it.
 *
 * Advice that does not work is worse than none, so it is given only where the rule decided by this
 * very name, and not where the file is hidden under another one, where the user's own rule names
 * the same path (of two equal rules the one that hides wins), or where the name cannot be written
 * as the option's value.
 */

static bool is_text(const char *text)
{
	size_t left = strlen(text), length;
	uint32_t code_point;

	for (; left > 0; text += length, left -= length) {
		length = text_decode((const unsigned char *)text, left, &code_point, NULL);
		if (length == 0)
			return false;
	}
	return true;
}

/* One word of a shell's, whatever the bytes are: quoted where that is needed. */
static void add_word(struct buffer *out, const char *text)
{
	static const char PLAIN[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@%=:";
	bool quote = false;

	for (const char *at = text; *at; at++)
		quote |= strchr(PLAIN, *at) == NULL && (signed char)*at > 0;
	if (quote)
		buffer_add_text(out, "'");
	for (const char *at = text; *at; at++)
		if (*at == '\'')
			buffer_add_text(out, "'\\''");
		else
			buffer_add(out, at, 1);
	if (quote)
		buffer_add_text(out, "'");
}

/*
 * The option for what is shown from one place at another, or NULL. After a colon the place inside
 * would begin, so with one it is written out; a component that ends in one is ambiguous.
 */
static char *say(const char *option, const char *source, const char *target)
{
	struct buffer out = BUFFER_INIT;
	char *both = NULL;

	if (!is_text(source) || !is_text(target) || strstr(source, ":/"))
		return NULL;
	if ((strcmp(source, target) != 0 || strchr(source, ':')) &&
		asprintf(&both, "%s:%s", source, target) < 0)
		return NULL;
	buffer_add_text(&out, option);
	buffer_add_text(&out, " ");
	add_word(&out, both ? both : source);
	free(both);
	if (!out.failed)
		return out.data;
	buffer_free(&out);
	return NULL;
}

static char *say_ro(const struct policy *policy, const struct view_refusal *r)
{
	struct policy_verdict by_name = policy_decide(policy, r->path, false);
	size_t depth = 0;

	if (r->is_write)
		return NULL; /* to be shown is not enough */
	for (const char *at = r->path; *at; at++)
		depth += *at == '/' && at[1] != '\0' && at[1] != '/';
	if (r->rule_number != POLICY_RULE_NONE) {
		if (by_name.decision != POLICY_HIDE ||
			policy_rule_shown(policy, by_name.rule) != r->rule_number)
			return NULL;
		if (by_name.exact && by_name.depth == depth &&
			!policy_rule_is_built_in(policy, by_name.rule))
			return NULL;
	}
	return say("--ro", r->path, r->path);
}

/*
 * Where a directory of the host's is shown by what was named at one place; NULL for nowhere. The
 * caller's.
 */
static char *place_of(const struct bind *named, const char *directory, bool *is_itself)
{
	char *real = realpath(named->source, NULL), *place = NULL;
	size_t length = real && strcmp(real, "/") != 0 ? strlen(real) : 0;
	struct stat st;

	*is_itself = real && strcmp(real, directory) == 0;
	if (real && strncmp(directory, real, length) == 0 &&
		(directory[length] == '/' || directory[length] == '\0') && stat(real, &st) == 0 &&
		S_ISDIR(st.st_mode) &&
		asprintf(&place, "%s%s", strcmp(named->target, "/") == 0 ? "" : named->target,
			directory + length) < 0)
		place = NULL;
	free(real);
	return place;
}

/*
 * The option for a directory at the place where it is shown, or NULL: where it is shown at two it
 * is ambiguous. only_itself: it must be what was named.
 */
static char *say_directory(const struct options *o, const char *directory, bool only_itself)
{
	char *place = NULL, *advice = NULL;
	bool is_one = true;

	for (size_t i = 0; i < o->ro_count; i++) {
		bool is_itself;
		char *next = place_of(&o->ro[i], directory, &is_itself);

		if (next && (is_itself || !only_itself)) {
			is_one = is_one && (!place || strcmp(place, next) == 0);
			free(place);
			place = next;
		} else {
			free(next);
		}
	}
	if (is_one && place)
		advice = say("--scratch", directory, place);
	free(place);
	return advice;
}

/* A write is let through for a directory: what was named, or the one that it lies in. */
static char *say_scratch(const struct options *o, const struct view_refusal *r)
{
	char *advice = say_directory(o, r->path, true), *slash = strrchr(r->path, '/'), *above;

	if (advice || !slash || slash == r->path ||
		!(above = strndup(r->path, (size_t)(slash - r->path))))
		return advice;
	advice = say_directory(o, above, false);
	free(above);
	return advice;
}

/* Whether a directory lies in a work tree of Git. */
static bool is_in_repository(const char *directory)
{
	char path[PATH_MAX + sizeof "/.git"], *slash;

	for (snprintf(path, PATH_MAX, "%s", directory); (slash = strrchr(path, '/'));
		*slash = '\0') {
		size_t length = strlen(path);
		bool found;

		strcpy(path + length, "/.git");
		found = access(path, F_OK) == 0;
		path[length] = '\0';
		if (found)
			return true;
	}
	return false;
}

static bool hid_in_repository(const struct view_summary *summary, const struct bind *named)
{
	char *real = named->scratch ? realpath(named->source, NULL) : NULL;
	bool hid = false;

	for (size_t i = 0; real && i < VIEW_REFUSALS; i++) {
		const struct view_refusal *r = &summary->refused[i];

		hid |= r->path && r->rule_number >= 0 && strncmp(r->path, real, strlen(real)) == 0;
	}
	hid = hid && is_in_repository(real);
	free(real);
	return hid;
}

void view_allow(
	struct view_summary *summary, const struct options *options, const struct policy *policy)
{
	for (size_t i = 0; i < options->ro_count; i++)
		summary->hid_in_repository |= hid_in_repository(summary, &options->ro[i]);
	for (size_t i = 0; i < VIEW_REFUSALS; i++) {
		struct view_refusal *r = &summary->refused[i];

		free(r->allow);
		r->allow = NULL;
		if (!r->path || r->rule_number == EVENT_RULE_KERNEL ||
			r->rule_number == EVENT_RULE_DESCRIPTORS)
			continue;
		r->allow = r->rule_number == EVENT_RULE_READ_ONLY ? say_scratch(options, r)
								  : say_ro(policy, r);
	}
}
