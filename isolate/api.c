/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcordon: the public interface over the rooms. See cordon.h for what each function promises.
 *
 * Handles are plain allocations; nothing is shared between them and nothing is global, so threads
 * need no lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/cordon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/error.h"
#include "isolate/base/failure_record.h"
#include "isolate/options/options.h"
#include "isolate/wire/record.h"
#include "isolate/base/text.h"
#include "isolate/tiers/tier.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

struct cordon_options {
	enum command_set set;
	struct options options;
};

struct cordon_program {
	enum program_kind kind;
	struct buffer text;
	char *name;
	char **argv;
};

struct cordon_result {
	struct record result;
	bool is_body;
	struct buffer json;
};

struct cordon_error {
	struct error error;
	char message[1400];
	struct buffer json;
};

const char *cordon_version(void)
{
	return PACKAGE_VERSION;
}

/* Hands an error out. Without memory for it the caller still sees the failure. */
static void hand_out(const struct error *err, cordon_error **out)
{
	cordon_error *e = out ? calloc(1, sizeof *e) : NULL;

	if (!e)
		return;
	e->error = *err;
	error_sentence(err, e->message, sizeof e->message);
	failure_record_write(err, &e->json);
	*out = e;
}

static void hand_out_new(enum failure code, int sys_errno, const char *context, cordon_error **out)
{
	struct error err = ERROR_INIT;

	error_set(&err, code, sys_errno, "%s", context);
	hand_out(&err, out);
}

cordon_options *cordon_options_new(enum cordon_kind kind, cordon_error **error)
{
	cordon_options *o = NULL;

	if (kind != CORDON_RUN && kind != CORDON_EXEC) {
		hand_out_new(
			FAILURE_BAD_OPTION, 0, "options are for CORDON_RUN or CORDON_EXEC", error);
		return NULL;
	}
	o = calloc(1, sizeof *o);
	if (!o) {
		hand_out_new(FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "making options", error);
		return NULL;
	}
	o->set = kind == CORDON_RUN ? FOR_RUN : FOR_EXEC;
	options_init(&o->options, o->set);
	return o;
}

int cordon_options_set(cordon_options *o, const char *name, const char *value, cordon_error **error)
{
	struct error err = ERROR_INIT;
	int status = options_set(&o->options, o->set, name, value, &err);

	if (status < 0)
		hand_out(&err, error);
	return status;
}

int cordon_options_profile(
	cordon_options *o, const char *name, const char *text, size_t length, cordon_error **error)
{
	struct error err = ERROR_INIT;
	int status = options_profile(&o->options, o->set, name, text, length, &err);

	if (status < 0)
		hand_out(&err, error);
	return status;
}

void cordon_options_free(cordon_options *o)
{
	if (o)
		options_free(&o->options);
	free(o);
}

static cordon_program *program_new(enum program_kind kind, const char *text, size_t length,
	const char *name, cordon_error **error)
{
	cordon_program *p = calloc(1, sizeof *p);

	if (p) {
		p->kind = kind;
		p->name = name ? strdup(name) : NULL;
		buffer_add(&p->text, text, length);
	}
	if (!p || p->text.failed || (name && !p->name)) {
		cordon_program_free(p);
		hand_out_new(FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "copying a program", error);
		return NULL;
	}
	return p;
}

cordon_program *cordon_program_body(const char *text, size_t length, cordon_error **error)
{
	return program_new(PROGRAM_BODY, text, length, NULL, error);
}

cordon_program *cordon_program_script(
	const char *text, size_t length, const char *name, cordon_error **error)
{
	return program_new(PROGRAM_SCRIPT, text, length, name, error);
}

cordon_program *cordon_program_command(const char *const *argv, cordon_error **error)
{
	cordon_program *p;
	size_t count = 0;

	if (!argv || !argv[0] || !argv[0][0]) {
		hand_out_new(FAILURE_BAD_INPUT, 0, "there is no command to run", error);
		return NULL;
	}
	while (argv[count])
		count++;
	p = program_new(PROGRAM_COMMAND, "", 0, NULL, error);
	if (!p)
		return NULL;
	p->argv = calloc(count + 1, sizeof *p->argv);
	for (size_t i = 0; p->argv && i < count; i++) {
		p->argv[i] = strdup(argv[i]);
		if (p->argv[i])
			continue;
		for (size_t done = 0; done < i; done++)
			free(p->argv[done]);
		free(p->argv);
		p->argv = NULL;
	}
	if (!p->argv) {
		cordon_program_free(p);
		hand_out_new(FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "copying a command", error);
		return NULL;
	}
	return p;
}

void cordon_program_free(cordon_program *p)
{
	if (!p)
		return;
	for (char **argument = p->argv; argument && *argument; argument++)
		free(*argument);
	free(p->argv);
	free(p->name);
	buffer_free(&p->text);
	free(p);
}

static int check_pairing(
	const cordon_options *o, const cordon_program *p, unsigned flags, struct error *err)
{
	if ((flags & EXECUTE_VALIDATE_ONLY) && p->kind != PROGRAM_BODY)
		return error_set(err, FAILURE_BAD_INPUT, 0, "only a body can be validated");
	if ((p->kind == PROGRAM_BODY) != (o->set == FOR_EXEC))
		return error_set(err, FAILURE_BAD_INPUT, 0,
			"a body goes with options of CORDON_EXEC, everything else with options of "
			"CORDON_RUN");
	return 0;
}

