/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon run: any command, or a Python script.
 *
 * Without --json the program's output passes through as it comes and the exit status is the
 * program's; with it everything is kept and one record is printed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/commands/remote.h"
#include "isolate/commands/watch_option.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

/* Exactly one of a command, --script and --code. */
static int choose_program(const struct options *o, char **words, struct buffer *text,
	struct program *p, struct error *err)
{
	int count = (o->script_file != NULL) + (o->code_text != NULL);

	if (count == 0 && !words[0])
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"there is nothing to run: give a command, --script FILE or --code TEXT");
	if (count > 1)
		return error_set(
			err, FAILURE_BAD_OPTION, 0, "--script and --code exclude each other");
	p->argv = words;
	if (count == 0) {
		p->kind = PROGRAM_COMMAND;
		return 0;
	}
	p->kind = PROGRAM_SCRIPT;
	if (o->code_text)
		buffer_add_text(text, o->code_text);
	else if (input_read(o->script_file, text, err) < 0)
		return -1;
	/*
	 * CPython before 3.12 silently drops the rest of the line after one, so what runs would not
	 * be what was read.
	 */
	if (text->length && memchr(text->data, '\0', text->length))
		return error_set(err, FAILURE_BAD_INPUT, 0,
			"the script holds a NUL byte at offset %zu, which no Python source may",
			(size_t)((char *)memchr(text->data, '\0', text->length) - text->data));
	p->name = o->script_file && strcmp(o->script_file, "-") != 0 ? o->script_file : "script.py";
	p->text = text->length ? text->data : "";
	p->length = text->length;
	return 0;
}

static void choose_streams(const struct options *o, struct streams *s)
{
	s->control = signals_collect();
	if (o->stdin_open || o->tty)
		s->in = STDIN_FILENO;
	if (o->tty)
		s->terminal = STDIN_FILENO;
	if (!o->json) {
		s->out = STDOUT_FILENO;
		s->err = STDERR_FILENO;
	}
}

static int execute(const struct options *o, const struct program *p)
{
	struct streams streams = STREAMS_CAPTURE;
	struct error err = ERROR_INIT;
	struct buffer record = BUFFER_INIT;
	const struct tier *tier = o->daemon || o->watch ? NULL : tier_find(o->tier, &err);
	struct record result;
	int status;

	if (o->watch)
		return watch_execute("run", FOR_RUN, o, p);
	if (o->daemon)
		return remote_execute("run", FOR_RUN, o, p);
	if (!tier || record_init(&result, &err) < 0)
		return answer_failure("run", &err, o->json);
	choose_streams(o, &streams);
	if (tier->execute(o, p, &streams, 0, &result, &err) < 0) {
		status = answer_failure("run", &err, o->json);
	} else {
		status = record_exit_status(&result, false);
		if (o->json) {
			record_write(&result, &record);
			if (answer_line(&record) != EXIT_OK)
				status = EXIT_FAILED;
		} else {
			answer_outcome(&result);
		}
		/* what was hidden may be why it could not be executed */
		summary_print(&result, o->events_file != NULL || result.exec_errno != 0);
	}
	buffer_free(&record);
	record_free(&result);
	return status;
}

int command_run(int argc, char **argv)
{
	struct program program = { .kind = PROGRAM_COMMAND };
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct options options;
	bool help = false;
	int at, status;

	options_init(&options, FOR_RUN);
	at = options_parse(&options, FOR_RUN, argc, argv, &help, &err);
	if (help)
		status = print_command_help(FOR_RUN);
	else if (at < 0 || choose_program(&options, argv + at, &text, &program, &err) < 0)
		status = answer_usage("run", &err, options.json);
	else
		status = execute(&options, &program);
	buffer_free(&text);
	options_free(&options);
	return status;
}
