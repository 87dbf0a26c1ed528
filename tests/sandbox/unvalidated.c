/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon exec` without its validator, for tests alone: shows what the layers below hold by
 * themselves. It is not installed, and no option of the program leads here.
 *
 *	unvalidated [OPTIONS of exec] FILE
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/options/options.h"
#include "isolate/tiers/tier.h"

int main(int argc, char **argv)
{
	struct program program = { .kind = PROGRAM_BODY };
	const struct streams streams = STREAMS_CAPTURE;
	struct buffer text = BUFFER_INIT, record = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct options options;
	const struct tier *tier;
	struct record result;
	bool help = false;
	int at, status = EXIT_FAILED;

	options_init(&options, FOR_EXEC);
	at = options_parse(&options, FOR_EXEC, argc, argv, &help, &err);
	if (at < 0 || at != argc - 1 || !(tier = tier_find(options.tier, &err)) ||
		input_read(argv[at], &text, &err) < 0 || record_init(&result, &err) < 0) {
		status = answer_failure("unvalidated", &err, true);
		goto out;
	}
	program.text = text.length ? text.data : "";
	program.length = text.length;
	if (tier->execute(&options, &program, &streams, EXECUTE_SKIP_VALIDATION, &result, &err) <
		0) {
		status = answer_failure("unvalidated", &err, true);
	} else {
		status = record_exit_status(&result, true);
		record_write(&result, &record);
		answer_line(&record);
	}
	record_free(&result);
out:
	buffer_free(&text);
	buffer_free(&record);
	options_free(&options);
	return status;
}
