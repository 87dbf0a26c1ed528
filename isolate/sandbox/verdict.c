/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaching a verdict. See verdict.h.
 *
 * What the code did is a record, what cordon could not do is a failure; what separates the two is
 * whether the program was started. The error line says the first cause: a timeout before the signal
 * that carried it out, a memory limit before the kill.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/sandbox/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "isolate/base/cleanup.h"
#include "isolate/runner/bootstrap.h"
#include "isolate/wire/limits.h"
#include "isolate/base/text.h"

void verdict_usage(struct record *r, const struct report *ended)
{
	if (WIFEXITED(ended->status))
		r->exit_code = WEXITSTATUS(ended->status);
	else if (WIFSIGNALED(ended->status))
		r->signal = WTERMSIG(ended->status);
	r->oom = ended->limits & REPORT_LIMIT_MEMORY;
	r->limits[LIMIT_NAME_PROCESSES].is_hit = ended->limits & REPORT_LIMIT_PROCESSES;
	r->limits[LIMIT_NAME_WORKSPACE_SIZE].is_hit = ended->limits & REPORT_LIMIT_WORKSPACE;
	r->user_us = ended->usage.user_us;
	r->system_us = ended->usage.system_us;
	r->peak_memory_bytes = ended->usage.peak_memory_bytes;
	r->peak_processes = ended->usage.peak_processes;
	r->written_bytes = ended->usage.written_bytes;
}

static void raise_to(uint64_t *sum, uint64_t other)
{
	if (other > *sum)
		*sum = other;
}

void verdict_sums(struct record *r, const struct cgroup_sums *sums, bool pid1_reported)
{
	r->oom |= sums->out_of_memory;
	if (pid1_reported)
		return; /* what it counted is the program's own, without the interpreter's start */
	raise_to(&r->user_us, sums->user_us);
	raise_to(&r->system_us, sums->system_us);
	raise_to(&r->peak_memory_bytes, sums->peak_memory_bytes);
	if (sums->peak_processes > r->peak_processes)
		r->peak_processes = sums->peak_processes;
}

void verdict_limits(struct record *r, const struct options *o)
{
	const int64_t values[LIMIT_NAMES] = {
		[LIMIT_NAME_WALL_TIME] = o->timeout_us / 1000,
		[LIMIT_NAME_CPU_TIME] = o->timeout_us / 1000,
		[LIMIT_NAME_MEMORY] = o->memory_bytes,
		[LIMIT_NAME_PROCESSES] = o->pids,
		[LIMIT_NAME_FILE_SIZE] = o->fsize_bytes,
		[LIMIT_NAME_OUTPUT_SIZE] = o->output_limit_bytes,
		[LIMIT_NAME_WORKSPACE_SIZE] = o->workspace_bytes,
	};

	r->limits[LIMIT_NAME_WALL_TIME].is_hit = r->timed_out;
	r->limits[LIMIT_NAME_CPU_TIME].is_hit = r->signal == SIGXCPU;
	r->limits[LIMIT_NAME_MEMORY].is_hit = r->oom;
	r->limits[LIMIT_NAME_FILE_SIZE].is_hit = r->signal == SIGXFSZ;
	r->limits[LIMIT_NAME_OUTPUT_SIZE].is_hit = r->out.dropped > 0 || r->err.dropped > 0;
	for (size_t i = 0; i < LIMIT_NAMES; i++)
		r->limits[i].value = values[i];
}

static void detail(struct record *r, const char *type)
{
	struct json_writer w;

	buffer_free(&r->detail);
	json_begin(&w, &r->detail);
	json_open_object(&w);
	json_key(&w, "stage");
	json_string(&w, "execute");
	json_key(&w, "type");
	json_string(&w, type);
	json_key(&w, "message");
	json_bytes(&w, r->error.data, r->error.length);
	json_key(&w, "line");
	json_null(&w);
	json_key(&w, "column");
	json_null(&w);
	json_key(&w, "traceback");
	json_open_array(&w);
	json_close_array(&w);
	json_close_object(&w);
}

static void say(struct record *r, const char *type, const char *sentence)
{
	r->success = false;
	buffer_free(&r->output);
	buffer_free(&r->error);
	buffer_add_text(&r->error, sentence);
	detail(r, type);
}

