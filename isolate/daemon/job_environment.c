/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a request. See environment.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/job_environment.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* Where cordon's own files are is the daemon's business and stays. */
static void clear_environment(void)
{
	const char *own = getenv("CORDON_LIBEXECDIR");
	char *kept = own ? strdup(own) : NULL;

	clearenv();
	if (kept)
		setenv("CORDON_LIBEXECDIR", kept, 1);
	free(kept);
}

int environment_take(struct json_slice slice, struct error *err)
{
	cJSON *tree = slice.text ? cJSON_ParseWithLength(slice.text, slice.length) : NULL;
	const cJSON *item;
	int status = 0;

	if (!slice.text)
		return 0;
	if (!cJSON_IsObject(tree))
		status = error_set(err, FAILURE_BAD_OPTION, 0, "environment must be an object of strings");
	else
		clear_environment();
	cJSON_ArrayForEach(item, tree) {
		if (strcmp(item->string, "CORDON_LIBEXECDIR") == 0)
			continue;
		if (status == 0 && (!cJSON_IsString(item) || setenv(item->string, item->valuestring, 1) != 0))
			status = error_set(err, FAILURE_BAD_OPTION, 0, "environment must be an object of strings");
	}
	cJSON_Delete(tree);
	return status;
}
