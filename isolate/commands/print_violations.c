/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Violations for people. See violations.h.
 *
 * The details come from the runner as JSON that has passed the gate; cJSON reads them here for display only. What is missing or of another type is left out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/print_violations.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "isolate/base/text.h"

static const char *text_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

static void describe(const cJSON *violation, struct buffer *out)
{
	const cJSON *line = cJSON_GetObjectItemCaseSensitive(violation, "line");
	const cJSON *column = cJSON_GetObjectItemCaseSensitive(violation, "column");
	const char *message = text_of(violation, "message"), *rule = text_of(violation, "rule"), *rewrite = text_of(violation, "rewrite");

	if (cJSON_IsNumber(line) && cJSON_IsNumber(column))
		buffer_printf(out, "line %d, column %d: ", line->valueint, column->valueint);
	if (message)
		text_visible(out, message, strlen(message), TEXT_ONE_LINE);
	if (rule) {
		buffer_add_text(out, " [");
		text_visible(out, rule, strlen(rule), TEXT_ONE_LINE);
		buffer_add_text(out, "]");
	}
	if (rewrite && *rewrite) {
		buffer_add_text(out, "; ");
		text_visible(out, rewrite, strlen(rewrite), TEXT_ONE_LINE);
	}
}

void violations_describe(const struct result *r, struct buffer *out)
{
	cJSON *detail = r->detail.length ? cJSON_ParseWithLength(r->detail.data, r->detail.length) : NULL;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(detail, "violations"), *violation;
	bool any = false;

	cJSON_ArrayForEach(violation, list) {
		if (any)
			buffer_add_text(out, "\n");
		describe(violation, out);
		any = true;
	}
	if (!any && r->error.length > 0)
		text_visible(out, r->error.data, r->error.length, TEXT_ONE_LINE);
	else if (!any)
		buffer_add_text(out, "no violation");
	cJSON_Delete(detail);
}
