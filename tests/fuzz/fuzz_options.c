/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: option values from a profile and from a command line.
 *
 * The first byte chooses. Either the rest is a profile; or it is read as words between newlines and
 * parsed as a command line. Whatever happens, a refusal has a message of one printable line,
 * numbers that were accepted are in range, and everything can be freed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/options/option_table.h"
#include "isolate/options/options.h"
#include "isolate/base/text.h"

enum { WORDS_MAX = 32 };

static void check_error(const struct error *err)
{
	size_t length = strnlen(err->context, sizeof err->context);

	if (err->code == FAILURE_NONE || length == 0 || length == sizeof err->context)
		abort();
	for (size_t at = 0; at < length;) {
		uint32_t c;
		size_t step = text_decode(
			(const unsigned char *)err->context + at, length - at, &c, NULL);

		if (step == 0 || text_is_hidden(c))
			abort();
		at += step;
	}
}

static void check_options(const struct options *o)
{
	if (!o->tier || !o->tier[0] || !o->python || !o->python[0])
		abort();
	if (o->timeout_us < 0 || o->timeout_us > INT64_C(1000000000000) ||
		o->memory_bytes < 1 << 20 || o->pids < 1 || o->nofile < 4 || o->fsize_bytes < 0 ||
		o->workspace_bytes < 1 << 20 || o->output_limit_bytes < 1)
		abort();
	for (size_t i = 0; i < o->ro_count; i++) {
		const char *target = o->ro[i].target;

		if (target[0] != '/' || target[1] == '\0' || strstr(target, "//") ||
			strstr(target, "/../") || strstr(target, "/./"))
			abort();
	}
	for (size_t i = 0; i < o->env.count; i++) {
		if (!strchr(o->env.items[i], '='))
			abort();
	}
}

/*
 * A word that would make the parser read a file of the host: what is in it is not for this target.
 */
static bool names_a_file(const char *word)
{
	return strstr(word, "@") || strncmp(word, "--p", 3) == 0;
}

static int parse_words(struct options *o, enum command_set command, char *text, struct error *err)
{
	char *argv[WORDS_MAX + 2] = { "x" }, *save = NULL;
	int argc = 1, result;
	bool help;

	for (char *word = strtok_r(text, "\n", &save); word && argc <= WORDS_MAX;
		word = strtok_r(NULL, "\n", &save)) {
		if (!names_a_file(word))
			argv[argc++] = word;
	}
	result = options_parse(o, command, argc, argv, &help, err);
	if (result > argc || result == 0)
		abort();
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum command_set commands[] = { FOR_RUN, FOR_EXEC, FOR_VALIDATE, FOR_RUN };
	struct error err = ERROR_INIT;
	enum command_set command;
	struct options o;
	char *text;
	int result;

	if (size == 0 || !(text = malloc(size)))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	command = commands[data[0] & 3];
	options_init(&o, command);
	if (data[0] & 4)
		result = parse_words(&o, command, text, &err);
	else
		result = options_profile(
			&o, command, "fuzz", (const char *)data + 1, size - 1, &err);
	if (result < 0)
		check_error(&err);
	check_options(&o);
	options_free(&o);
	free(text);
	return 0;
}
