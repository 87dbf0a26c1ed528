/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bus. See bus.h.
 *
 * Lines lie one after the other in a buffer that wraps; a line never does, it starts again at the
 * front. Their places are kept by number, modulo a power of two. An old line is forgotten when its
 * place in either is needed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/bus.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/monitor/emitter.h"

#define RING_BYTES (8u << 20)
#define RING_LINES (1u << 15)
#define LINE_MAX_BYTES (EMITTER_LINE_MAX + 24) /* with a longer number */

struct place {
	uint32_t offset, length;
};

struct bus {
	struct audit *audit;
	uint64_t oldest, next, committed, malformed;
	uint32_t pending; /* bytes that are not in the log yet */
	uint32_t front;   /* where the next line goes */
	struct place places[RING_LINES];
	char bytes[RING_BYTES];
};

struct bus *bus_new(struct audit *audit)
{
	struct bus *b = calloc(1, sizeof *b);

	if (b) {
		b->audit = audit;
		b->oldest = b->next = b->committed = audit ? audit_next(audit) : 1;
	}
	return b;
}

void bus_free(struct bus *b)
{
	free(b);
}

static struct place *place_of(struct bus *b, uint64_t sequence)
{
	return &b->places[sequence % RING_LINES];
}

/* Forgets what lies where the next length bytes go. */
static void make_room(struct bus *b, uint32_t length)
{
	if (b->front + length > RING_BYTES) {
		/* What lies between here and the end is older than what lies at the front. */
		while (b->oldest < b->next && place_of(b, b->oldest)->offset >= b->front)
			b->oldest++;
		b->front = 0;
	}
	while (b->oldest < b->next) {
		const struct place *p = place_of(b, b->oldest);

		if (b->next - b->oldest < RING_LINES &&
			(p->offset >= b->front + length || p->offset + p->length <= b->front))
			break;
		b->oldest++;
	}
}

void bus_publish(struct bus *b, const char *line, size_t length)
{
	struct event_line envelope;
	char number[40];
	uint32_t head, rest, whole;

	if (length > EMITTER_LINE_MAX || !event_line_read(line, length, &envelope)) {
		b->malformed++;
		return;
	}
	/* What lies in the ring and is not in the log yet must not be overwritten. */
	if (b->next - b->committed >= RING_LINES / 2 || b->pending >= RING_BYTES / 4)
		bus_commit(b);
	head = (uint32_t)snprintf(
		number, sizeof number, "{\"sequence\":%llu", (unsigned long long)b->next);
	rest = (uint32_t)(length - envelope.after_sequence);
	whole = head + rest + 1;
	make_room(b, whole);
	assert(b->oldest <= b->next && b->front + whole <= RING_BYTES);
	*place_of(b, b->next) = (struct place){ b->front, whole };
	memcpy(b->bytes + b->front, number, head);
	memcpy(b->bytes + b->front + head, line + envelope.after_sequence, rest);
	b->bytes[b->front + whole - 1] = '\n';
	b->front += whole;
	b->pending += whole;
	b->next++;
}

void bus_commit(struct bus *b)
{
	while (b->committed < b->next) {
		const struct place *first = place_of(b, b->committed);
		uint32_t length = 0;
		uint64_t last = b->committed;

		/* As many as lie side by side go in one write. */
		while (last < b->next && place_of(b, last)->offset == first->offset + length)
			length += place_of(b, last++)->length;
		if (b->audit)
			audit_write(b->audit, b->bytes + first->offset, length, last);
		b->committed = last;
	}
	b->pending = 0;
}

uint64_t bus_next(const struct bus *b)
{
	return b->next;
}

uint64_t bus_oldest(const struct bus *b)
{
	return b->oldest;
}

const char *bus_line(const struct bus *b, uint64_t sequence, size_t *length)
{
	const struct place *p = &b->places[sequence % RING_LINES];

	if (sequence < b->oldest || sequence >= b->next)
		return NULL;
	*length = p->length;
	return b->bytes + p->offset;
}

uint64_t bus_malformed(const struct bus *b)
{
	return b->malformed;
}