static int perform(const cordon_options *o, const cordon_program *p, const struct cordon_streams *s,
	unsigned flags, cordon_result **out, cordon_error **error)
{
	const struct program program = { p->kind, p->text.length ? p->text.data : "",
		p->text.length, p->name, p->argv };
	struct streams streams = STREAMS_CAPTURE;
	struct error err = ERROR_INIT;
	const struct tier *tier = NULL;
	cordon_result *r = NULL;

	*out = NULL;
	if (s) {
		streams.in = s->input;
		streams.out = s->output;
		streams.err = s->error;
		streams.control = s->control;
		streams.terminal = o->options.tty ? s->input : -1;
	}
	if (check_pairing(o, p, flags, &err) < 0 || !(tier = tier_find(o->options.tier, &err)))
		goto fail;
	r = calloc(1, sizeof *r);
	if (!r) {
		error_set(&err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "making a result");
		goto fail;
	}
	r->is_body = p->kind == PROGRAM_BODY;
	if (record_init(&r->result, &err) < 0 ||
		tier->execute(&o->options, &program, &streams, flags, &r->result, &err) < 0)
		goto fail;
	/* The record is written now, while the options it names are sure to be there. */
	record_write(&r->result, &r->json);
	r->result.confinement.permit = NULL;
	if (r->json.failed) {
		error_set(&err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "writing a record");
		goto fail;
	}
	*out = r;
	return 0;
fail:
	cordon_result_free(r);
	hand_out(&err, error);
	return -1;
}

int cordon_validate(const cordon_options *options, const cordon_program *program,
	cordon_result **result, cordon_error **error)
{
	return perform(options, program, NULL, EXECUTE_VALIDATE_ONLY, result, error);
}

int cordon_execute(const cordon_options *options, const cordon_program *program,
	const struct cordon_streams *streams, cordon_result **result, cordon_error **error)
{
	return perform(options, program, streams, 0, result, error);
}

/* A buffer's text; "" when it is empty and `absent` is not wanted. */
static const char *text_of(const struct buffer *b, size_t *length, const char *absent)
{
	if (length)
		*length = b->length;
	return b->length ? b->data : absent;
}

const char *cordon_result_json(const cordon_result *r, size_t *length)
{
	return text_of(&r->json, length, "");
}

bool cordon_result_success(const cordon_result *r)
{
	return r->result.success;
}

bool cordon_result_refused(const cordon_result *r)
{
	return r->result.refused;
}

const char *cordon_result_output(const cordon_result *r, size_t *length)
{
	return text_of(&r->result.output, length, NULL);
}

const char *cordon_result_error(const cordon_result *r)
{
	return text_of(&r->result.error, NULL, NULL);
}

const char *cordon_result_stdout(const cordon_result *r, size_t *length)
{
	return text_of(&r->result.out.bytes, length, "");
}

const char *cordon_result_stderr(const cordon_result *r, size_t *length)
{
	return text_of(&r->result.err.bytes, length, "");
}

uint64_t cordon_result_stdout_dropped(const cordon_result *r)
{
	return r->result.out.dropped;
}

uint64_t cordon_result_stderr_dropped(const cordon_result *r)
{
	return r->result.err.dropped;
}

int cordon_result_exit_code(const cordon_result *r)
{
	return r->result.exit_code;
}

int cordon_result_signal(const cordon_result *r)
{
	return r->result.signal;
}

bool cordon_result_timed_out(const cordon_result *r)
{
	return r->result.timed_out;
}

bool cordon_result_oom(const cordon_result *r)
{
	return r->result.oom;
}

double cordon_result_duration_ms(const cordon_result *r)
{
	return (double)r->result.duration_us / 1000;
}

const char *cordon_result_execution_id(const cordon_result *r)
{
	return r->result.execution_id;
}

int cordon_result_status(const cordon_result *r)
{
	return record_exit_status(&r->result, r->is_body);
}

void cordon_result_free(cordon_result *r)
{
	if (!r)
		return;
	record_free(&r->result);
	buffer_free(&r->json);
	free(r);
}

const char *cordon_error_code(const cordon_error *e)
{
	return failure_name(e->error.code);
}

const char *cordon_error_message(const cordon_error *e)
{
	return e->message;
}

const char *cordon_error_remedy(const cordon_error *e)
{
	return failure_remedy(e->error.code);
}

int cordon_error_errno(const cordon_error *e)
{
	return e->error.sys_errno;
}

const char *cordon_error_json(const cordon_error *e, size_t *length)
{
	return text_of(&e->json, length, "{}");
}

void cordon_error_free(cordon_error *e)
{
	if (e)
		buffer_free(&e->json);
	free(e);
}

char *cordon_text_visible(const void *bytes, size_t length, bool lines, size_t *shown_length)
{
	struct buffer shown = BUFFER_INIT;

	text_visible(&shown, bytes, length, lines ? TEXT_LINES : TEXT_ONE_LINE);
	buffer_add(&shown, "", 0);
	if (shown.failed) {
		buffer_free(&shown);
		return NULL;
	}
	if (shown_length)
		*shown_length = shown.length;
	return shown.length ? shown.data : strdup("");
}
