/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: a set of options as one JSON object.
 *
 * The text passes the strict gate first (no duplicate keys, no invalid UTF-8, no U+0000, bounded in
 * size and depth), so that it means the same to any reader. Keys are the long names of the option
 * table, and their JSON type follows from the option's kind; profile.schema.json, for editors, is
 * made from the same table.
 *
 * One profile may serve several commands. An option which the command at hand does not have is
 * checked like any other, and then left out; a key that no command knows is refused.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/options/option_table.h"

static int refuse_type(const struct option_row *row, const char *wanted, struct error *err)
{
	return error_set(err, FAILURE_BAD_OPTION, 0, "\"%s\" must be %s", row->name, wanted);
}

static int apply_flag(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	if (json_kind(value) != JSON_TRUE && json_kind(value) != JSON_FALSE)
		return refuse_type(row, "true or false", err);
	*(bool *)((char *)o + row->offset) = json_is_true(value);
	return 0;
}

static int apply_number(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	double number = json_double(value, 0);
	char shown[40];

	if (json_kind(value) != JSON_NUMBER)
		return refuse_type(row, "a number", err);
	snprintf(shown, sizeof shown, "%.15g", number);
	return option_apply_number(o, row, number, shown, err);
}

/* An array of strings. For lists that the command line splits at commas each string is one name. */
static int apply_list(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	struct json_slice item;

	if (json_kind(value) != JSON_ARRAY)
		return refuse_type(row, "an array of strings", err);
	for (size_t at = 0; json_item(value, &at, &item);) {
		_cleanup_free_ char *text = json_dup(item);

		if (!text)
			return refuse_type(row, "an array of strings", err);
		if (row->kind == OPTION_NAMES && (text[0] == '\0' || strpbrk(text, ", ")))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"\"%s\": each string is one name, and \"%.60s\" is not", row->name,
				text);
		if (option_apply(o, 0, row, text, err) < 0)
			return -1;
	}
	return 0;
}

/* An object, name (or, for masks, file) to value; or an array of "K=V" as on the command line. */
static int apply_env(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	struct json_slice key, item;

	if (json_kind(value) == JSON_ARRAY)
		return apply_list(o, row, value, err);
	if (json_kind(value) != JSON_OBJECT)
		return refuse_type(row, "an object of strings, or an array of \"K=V\"", err);
	for (size_t at = 0; json_next(value, &at, &key, &item);) {
		_cleanup_free_ char *name = json_dup_key(key), *text = json_dup(item), *pair = NULL;

		if (!name || !text)
			return refuse_type(row, "an object of strings", err);
		if (strchr(name, '='))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				row->kind == OPTION_MASK
					? "\"%s\": \"%.60s\" has a = in it"
					: "\"%s\": \"%.60s\" is no variable's name",
				row->name, name);
		if (asprintf(&pair, "%s=%s", name, text) < 0) {
			pair = NULL;
			return error_set(
				err, FAILURE_RESOURCES_EXHAUSTED, 0, "no memory for the profile");
		}
		if (option_apply(o, 0, row, pair, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * An array; each item "SRC", "SRC:DST", or {"source": SRC, "target": DST}, in which no colon has a
 * meaning.
 */
static int apply_binds(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	static const char shape[] = "an array whose items are strings or objects with \"source\" "
				    "and, if wanted, \"target\"";
	struct json_slice item;

	if (json_kind(value) != JSON_ARRAY)
		return refuse_type(row, shape, err);
	for (size_t at = 0; json_item(value, &at, &item);) {
		_cleanup_free_ char *text = json_dup(item),
				    *source = json_dup(json_get(item, "source")),
				    *target = json_dup(json_get(item, "target"));
		struct json_slice key, member;
		size_t count = 0;

		for (size_t in = 0; json_next(item, &in, &key, &member);)
			count++;
		if (!text && (!source || count != (target ? 2 : 1)))
			return refuse_type(row, shape, err);
		if (text ? option_apply(o, 0, row, text, err) < 0
			 : option_apply_bind(o, row, source, target, err) < 0)
			return -1;
	}
	return 0;
}

static int apply_row(
	struct options *o, const struct option_row *row, struct json_slice value, struct error *err)
{
	_cleanup_free_ char *text = NULL;

	switch (row->kind) {
	case OPTION_FLAG:
		return apply_flag(o, row, value, err);
	case OPTION_TEXT:
	case OPTION_NETWORK:
	case OPTION_VIEW:
		text = json_dup(value);
		return text ? option_apply(o, 0, row, text, err)
			    : refuse_type(row, "a string", err);
	case OPTION_SECONDS:
	case OPTION_MEGABYTES:
	case OPTION_COUNT:
		return apply_number(o, row, value, err);
	case OPTION_NAMES:
	case OPTION_LIST:
	case OPTION_VARIABLE:
		return apply_list(o, row, value, err);
	case OPTION_ENV:
	case OPTION_MASK:
		return apply_env(o, row, value, err);
	case OPTION_BIND:
	case OPTION_SCRATCH:
		return apply_binds(o, row, value, err);
	case OPTION_ARGS:
	case OPTION_PROFILE:
	case OPTION_HELP:
		break;
	}
	return error_set(err, FAILURE_INTERNAL, 0, "\"%s\" has no form in a profile", row->name);
}

static int apply_key(struct options *o, enum command_set command, const char *key,
	struct json_slice value, struct error *err)
{
	const struct option_row *row = option_find(key), *near;
	struct options elsewhere;
	int result;

	if (!row) {
		near = option_nearest(key, 0);
		if (near && !(near->commands & NOT_IN_PROFILE))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"unknown key \"%.60s\"; did you mean \"%s\"?", key, near->name);
		return error_set(err, FAILURE_BAD_OPTION, 0, "unknown key \"%.60s\"", key);
	}
	if (row->commands & NOT_IN_PROFILE)
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"\"%s\" belongs on the command line, not into a profile", row->name);
	if (row->commands & command)
		return apply_row(o, row, value, err);
	memset(&elsewhere, 0, sizeof elsewhere);
	result = apply_row(&elsewhere, row, value, err);
	options_free(&elsewhere);
	return result;
}

int options_profile(struct options *o, enum command_set command, const char *name, const char *text,
	size_t length, struct error *err)
{
	struct json_slice key, value, profile = json_slice(text, length);
	struct error inner = ERROR_INIT;
	char reason[256];

	if (!json_gate_check(&JSON_GATE_DOCUMENT, text, length, reason, sizeof reason))
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"profile %.200s: not accepted as JSON: %s", name, reason);
	for (size_t at = 0; json_next(profile, &at, &key, &value);) {
		_cleanup_free_ char *own = json_dup_key(key);

		if (!own)
			return error_set(err, FAILURE_RESOURCES_EXHAUSTED, 0,
				"profile %.200s: no memory to read it", name);
		if (apply_key(o, command, own, value, &inner) < 0)
			return error_set(err, inner.code, inner.sys_errno, "profile %.200s: %s",
				name, inner.context);
	}
	return 0;
}
