/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table, and what can be said of an option from its row alone.
 *
 * This file depends on nothing but the C library. The generators of the man page and of the shell
 * completion are linked with it, and so cannot describe an option that the parser does not have.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/option_table.h"

#include <stdio.h>
#include <string.h>

#include "isolate/base/text.h"

const struct option_row option_rows[] = {
#define OPTION(name, argument, commands, kind, field, low, high, default_run, default_other, help) \
	{ name, argument, commands, kind, offsetof(struct options, field), low, high, default_run, \
		default_other, help },
#include "isolate/options/options.def"
#undef OPTION
};
const size_t option_row_count = sizeof option_rows / sizeof option_rows[0];

/* longer than any option's name: what is longer still is not near to one */
enum { NAME_MAX_LENGTH = 40 };

const struct option_row *option_find(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++) {
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	}
	return NULL;
}

const char *option_default(const struct option_row *row, enum command_set command)
{
	return command == FOR_RUN ? row->default_run : row->default_other;
}

/*
 * The edit distance of two names: letters put in, taken out or changed. Underscores count as
 * dashes.
 */
static size_t distance(const char *typed, const char *name)
{
	size_t typed_length = strlen(typed), name_length = strlen(name);
	size_t row[NAME_MAX_LENGTH + 1];

	if (typed_length > NAME_MAX_LENGTH || name_length > NAME_MAX_LENGTH)
		return NAME_MAX_LENGTH;
	for (size_t j = 0; j <= name_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= typed_length; i++) {
		size_t diagonal = row[0];
		char letter = typed[i - 1] == '_' ? '-' : typed[i - 1];

		row[0] = i;
		for (size_t j = 1; j <= name_length; j++) {
			size_t best = diagonal + (letter != name[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[name_length];
}

const struct option_row *option_nearest(const char *typed, unsigned commands)
{
	const struct option_row *nearest = NULL;
	size_t least = strlen(typed) < 6 ? 2 : 3; /* one off; two off in a longer word */

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		size_t off;

		if (commands && !(row->commands & commands))
			continue;
		off = distance(typed, row->name);
		if (off < least) {
			least = off;
			nearest = row;
		}
	}
	return nearest;
}

const char *option_range(const struct option_row *row, char *buffer, size_t size)
{
	static const char *const unit[] = {
		[OPTION_SECONDS] = "seconds",
		[OPTION_MEGABYTES] = "MB",
		[OPTION_COUNT] = "a whole number",
	};

	if (size == 0)
		return buffer;
	buffer[0] = '\0';
	if (row->kind == OPTION_SECONDS || row->kind == OPTION_MEGABYTES ||
		row->kind == OPTION_COUNT) {
		snprintf(buffer, size, "%s from %.15g to %.15g%s", unit[row->kind], row->low,
			row->high, row->kind == OPTION_SECONDS ? ", or 0 for none" : "");
	}
	return buffer;
}

const char *option_commands(unsigned commands, char *buffer, size_t size)
{
	static const struct {
		unsigned bit;
		const char *name;
	} known[] = {
		{ FOR_RUN, "run" },
		{ FOR_EXEC, "exec" },
		{ FOR_VALIDATE, "validate" },
		{ FOR_DOCTOR, "doctor" },
		{ FOR_SERVE, "serve" },
		{ FOR_EVENTS, "events" },
		{ FOR_CONSOLE, "console" },
		{ FOR_TOOL, "tool" },
	};
	size_t used = 0;

	if (size == 0)
		return buffer;
	buffer[0] = '\0';
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		unsigned later = 0;
		int added;

		if (!(commands & known[i].bit))
			continue;
		for (size_t j = i + 1; j < sizeof known / sizeof known[0]; j++)
			later |= commands & known[j].bit;
		added = snprintf(buffer + used, size - used, "%s%s",
			used == 0       ? ""
				: later ? ", "
					: " and ",
			known[i].name);
		if (added < 0 || (size_t)added >= size - used)
			break;
		used += (size_t)added;
	}
	return buffer;
}

/* ---- option write ---- */

/*
 * Writes options as a profile.
 *
 * It goes through the option table, so an option that is added there is written without a change
 * here. Sizes get nine decimals: enough that reading them back gives the same number of bytes.
 */

static bool write_text(struct json_writer *w, const char *text)
{
	size_t length = strlen(text), step;
	uint32_t point;
	bool valid = true;

	for (size_t at = 0; at < length && valid; at += step) {
		step = text_decode((const unsigned char *)text + at, length - at, &point, NULL);
		valid = step > 0;
	}
	json_bytes(w, text, length);
	return valid;
}

static bool write_list(struct json_writer *w, const struct string_list *list)
{
	bool valid = true;

	json_open_array(w);
	for (size_t i = 0; i < list->count; i++)
		valid &= write_text(w, list->items[i]);
	json_close_array(w);
	return valid;
}

static bool write_binds(struct json_writer *w, const struct options *o, bool scratch)
{
	bool valid = true;

	json_open_array(w);
	for (size_t i = 0; i < o->ro_count; i++) {
		if (o->ro[i].scratch != scratch)
			continue;
		json_open_object(w);
		json_key(w, "source");
		valid &= write_text(w, o->ro[i].source);
		json_key(w, "target");
		valid &= write_text(w, o->ro[i].target);
		json_close_object(w);
	}
	json_close_array(w);
	return valid;
}

static bool write_value(
	struct json_writer *w, const struct options *o, const struct option_row *row)
{
	static const char *const NETWORKS[] = {
		[NETWORK_NONE] = "none", [NETWORK_ALLOW] = "allow"
	};
	static const char *const VIEWS[] = {
		[VIEW_MIXED] = "mixed", [VIEW_FUSE] = "fuse", [VIEW_BIND] = "bind"
	};
	const void *field = (const char *)o + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		json_bool(w, *(const bool *)field);
		return true;
	case OPTION_TEXT:
		return write_text(w, *(char *const *)field);
	case OPTION_SECONDS:
		json_real(w, (double)*(const int64_t *)field / 1e6, 6);
		return true;
	case OPTION_MEGABYTES:
		json_real(w, (double)*(const int64_t *)field / 1048576, 9);
		return true;
	case OPTION_COUNT:
		json_integer(w, *(const int64_t *)field);
		return true;
	case OPTION_NETWORK:
		json_string(w, NETWORKS[*(const enum network_mode *)field]);
		return true;
	case OPTION_VIEW:
		json_string(w, VIEWS[*(const enum view_mode *)field]);
		return true;
	case OPTION_BIND:
	case OPTION_SCRATCH:
		return write_binds(w, o, row->kind == OPTION_SCRATCH);
	default:
		return write_list(w, field);
	}
}

/* Texts that stand at their default of nothing are left out: a profile has no word for that. */
static bool is_there(const struct options *o, const struct option_row *row)
{
	return row->kind != OPTION_TEXT || *(char *const *)((const char *)o + row->offset) != NULL;
}

bool options_write(const struct options *o, enum command_set command, struct json_writer *w)
{
	bool valid = true;

	json_open_object(w);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if ((row->commands & NOT_IN_PROFILE) || !(row->commands & command) ||
			strcmp(row->name, "events") == 0 || !is_there(o, row))
			continue;
		json_key(w, row->name);
		valid &= write_value(w, o, row);
	}
	json_close_object(w);
	return valid;
}
