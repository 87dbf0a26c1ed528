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
