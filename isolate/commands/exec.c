/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon exec: a body in, one record out. cordon validate: the same way up to the call.
 *
 * Both go through the same tier and the same confined interpreter: hostile text is parsed where a
 * crash of the parser does no harm.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/commands/remote.h"
#include "isolate/commands/watch_option.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

struct call {
	const char *name;
	enum command_set set;
	unsigned flags;
	struct options options;
};

static int answer(const struct call *c, const struct record *r)
{
	struct buffer text = BUFFER_INIT;
	int status = record_exit_status(r, true), written;

	if (c->set == FOR_EXEC || c->options.json)
		record_write(r, &text);
	else
		violations_describe(r, &text);
	written = answer_line(&text);
	buffer_free(&text);
	if (r->export_error.code != FAILURE_NONE)
		answer_outcome(r);
	return written == EXIT_OK ? status : written;
}

static int perform(struct call *c, const char *path)
{
	bool json = c->set == FOR_EXEC || c->options.json;
	struct program program = { .kind = PROGRAM_BODY, .name = path };
	struct streams streams = STREAMS_CAPTURE;
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	const struct tier *tier = tier_find(c->options.tier, &err);
	struct record result;
	int status;

	if (!tier || input_read(path, &text, &err) < 0 || record_init(&result, &err) < 0) {
		buffer_free(&text);
		return answer_failure(c->name, &err, json);
	}
	if (c->options.dedent)
		input_dedent(&text);
	program.text = text.length ? text.data : "";
	program.length = text.length;
	if (c->options.daemon || c->options.watch) {
		status = c->options.watch ? watch_execute(c->name, c->set, &c->options, &program)
					  : remote_execute(c->name, c->set, &c->options, &program);
		buffer_free(&text);
		record_free(&result);
		return status;
	}
	streams.control = signals_collect();
	if (c->options.stdin_open)
		streams.in = STDIN_FILENO;
	if (tier->execute(&c->options, &program, &streams, c->flags, &result, &err) < 0)
		status = answer_failure(c->name, &err, json);
	else
		status = answer(c, &result);
	summary_print(&result, c->options.events_file != NULL);
	buffer_free(&text);
	record_free(&result);
	return status;
}

static int print_rules(const struct call *c)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;

	list_rules(c->options.json, &text);
	return answer_line(&text);
}

static int command(struct call *c, int argc, char **argv)
{
	struct error err = ERROR_INIT;
	bool help = false;
	int at, status;

	options_init(&c->options, c->set);
	at = options_parse(&c->options, c->set, argc, argv, &help, &err);
	if (!help && at >= 0 && argc - at != !c->options.list_rules)
		at = error_set(&err, FAILURE_BAD_OPTION, 0,
			c->options.list_rules ? "--list-rules takes no FILE (%d were given)"
					      : "one FILE with the body is needed, or - for "
						"standard input (%d were given)",
			argc - at);
	if (!help && at >= 0 && c->options.stdin_open && strcmp(argv[at], "-") == 0)
		at = error_set(&err, FAILURE_BAD_OPTION, 0,
			"--stdin gives standard input to the body, so the body itself cannot be "
			"read from it");
	if (help)
		status = print_command_help(c->set);
	else if (at < 0)
		status = answer_usage(c->name, &err, c->set == FOR_EXEC || c->options.json);
	else if (c->options.list_rules)
		status = print_rules(c);
	else
		status = perform(c, argv[at]);
	options_free(&c->options);
	return status;
}

int command_exec(int argc, char **argv)
{
	struct call c = { .name = "exec", .set = FOR_EXEC, .flags = 0 };

	return command(&c, argc, argv);
}

int command_validate(int argc, char **argv)
{
	struct call c = { .name = "validate", .set = FOR_VALIDATE, .flags = EXECUTE_VALIDATE_ONLY };

	return command(&c, argc, argv);
}