static void say_signal(struct record *r)
{
	const char *name = sigabbrev_np(r->signal), *text = sigdescr_np(r->signal);
	char sentence[200];

	if (r->signal == SIGXCPU)
		snprintf(sentence, sizeof sentence,
			"sandbox execution used up its CPU time (SIGXCPU)");
	else if (r->signal == SIGXFSZ)
		snprintf(sentence, sizeof sentence,
			"the program wrote a file beyond its size limit, see --fsize (SIGXFSZ)%s",
			r->confinement.scratch ? "; the first change of a file in a --scratch "
						 "copies it whole, and that counts"
					       : "");
	else
		snprintf(sentence, sizeof sentence,
			"the program was ended by signal %d (SIG%s, %s)", r->signal,
			name ? name : "?", text ? text : "unknown");
	say(r, "Signal", sentence);
}

/* Run by root, a program is another user, which cannot read root's home. */
static const char *why_not_reached(const struct record *r)
{
	return r->exec_errno == EACCES && (r->confinement.layers & LAYER_OTHER_USER)
		? ": the program is not root but a user of its own, who cannot reach that path"
		: "";
}

static void say_not_executed(const struct verdict_facts *f, struct record *r)
{
	_cleanup_buffer_ struct buffer sentence = BUFFER_INIT;

	text_visible(&sentence, f->command, strnlen(f->command, 300), TEXT_ONE_LINE);
	buffer_printf(&sentence, " could not be executed inside the sandbox: %s (%s)",
		strerrordesc_np(r->exec_errno), error_errno_name(r->exec_errno));
	buffer_add_text(&sentence, why_not_reached(r));
	if (r->exec_errno == ENOENT)
		buffer_add_text(&sentence,
			"; only the system's programs are there, see --ro and --copy-in");
	say(r, "ExecError",
		sentence.failed ? "the command could not be executed inside the sandbox"
				: sentence.data);
}

static int runner_failure(const struct verdict_facts *f, struct error *err)
{
	_cleanup_buffer_ struct buffer words = BUFFER_INIT;
	const struct buffer *said = f->last_words;
	bool is_status = f->outer_status >= 0 && WIFEXITED(f->outer_status);
	int code = is_status ? WEXITSTATUS(f->outer_status) : -1;
	const char *reason = code == RUNNER_PYTHON_TOO_OLD ? "it is too old" : "it gave no reason";

	text_visible(&words, said->data, said->length < 300 ? said->length : 300, TEXT_ONE_LINE);
	if (words.length)
		reason = words.data;
	if (code == RUNNER_NOT_LOADED)
		return error_set(err, FAILURE_RUNNER_BROKEN, 0, "%s could not load the runner: %s",
			f->command, reason);
	return error_set(err, FAILURE_INTERPRETER_MISSING, 0,
		"%s did not start as a Python interpreter: %s", f->command, reason);
}

int verdict_reach(const struct verdict_facts *f, struct record *r, struct error *err)
{
	char sentence[160];

	if (r->exec_errno && f->is_body)
		return error_set(err, FAILURE_INTERPRETER_MISSING, r->exec_errno,
			"executing %s inside the sandbox%s", f->command, why_not_reached(r));
	if (r->exec_errno) {
		say_not_executed(f, r);
		return 0;
	}
	if (!f->program_started && r->signal == 0)
		return f->is_body ? runner_failure(f, err)
				  : error_set(err, FAILURE_INTERNAL, 0,
					    "the sandbox ended before the program was started");
	if (!f->ended && r->signal == 0)
		/*
		 * PID 1 ended without a report: it was killed from outside, or did not end in time
		 */
		r->signal = SIGKILL;
	if (r->timed_out) {
		snprintf(sentence, sizeof sentence, "sandbox execution timed out after %.2fs",
			(double)r->timeout_us / 1e6);
		say(r, "Timeout", sentence);
	} else if (r->oom) {
		say(r, "MemoryLimit",
			"the processes of the sandbox used more memory together than their limit, "
			"see --memory");
	} else if (r->signal > 0) {
		say_signal(r);
	} else if (!f->is_body) {
		r->success = r->exit_code == 0;
		if (!r->success) {
			snprintf(sentence, sizeof sentence, "the program ended with status %d",
				r->exit_code);
			say(r, "ExitStatus", sentence);
		}
	}
	if (r->timed_out || r->signal > 0)
		r->exit_code = -1;
	return 0;
}
