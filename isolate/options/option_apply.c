/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one option's value and stores it: the one place where values are checked, from the command
 * line, profiles and the library.
 *
 * Every value is bounded in length, every list in items, and every number in range, before anything
 * is stored. Numbers are read by a grammar of our own, because strtod(3) follows the locale and
 * takes "inf", "nan", hexadecimal and leading white space. On failure the field keeps the value it
 * had.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/option_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_write.h"

enum {
	VALUE_MAX = 128 * 1024, /* what the kernel takes as one argument (MAX_ARG_STRLEN) */
	NAME_MAX_BYTES = 256,   /* of a module or variable name */
	PROFILE_MAX = 1 << 20,
};

static void *field_of(struct options *o, const struct option_row *row)
{
	return (char *)o + row->offset;
}

/* Takes ownership of item, also when it fails. */
static int list_take(
	struct string_list *list, char *item, const struct option_row *row, struct error *err)
{
	_cleanup_free_ char *owned = item;
	char **items;

	if (!owned)
		return option_no_memory(err);
	if (list->count >= OPTION_ITEMS_MAX)
		return option_refuse(err, row, "more than %d items", OPTION_ITEMS_MAX);
	items = realloc(list->items, (list->count + 1) * sizeof *items);
	if (!items)
		return option_no_memory(err);
	items[list->count++] = steal_pointer(owned);
	list->items = items;
	return 0;
}

static int set_text(
	char **field, const char *value, const struct option_row *row, struct error *err)
{
	char *copy;

	if (value[0] == '\0' && strcmp(row->argument, "ID") == 0)
		return error_set(err, FAILURE_IDENTITY_REFUSED, 0, "--%s: an empty ID", row->name);
	if (value[0] == '\0')
		return option_refuse(err, row, "an empty %s", row->argument);
	copy = strdup(value);
	if (!copy)
		return option_no_memory(err);
	free(*field);
	*field = copy;
	return 0;
}

/*
 * digits[.digits] or .digits, nothing else. Returns false for other text, and for more than 15
 * digits before the point.
 */
static bool read_decimal(const char *text, double *value)
{
	double result = 0, unit = 1;
	size_t whole = strspn(text, "0123456789"), fraction = 0;

	for (size_t i = 0; i < whole; i++)
		result = result * 10 + (text[i] - '0');
	text += whole;
	if (*text == '.') {
		text++;
		fraction = strspn(text, "0123456789");
		for (size_t i = 0; i < fraction && i < 12; i++) {
			unit /= 10;
			result += unit * (text[i] - '0');
		}
		text += fraction;
	}
	*value = result;
	return *text == '\0' && whole <= 15 && whole + fraction > 0;
}

int option_apply_number(struct options *o, const struct option_row *row, double value,
	const char *shown, struct error *err)
{
	int64_t *field = field_of(o, row);
	char range[96];
	bool none = row->kind == OPTION_SECONDS && value == 0;

	option_range(row, range, sizeof range);
	/* Written so that NaN, for which every comparison is false, is refused. */
	if (!none && !(value >= row->low && value <= row->high))
		return option_refuse(err, row, "%.40s is out of range; give %s", shown, range);
	switch (row->kind) {
	case OPTION_SECONDS:
		*field = (int64_t)(value * 1e6 + 0.5);
		return 0;
	case OPTION_MEGABYTES:
		*field = (int64_t)(value * 1048576 + 0.5);
		return 0;
	default:
		if (value != (double)(int64_t)value)
			return option_refuse(
				err, row, "%.40s is no whole number; give %s", shown, range);
		*field = (int64_t)value;
		return 0;
	}
}

static int set_number(
	struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	char range[96];
	double number;

	if (read_decimal(value, &number))
		return option_apply_number(o, row, number, value, err);
	option_range(row, range, sizeof range);
	return option_refuse(err, row, "\"%.60s\" is %s; give %s", value,
		value[0] == '-' ? "out of range" : "no number", range);
}

/*
 * A module or a name: no white space, no control characters. Whether it exists is for the
 * interpreter to say.
 */
