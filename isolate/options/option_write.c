/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes options as a profile. See option_write.h.
 *
 * It goes through the option table, so an option that is added there is written without a change here. Sizes get nine decimals: enough that reading them
 * back gives the same number of bytes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/options/option_write.h"

#include <string.h>

#include "isolate/options/option_table.h"
#include "isolate/base/text.h"

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

static bool write_value(struct json_writer *w, const struct options *o, const struct option_row *row)
{
	static const char *const NETWORKS[] = { [NETWORK_NONE] = "none", [NETWORK_ALLOW] = "allow" };
	static const char *const VIEWS[] = { [VIEW_MIXED] = "mixed", [VIEW_FUSE] = "fuse", [VIEW_BIND] = "bind" };
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

		if ((row->commands & NOT_IN_PROFILE) || !(row->commands & command) || strcmp(row->name, "events") == 0 || !is_there(o, row))
			continue;
		json_key(w, row->name);
		valid &= write_value(w, o, row);
	}
	json_close_object(w);
	return valid;
}
