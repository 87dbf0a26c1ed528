/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between supervisor and runner. See body_request.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/body_request.h"

#include <string.h>

#include "isolate/wire/packed.h"

enum { PARTS = 6, VALIDATE_ONLY = 1, SKIP_VALIDATION = 2 };

struct packed_request {
	struct packed_head head;
	uint64_t output_limit;
	uint32_t flags, reserved;
	struct packed_text parts[PARTS]; /* as in parts_of() */
};

static const struct packed_layout LAYOUT = {
	.name = "the request of the body",
	.magic = 0x43525245u,
	.size = sizeof(struct packed_request),
	.texts_at = offsetof(struct packed_request, parts),
	.text_count = PARTS,
};

static void parts_of(struct body_request *r, struct span *parts[PARTS])
{
	struct span *const all[PARTS] = { &r->source, &r->args, &r->return_expr, &r->allow,
		&r->permit, &r->copies };

	memcpy(parts, all, sizeof all);
}

int body_request_write(const struct body_request *request, struct error *err)
{
	struct body_request r = *request;
	struct packed_request packed = { .output_limit = r.output_limit,
		.flags = (r.validate_only ? VALIDATE_ONLY : 0) |
			(r.skip_validation ? SKIP_VALIDATION : 0) };
	struct packer packer = { .texts = BUFFER_INIT };
	struct span *parts[PARTS];

	parts_of(&r, parts);
	for (int i = 0; i < PARTS; i++)
		packed.parts[i] = packer_text(&packer, parts[i]->bytes, parts[i]->length);
	return packer_finish(&packer, &LAYOUT, &packed, err);
}

int body_request_open(int fd, struct body_request *out, struct error *err)
{
	const struct packed_request *packed = packed_open(&LAYOUT, fd, err);
	struct span *parts[PARTS];

	if (!packed)
		return -1;
	parts_of(out, parts);
	for (int i = 0; i < PARTS; i++)
		*parts[i] = (struct span){ packed_string(packed, packed->parts[i]),
			packed->parts[i].length };
	out->output_limit = packed->output_limit;
	out->validate_only = packed->flags & VALIDATE_ONLY;
	out->skip_validation = packed->flags & SKIP_VALIDATION;
	return 0;
}

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