static bool is_name(const char *text, size_t length)
{
	if (length == 0 || length > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f ||
			strchr("\"'`;:=()[]{}<>/\\", text[i]))
			return false;
	}
	return true;
}

/*
 * Splits at commas, with blanks around them allowed. An empty value adds nothing, so that `--allow
 * "$LIST"` may be empty.
 */
static int add_names(struct string_list *list, const char *value, const struct option_row *row,
	struct error *err)
{
	size_t before = list->count;
	const char *at = value + strspn(value, " ");

	if (*at == '\0')
		return 0;
	for (;;) {
		size_t length = strcspn(at, ","), kept = length;

		while (kept > 0 && at[kept - 1] == ' ')
			kept--;
		if (!is_name(at, kept)) {
			if (kept == 0)
				option_refuse(err, row, "an empty name between commas in \"%.60s\"",
					value);
			else
				option_refuse(err, row,
					"\"%.*s\" is no name; give names separated by commas",
					(int)(kept < 60 ? kept : 60), at);
			goto fail;
		}
		if (list_take(list, strndup(at, kept), row, err) < 0)
			goto fail;
		if (at[length] == '\0')
			return 0;
		at += length + 1;
		at += strspn(at, " ");
	}
fail:
	while (list->count > before)
		free(list->items[--list->count]);
	return -1;
}

/* Whether the first length bytes are the name of an environment variable as shells know it. */
static bool is_variable(const char *text, size_t length)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return length > 0 && length <= NAME_MAX_BYTES && strspn(text, letters) >= length &&
		!(text[0] >= '0' && text[0] <= '9');
}

static int add_variable(struct string_list *list, const char *value, const struct option_row *row,
	struct error *err)
{
	if (!is_variable(value, strlen(value)))
		return option_refuse(err, row,
			"\"%.60s\" is no variable's name; it is made of letters, digits and _",
			value);
	return list_take(list, strdup(value), row, err);
}

static int add_env(struct string_list *list, const char *value, const struct option_row *row,
	struct error *err)
{
	size_t name = strcspn(value, "=");
	char *copy;

	if (value[name] != '=')
		return option_refuse(err, row,
			"\"%.60s\" has no =; give NAME=VALUE, or use --inherit-env to pass on the "
			"caller's",
			value);
	if (!is_variable(value, name))
		return option_refuse(err, row,
			"\"%.*s\" is no variable's name; it is made of letters, digits and _",
			(int)(name < 60 ? name : 60), value);
	copy = strdup(value);
	if (!copy)
		return option_no_memory(err);
	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i], value, name + 1) == 0) {
			free(list->items[i]);
			list->items[i] = copy;
			return 0;
		}
	}
	return list_take(list, copy, row, err);
}

/* Reads a whole file, a pipe too, of at most max bytes into text (empty before). */
static int read_file(const struct option_row *row, const char *path, size_t max,
	struct buffer *text, struct error *err)
{
	char block[16384];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t total = 0;
	ssize_t got;

	if (fd < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno, "--%s: cannot open \"%.300s\"",
			row->name, path);
	while ((got = TEMP_FAILURE_RETRY(read(fd, block, sizeof block))) > 0) {
		total += (size_t)got;
		if (total > max)
			break;
		buffer_add(text, block, (size_t)got);
	}
	if (got < 0)
		return error_set(err, FAILURE_PATH_MISSING, errno, "--%s: cannot read \"%.300s\"",
			row->name, path);
	if (total > max)
		return option_refuse(err, row, "\"%.300s\" is longer than %zu bytes", path, max);
	return text->failed ? option_no_memory(err) : 0;
}

/*
 * JSON text, or @FILE. It is kept as it was written, never re-encoded; the gate is what later
 * readers rely on.
 */
