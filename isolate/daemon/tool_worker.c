/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of tools. See tool_worker.h.
 *
 * Whose library it is, and where libraries are, is the daemon's: that is taken before the environment becomes the caller's. Who acts is the uid that the kernel gave for the
 * other end of the socket.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/tool_worker.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/failure_record.h"
#include "isolate/tools/action.h"
#include "isolate/tools/store.h"
#include "isolate/daemon/job_environment.h"
#include "isolate/daemon/protocol.h"
#include "isolate/daemon/worker.h"

/* An error object: a sentence for people, and the failure record as data, with what belongs to it. */
static void write_error(const struct error *err, const struct buffer *more, struct buffer *answer)
{
	struct buffer data = BUFFER_INIT;
	char sentence[1400];
	struct json_writer w;

	failure_record_write(err, &data);
	buffer_printf(answer, "%c", WORKER_ERROR);
	json_begin(&w, answer);
	json_open_object(&w);
	json_key(&w, "code");
	json_integer(&w, ERROR_FAILED);
	json_key(&w, "message");
	json_string(&w, error_sentence(err, sentence, sizeof sentence));
	if (data.length > 1 && !data.failed) {
		json_key(&w, "data");
		json_raw(&w, data.data, data.length - 1);
		buffer_add_text(answer, more->length ? "," : "");
		buffer_add(answer, more->data, more->length);
		buffer_add_text(answer, "}");
	}
	json_close_object(&w);
	buffer_free(&data);
}

void tool_work(const char *method, const char *request, size_t length, struct buffer *answer)
{
	struct json_slice params = json_slice_of(request, length, "params"), uid = json_slice_of(request, length, "uid"), threshold = json_slice_of(request, length, "threshold");
	struct action_request r = { .name = method, .params = params.text, .length = params.length, .control = WORKER_CHANNEL, .events = WORKER_CHANNEL };
	struct action_answer a = ACTION_ANSWER_INIT;
	struct error err = ERROR_INIT;
	char base[PATH_MAX], id[40] = "", policy[40] = "";

	r.base = base;
	r.authority = authority_of_uid(uid.text ? (unsigned)strtoul(uid.text, NULL, 10) : (unsigned)-1);
	json_slice_copy(json_slice_of(request, length, "execution_id"), id, sizeof id);
	r.execution_id = id;
	json_slice_copy(json_slice_of(request, length, "policy"), policy, sizeof policy);
	r.policy = promotion_policy_of(policy);
	if (r.policy == POLICY_COUNT)
		r.policy = POLICY_THRESHOLD;
	r.threshold = threshold.text ? strtol(threshold.text, NULL, 10) : 0;
	if (store_base(base, sizeof base, &err) == 0 && environment_take(json_slice_of(params.text, params.length, "environment"), &err) == 0 && action_perform(&r, &a, &err) == 0) {
		buffer_printf(answer, "%c", WORKER_RECORD);
		buffer_add(answer, a.result.data, a.result.length);
	} else {
		write_error(&err, &a.data, answer);
	}
	action_answer_free(&a);
}
