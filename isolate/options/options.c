/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a struct options, and the command line.
 *
 * getopt_long(3) does the walking over argv; its list of long options is built from the table, and
 * what it cannot say about a mistake (which option, what was meant, whose option it is) is worked
 * out here from the word it stopped at. getopt keeps its place in globals, so options_parse is for
 * the one thread of a command line; everything else here may be called from any thread.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/options/option_table.h"

enum {
	ROWS_MAX = 128,
	FIRST_VALUE = 256, /* getopt's value of row 0: above every letter */
};

void options_init(struct options *o, enum command_set command)
{
	memset(o, 0, sizeof *o);
	for (size_t i = 0; i < option_row_count; i++) {
		const char *value = option_default(&option_rows[i], command);

		if (value)
			option_apply(o, command, &option_rows[i], value, NULL);
	}
}

static void list_free(struct string_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
}

/* From the table, so that no option that owns memory is forgotten here. */
static void free_value(struct options *o, const struct option_row *row)
{
	void *field = (char *)o + row->offset;

	switch (row->kind) {
	case OPTION_TEXT:
	case OPTION_ARGS:
		free(*(char **)field);
		*(char **)field = NULL;
		break;
	case OPTION_NAMES:
	case OPTION_LIST:
	case OPTION_VARIABLE:
	case OPTION_ENV:
	case OPTION_MASK:
		list_free(field);
		*(struct string_list *)field = (struct string_list){ 0 };
		break;
	case OPTION_BIND:
	case OPTION_SCRATCH:
		for (size_t i = 0; i < o->ro_count; i++) {
			free(o->ro[i].source);
			free(o->ro[i].target);
		}
		free(o->ro);
		o->ro = NULL;
		o->ro_count = 0;
		break;
	case OPTION_FLAG:
	case OPTION_SECONDS:
	case OPTION_MEGABYTES:
	case OPTION_COUNT:
	case OPTION_NETWORK:
	case OPTION_VIEW:
	case OPTION_PROFILE:
	case OPTION_HELP:
		break;
	}
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < option_row_count; i++)
		free_value(o, &option_rows[i]);
	memset(o, 0, sizeof *o);
}

/* Says that no option of this command has the name, and what may have been meant. */
static int refuse_name(enum command_set command, const char *name, struct error *err)
{
	const struct option_row *row = option_find(name), *near;
	char mine[64], theirs[64];

	option_commands(command, mine, sizeof mine);
	if (row)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"--%s is an option of cordon %s, not of cordon %s", name,
			option_commands(row->commands, theirs, sizeof theirs), mine);
	near = option_nearest(name, command);
	if (near)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"cordon %s has no option --%.60s; did you mean --%s?", mine, name,
			near->name);
	return error_set(err, FAILURE_BAD_OPTION, 0, "cordon %s has no option --%.60s", mine, name);
}

int options_set(struct options *o, enum command_set command, const char *name, const char *value,
	struct error *err)
{
	const struct option_row *row = option_find(name);

	if (!row || !(row->commands & command))
		return refuse_name(command, name, err);
	return option_apply(o, command, row, value, err);
}

/*
 * Says what is wrong with the word at which getopt stopped: it begins with no option of this
 * command, or with several.
 */
static int refuse_word(enum command_set command, const char *word, struct error *err)
{
	char name[64], several[256] = "";
	size_t length, used = 0, found = 0;

	if (word[0] != '-' || word[1] != '-') {
		option_commands(command, name, sizeof name);
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"cordon %s has no option %.60s; write -- before a word that is none", name,
			word);
	}
	length = strcspn(word + 2, "=");
	snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), word + 2);
	if (option_find(name))
		return refuse_name(command, name, err);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->commands & command) || strncmp(row->name, name, strlen(name)) != 0)
			continue;
		found++;
		if (used < sizeof several)
			used += (size_t)snprintf(several + used, sizeof several - used, "%s--%s",
				found > 1 ? ", " : "", row->name);
	}
	if (found > 1)
		return error_set(
			err, FAILURE_BAD_OPTION, 0, "--%s could be any of %s", name, several);
	return refuse_name(command, name, err);
}

int options_parse(struct options *o, enum command_set command, int argc, char **argv, bool *help,
	struct error *err)
{
	struct option list[ROWS_MAX + 1] = { { NULL, 0, NULL, 0 } };
	size_t count = 0;
	int value;

	*help = false;
	for (size_t i = 0; i < option_row_count && count < ROWS_MAX; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->commands & command)
			list[count++] = (struct option){ row->name,
				row->argument ? required_argument : no_argument, NULL,
				FIRST_VALUE + (int)i };
	}
	optind = 0; /* start afresh, in GNU's way */
	opterr = 0;
	while ((value = getopt_long(argc, argv, "+:h", list, NULL)) != -1) {
		const struct option_row *row =
			value >= FIRST_VALUE ? &option_rows[value - FIRST_VALUE] : NULL;

		if (value == 'h' || (row && row->kind == OPTION_HELP)) {
			*help = true; /* wins over whatever else is on the line, mistakes too */
			return optind;
		} else if (row) {
			if (option_apply(o, command, row, optarg, err) < 0)
				return -1;
		} else if (optopt >= FIRST_VALUE) {
			/*
			 * The option is known; it lacks its value (':'), or was given one that it
			 * does not take ('?').
			 */
			return option_apply(o, command, &option_rows[optopt - FIRST_VALUE],
				value == ':' ? NULL : "", err);
		} else {
			/* After a short option in a cluster getopt has not stepped on yet. */
			return refuse_word(command,
				argv[optopt && optind < argc && argv[optind][0] == '-' &&
							argv[optind][1] != '-' &&
							strchr(argv[optind], optopt)
						? optind
						: optind - 1],
				err);
		}
	}
	return optind;
}
