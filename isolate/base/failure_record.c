/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures as JSON: the same object in `--json` answers, in the library and in doctor, so that no
 * program has to parse prose. The code is from the closed list of failures.def; the rest is for
 * people.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/failure_record.h"

#include <string.h>

#include "isolate/base/cleanup.h"

void failure_record_write(const struct error *err, struct buffer *out)
{
	struct json_writer w;

	json_begin(&w, out);
	json_open_object(&w);
	json_key(&w, "failure");
	json_open_object(&w);
	json_key(&w, "code");
	json_string(&w, failure_name(err->code));
	json_key(&w, "tried");
	json_string(&w, err->context);
	json_key(&w, "meaning");
	json_string(&w, failure_meaning(err->code));
	json_key(&w, "kernel");
	if (err->sys_errno)
		json_string(&w, error_errno_name(err->sys_errno));
	else
		json_null(&w);
	json_key(&w, "fix");
	json_string(&w, failure_remedy(err->code));
	json_close_object(&w);
	json_close_object(&w);
}

bool failure_record_read(struct json_slice record, struct error *err)
{
	struct json_slice failure = json_get(record, "failure"), code = json_get(failure, "code");
	_cleanup_free_ char *tried = json_dup(json_get(failure, "tried"));

	for (int i = 1; i < FAILURE_COUNT; i++)
		if (json_is(code, failure_name((enum failure)i))) {
			error_set(err, (enum failure)i, 0, "%s", tried ? tried : "");
			return true;
		}
	return false;
}
