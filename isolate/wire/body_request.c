/* SPDX-License-Identifier: Apache-2.0 */
/* The frames between supervisor and runner. See body_request.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/body_request.h"

#include <string.h>

bool runner_spawn_parse(const void *bytes, size_t length, struct runner_spawn *out)
{
	if (length != sizeof *out)
		return false;
	memcpy(out, bytes, sizeof *out);
	if (out->magic != RUNNER_SPAWN_MAGIC || out->targets_length > sizeof out->targets ||
		out->limits.profile >= PROFILE_COUNT || out->limits.profile == PROFILE_NONE)
		return false;
	return out->targets_length == 0 || out->targets[out->targets_length - 1] == '\0';
}

bool runner_reply_parse(const void *bytes, size_t length, struct runner_answer *out)
{
	struct body_reply head;

	memset(out, 0, sizeof *out);
	if (length < sizeof head)
		return false;
	memcpy(&head, bytes, sizeof head);
	length -= sizeof head;
	if (head.verdict > BODY_REFUSED)
		return false;
	out->verdict = (enum body_verdict)head.verdict;
	if (out->verdict == BODY_NO_VERDICT)
		return true;
	for (int i = 0; i < BODY_FIELDS; i++) {
		if (head.field[i].offset > length ||
			head.field[i].length > length - head.field[i].offset)
			return false;
		out->field[i].bytes = (const char *)bytes + sizeof head + head.field[i].offset;
		out->field[i].length = head.field[i].length;
	}
	/* A success without a value, or a failure without a word, is no answer. */
	return out->field[out->verdict == BODY_SUCCEEDED ? BODY_OUTPUT : BODY_ERROR].length > 0;
}
