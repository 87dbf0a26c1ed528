/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: reports from PID 1. What is accepted must be in range in every field, with its
 * text terminated.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/wire/limits.h"
#include "isolate/wire/init_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report out;

	if (!report_parse(data, size, &out))
		return 0;
	if (size != sizeof out || out.kind < REPORT_READY || out.kind > REPORT_CONTINUED ||
		out.failure >= FAILURE_COUNT || out.layers >= 1u << LAYER_COUNT || out.status < 0 ||
		out.error < 0 || strnlen(out.context, sizeof out.context) == sizeof out.context)
		abort();
	return 0;
}
