/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: a set of options as one JSON object.
 *
 * The text passes the strict gate first (no duplicate keys, no invalid UTF-8, no U+0000, bounded in
 * size and depth), so that cJSON reads what any other reader would. Keys are the long names of the
 * option table, and their JSON type follows from the option's kind; profile.schema.json, for
 * editors, is made from the same table.
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

#include <cjson/cJSON.h>

#include "isolate/base/json_gate.h"
#include "isolate/options/option_table.h"

static int refuse_type(const struct option_row *row, const char *wanted, struct error *err)
{
	return error_set(err, FAILURE_BAD_OPTION, 0, "\"%s\" must be %s", row->name, wanted);
}

static int apply_flag(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	if (!cJSON_IsBool(value))
		return refuse_type(row, "true or false", err);
	*(bool *)((char *)o + row->offset) = cJSON_IsTrue(value);
	return 0;
}

static int apply_number(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	char shown[40];

	if (!cJSON_IsNumber(value))
		return refuse_type(row, "a number", err);
	snprintf(shown, sizeof shown, "%.15g", value->valuedouble);
	return option_apply_number(o, row, value->valuedouble, shown, err);
}

/* An array of strings. For lists that the command line splits at commas each string is one name. */
static int apply_list(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return refuse_type(row, "an array of strings", err);
	cJSON_ArrayForEach (item, value) {
		if (!cJSON_IsString(item))
			return refuse_type(row, "an array of strings", err);
		if (row->kind == OPTION_NAMES &&
			(item->valuestring[0] == '\0' || strpbrk(item->valuestring, ", ")))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"\"%s\": each string is one name, and \"%.60s\" is not", row->name,
				item->valuestring);
		if (option_apply(o, 0, row, item->valuestring, err) < 0)
			return -1;
	}
	return 0;
}

/* An object, name (or, for masks, file) to value; or an array of "K=V" as on the command line. */
static int apply_env(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	const cJSON *item;

	if (cJSON_IsArray(value))
		return apply_list(o, row, value, err);
	if (!cJSON_IsObject(value))
		return refuse_type(row, "an object of strings, or an array of \"K=V\"", err);
	cJSON_ArrayForEach (item, value) {
		char *pair = NULL;
		int result;

		if (!cJSON_IsString(item))
			return refuse_type(row, "an object of strings", err);
		if (strchr(item->string, '='))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				row->kind == OPTION_MASK
					? "\"%s\": \"%.60s\" has a = in it"
					: "\"%s\": \"%.60s\" is no variable's name",
				row->name, item->string);
		if (asprintf(&pair, "%s=%s", item->string, item->valuestring) < 0)
			return error_set(
				err, FAILURE_RESOURCES_EXHAUSTED, 0, "no memory for the profile");
		result = option_apply(o, 0, row, pair, err);
		free(pair);
		if (result < 0)
			return -1;
	}
	return 0;
}

/*
 * An array; each item "SRC", "SRC:DST", or {"source": SRC, "target": DST}, in which no colon has a
 * meaning.
 */
static int apply_binds(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	static const char shape[] = "an array whose items are strings or objects with \"source\" "
				    "and, if wanted, \"target\"";
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return refuse_type(row, shape, err);
	cJSON_ArrayForEach (item, value) {
		const cJSON *source, *target;
		int result;

		if (cJSON_IsString(item)) {
			result = option_apply(o, 0, row, item->valuestring, err);
		} else {
			source = cJSON_GetObjectItemCaseSensitive(item, "source");
			target = cJSON_GetObjectItemCaseSensitive(item, "target");
			if (!cJSON_IsObject(item) || !cJSON_IsString(source) ||
				(target && !cJSON_IsString(target)) ||
				cJSON_GetArraySize(item) != (target ? 2 : 1))
				return refuse_type(row, shape, err);
			result = option_apply_bind(o, row, source->valuestring,
				target ? target->valuestring : NULL, err);
		}
		if (result < 0)
			return -1;
	}
	return 0;
}

static int apply_row(
	struct options *o, const struct option_row *row, const cJSON *value, struct error *err)
{
	switch (row->kind) {
	case OPTION_FLAG:
		return apply_flag(o, row, value, err);
	case OPTION_TEXT:
	case OPTION_NETWORK:
	case OPTION_VIEW:
		if (!cJSON_IsString(value))
			return refuse_type(row, "a string", err);
		return option_apply(o, 0, row, value->valuestring, err);
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

static int apply_key(
	struct options *o, enum command_set command, const cJSON *value, struct error *err)
{
	const struct option_row *row = option_find(value->string), *near;
	struct options elsewhere;
	int result;

	if (!row) {
		near = option_nearest(value->string, 0);
		if (near && !(near->commands & NOT_IN_PROFILE))
			return error_set(err, FAILURE_BAD_OPTION, 0,
				"unknown key \"%.60s\"; did you mean \"%s\"?", value->string,
				near->name);
		return error_set(
			err, FAILURE_BAD_OPTION, 0, "unknown key \"%.60s\"", value->string);
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
	struct error inner = ERROR_INIT;
	char reason[256];
	const cJSON *value;
	cJSON *root = NULL;
	int result = -1;

	if (!json_gate_check(&JSON_GATE_DOCUMENT, text, length, reason, sizeof reason)) {
		error_set(err, FAILURE_BAD_OPTION, 0, "profile %.200s: not accepted as JSON: %s",
			name, reason);
		goto out;
	}
	root = cJSON_ParseWithLength(text, length);
	if (!root) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, 0,
			"profile %.200s: no memory to read it", name);
		goto out;
	}
	cJSON_ArrayForEach (value, root) {
		if (apply_key(o, command, value, &inner) < 0) {
			error_set(err, inner.code, inner.sys_errno, "profile %.200s: %s", name,
				inner.context);
			goto out;
		}
	}
	result = 0;
out:
	cJSON_Delete(root);
	return result;
}
