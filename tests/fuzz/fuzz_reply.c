/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the reply that a body's process leaves in shared memory, all the way into a
 * record. Whatever is in it, the record must be one line of strict JSON, and success must come with
 * a value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_gate.h"
#include "isolate/wire/record.h"
#include "isolate/sandbox/runner_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_gate_rules RECORD = {
		.max_depth = 1100, .allow_nul = true, .must_be_object = true, .one_line = true
	};
	struct error err = ERROR_INIT;
	struct buffer record = BUFFER_INIT;
	struct record result;
	char reason[200];

	if (record_init(&result, &err) < 0)
		return 0;
	result.tier = result.confinement.view = result.confinement.seccomp =
		result.confinement.network = "fuzz";
	runner_client_take(data, size, size % 2, &result);
	if (result.success != (result.output.length > 0) ||
		(!result.success && result.error.length == 0))
		abort();
	record_write(&result, &record);
	if (record.failed ||
		!json_gate_check(&RECORD, record.data, record.length, reason, sizeof reason))
		abort();
	buffer_free(&record);
	record_free(&result);
	return 0;
}