static int set_args(
	struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	char reason[256];

	if (value[0] != '@')
		buffer_add_text(&text, value);
	else if (read_file(row, value + 1, JSON_GATE_ARGUMENTS.max_bytes, &text, err) < 0)
		return -1;
	if (text.failed)
		return option_no_memory(err);
	if (!json_gate_check(&JSON_GATE_ARGUMENTS, text.data ? text.data : "", text.length, reason,
		    sizeof reason))
		return option_refuse(err, row, "not accepted as JSON: %s", reason);
	free(o->args_json);
	o->args_json = steal_pointer(text.data);
	return 0;
}

static int set_profile(struct options *o, enum command_set command, const struct option_row *row,
	const char *value, struct error *err)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int result = read_file(row, value, PROFILE_MAX, &text, err);

	if (result == 0)
		result = options_profile(
			o, command, value, text.data ? text.data : "", text.length, err);
	return result;
}

/* One word of a list; its place in the list is the value. */
static int set_word(int *value_of, const char *const *words, const char *value,
	const struct option_row *row, struct error *err)
{
	char known[64] = "";

	for (int i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) == 0) {
			*value_of = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
			!i                     ? ""
				: words[i + 1] ? ", "
					       : " or ",
			words[i]);
	}
	return option_refuse(err, row, "\"%.60s\" is no mode; give %s", value, known);
}

static int set_network(
	struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	static const char *const MODES[] = {
		[NETWORK_NONE] = "none", [NETWORK_ALLOW] = "allow", NULL
	};
	int mode;

	if (set_word(&mode, MODES, value, row, err) < 0)
		return -1;
	*(enum network_mode *)field_of(o, row) = (enum network_mode)mode;
	return 0;
}

static int set_view(
	struct options *o, const struct option_row *row, const char *value, struct error *err)
{
	static const char *const MODES[] = {
		[VIEW_MIXED] = "mixed", [VIEW_FUSE] = "fuse", [VIEW_BIND] = "bind", NULL
	};
	int mode;

	if (set_word(&mode, MODES, value, row, err) < 0)
		return -1;
	*(enum view_mode *)field_of(o, row) = (enum view_mode)mode;
	return 0;
}

static int add_mask(struct string_list *list, const char *value, const struct option_row *row,
	struct error *err)
{
	if (value[strcspn(value, "=")] != '=' || value[0] == '=')
		return option_refuse(err, row, "\"%.60s\" is not FILE=CONTENT", value);
	return list_take(list, strdup(value), row, err);
}

int option_apply(struct options *o, enum command_set command, const struct option_row *row,
	const char *value, struct error *err)
{
	void *field = field_of(o, row);

	if (row->argument && !value)
		return option_refuse(err, row, "a value is missing: %s", row->argument);
	if (!row->argument && value)
		return option_refuse(err, row, "takes no value");
	/* A program's text and its arguments may be long; they have bounds of their own. */
	if (value && row->kind != OPTION_ARGS && row->kind != OPTION_TEXT &&
		strlen(value) >= VALUE_MAX)
		return option_refuse(err, row, "a value longer than %d bytes", VALUE_MAX - 1);
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_TEXT:
		return set_text(field, value, row, err);
	case OPTION_SECONDS:
	case OPTION_MEGABYTES:
	case OPTION_COUNT:
		return set_number(o, row, value, err);
	case OPTION_NETWORK:
		return set_network(o, row, value, err);
	case OPTION_NAMES:
		return add_names(field, value, row, err);
	case OPTION_LIST:
		if (value[0] == '\0')
			return option_refuse(err, row, "an empty %s", row->argument);
		return list_take(field, strdup(value), row, err);
	case OPTION_VARIABLE:
		return add_variable(field, value, row, err);
	case OPTION_ENV:
		return add_env(field, value, row, err);
	case OPTION_BIND:
	case OPTION_SCRATCH:
		return option_apply_bind_text(o, row, value, err);
	case OPTION_MASK:
		return add_mask(field, value, row, err);
	case OPTION_VIEW:
		return set_view(o, row, value, err);
	case OPTION_ARGS:
		return set_args(o, row, value, err);
	case OPTION_PROFILE:
		return set_profile(o, command, row, value, err);
	case OPTION_HELP:
		break;
	}
	return option_refuse(err, row, "is for the command line only");
}
