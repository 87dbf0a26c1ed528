/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the view. See view_event.h.
 *
 * The table of recent records is direct-mapped: two that fall on the same slot push each other out,
 * which costs a repeat and never a record. The ring is one buffer: it is sent from its front in
 * datagrams of whole records and moved up when it is half empty.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/view_event.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define EVENT_MAGIC 0x434f4556u
#define SLOTS 1024
#define RING_BYTES (1u << 20)
#define WINDOW_NS INT64_C(1000000000)
/*
 * At least so long between two datagrams: a record after a silence goes at once, many travel
 * together.
 */
#define BATCH_NS INT64_C(5000000)

_Static_assert(sizeof(struct event_head) == 56, "an event has no padding");

struct slot {
	struct event_head head;
	int64_t since_ns;
	uint64_t hash;
	char *path;
	size_t held; /* repeats that wait */
};

struct event_sink {
	int socket;
	bool opens;
	struct slot slots[SLOTS];
	size_t waiting;    /* slots with repeats */
	int64_t looked_ns; /* when those were last gone through */
	char ring[RING_BYTES];
	size_t front, back;
	int64_t sent_ns; /* when the last datagram went */
	uint64_t dropped, opened;
};

struct event_sink *event_sink_new(int socket, bool opens)
{
	struct event_sink *s = calloc(1, sizeof *s);

	if (s) {
		s->socket = socket;
		s->opens = opens;
	}
	return s;
}

void event_sink_free(struct event_sink *s)
{
	for (size_t i = 0; s && i < SLOTS; i++)
		free(s->slots[i].path);
	free(s);
}

/* Into the ring, or counted as dropped. */
static void store(
	struct event_sink *s, const struct event_head *head, const char *path, size_t length)
{
	struct event_head h = *head;
	size_t size;

	if (length > EVENT_PATH_MAX)
		length = EVENT_PATH_MAX;
	size = sizeof h + length;
	if (s->back + size > sizeof s->ring && s->front > 0) {
		memmove(s->ring, s->ring + s->front, s->back - s->front);
		s->back -= s->front;
		s->front = 0;
	}
	if (s->socket < 0 || s->back + size > sizeof s->ring) {
		s->dropped += h.count;
		return;
	}
	h.magic = EVENT_MAGIC;
	h.path_length = (uint16_t)length;
	h.reserved = 0;
	memcpy(s->ring + s->back, &h, sizeof h);
	memcpy(s->ring + s->back + sizeof h, path, length);
	s->back += size;
}

static uint64_t hash_of(const struct event_head *h, const char *path, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ h->kind ^ (uint64_t)h->flags << 8 ^
		(uint64_t)(uint32_t)h->rule << 24 ^ (uint64_t)(uint32_t)h->pid << 40;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)path[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

static bool is_repeat(const struct slot *slot, uint64_t hash, const struct event_head *h,
	const char *path, size_t length)
{
	return slot->path && slot->hash == hash && slot->head.kind == h->kind &&
		slot->head.flags == h->flags && slot->head.rule == h->rule &&
		slot->head.pid == h->pid && slot->head.path_length == length &&
		memcmp(slot->path, path, length) == 0;
}

/* Lets go of a slot; what it held back goes out. */
static void release(struct event_sink *s, struct slot *slot)
{
	if (slot->held > 0) {
		slot->head.count = slot->held;
		store(s, &slot->head, slot->path, slot->head.path_length);
		slot->held = 0;
		s->waiting--;
	}
	free(slot->path);
	slot->path = NULL;
}

/* How many bytes of whole records fit into one datagram. */
static size_t batch(const struct event_sink *s)
{
	size_t size = 0;

	while (s->front + size < s->back) {
		struct event_head h;

		memcpy(&h, s->ring + s->front + size, sizeof h);
		if (size > 0 && size + sizeof h + h.path_length > EVENT_BATCH)
			break;
		size += sizeof h + h.path_length;
	}
	return size;
}

/* Sends until the socket is full. Returns false when it is. */
static bool send_all(struct event_sink *s)
{
	while (s->front < s->back) {
		size_t size = batch(s);

		if (send(s->socket, s->ring + s->front, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == ENOBUFS)
				return false;
			break; /* a reader that is gone needs nothing more */
		}
		s->front += size;
	}
	s->front = s->back = 0;
	return true;
}

bool event_counts(struct event_sink *s, enum event_kind kind)
{
	if (kind != EVENT_OPENED || s->opens)
		return false;
	s->opened++;
	return true;
}

void event_put(struct event_sink *s, const struct event_head *head, const char *path, size_t length,
	int64_t now_ns)
{
	struct slot *slot;
	uint64_t hash;

	if (head->kind == EVENT_OPENED)
		s->opened += head->count;
	if (length > EVENT_PATH_MAX)
		length = EVENT_PATH_MAX;
	hash = hash_of(head, path, length);
	slot = &s->slots[hash % SLOTS];
	if (is_repeat(slot, hash, head, path, length)) {
		if (now_ns - slot->since_ns < WINDOW_NS) {
			if (slot->held == 0) {
				s->waiting++;
				slot->head.time_ns = head->time_ns;
			}
			slot->held += head->count;
			return;
		}
	}
	release(s, slot);
	store(s, head, path, length);
	/* A refusal, and what comes after a silence, goes at once. */
	if (head->kind == EVENT_DENIED || now_ns - s->sent_ns >= BATCH_NS) {
		send_all(s);
		s->sent_ns = now_ns;
	}
	slot->path = malloc(length + 1);
	if (!slot->path)
		return;
	memcpy(slot->path, path, length);
	slot->head = *head;
	slot->head.path_length = (uint16_t)length;
	slot->hash = hash;
	slot->since_ns = now_ns;
}

static void emit_dropped(struct event_sink *s)
{
	struct event_head h = { .kind = EVENT_DROPPED, .rule = -1, .count = s->dropped };

	if (s->dropped == 0 || s->socket < 0 || s->back + sizeof h > sizeof s->ring)
		return;
	s->dropped = 0;
	store(s, &h, "", 0);
}

int event_flush(struct event_sink *s, int64_t now_ns)
{
	bool room = true;

	if (s->waiting > 0 && now_ns - s->looked_ns >= WINDOW_NS / 4) {
		s->looked_ns = now_ns;
		for (size_t i = 0; i < SLOTS; i++)
			if (s->slots[i].held > 0 && now_ns - s->slots[i].since_ns >= WINDOW_NS)
				release(s, &s->slots[i]);
	}
	if (s->front < s->back &&
		(now_ns - s->sent_ns >= BATCH_NS || s->back - s->front >= EVENT_BATCH)) {
		room = send_all(s);
		s->sent_ns = now_ns;
	}
	if (room)
		emit_dropped(s);
	if (s->front < s->back)
		return room ? (int)(BATCH_NS / 1000000) : 100;
	return s->waiting > 0 ? 250 : -1;
}

void event_finish(struct event_sink *s)
{
	struct event_head h = { .kind = EVENT_SUMMARY, .rule = -1, .count = s->opened };
	struct pollfd out = { s->socket, POLLOUT, 0 };

	for (size_t i = 0; i < SLOTS; i++)
		release(s, &s->slots[i]);
	if (s->socket < 0)
		return;
	emit_dropped(s);
	store(s, &h, "", 0);
	/* The reader may have been stopped for a while. One that is gone hangs up. */
	while (!send_all(s))
		if (poll(&out, 1, -1) < 0 && errno != EINTR)
			return;
}

static bool is_sound(const struct event_head *h)
{
	return h->magic == EVENT_MAGIC && h->kind >= EVENT_OPENED && h->kind <= EVENT_SUMMARY &&
		h->path_length <= EVENT_PATH_MAX &&
		(h->flags & ~(uint32_t)EVENT_KNOWN_FLAGS) == 0 && h->rule >= EVENT_RULE_LEAST &&
		h->pid >= 0 && h->reserved == 0 && h->time_ns >= 0 &&
		memchr(h->comm, '\0', sizeof h->comm) != NULL;
}

int event_parse(const char *bytes, size_t length, size_t *at, struct event *out)
{
	if (*at == length)
		return 0;
	if (length - *at < sizeof out->head)
		return -1;
	memcpy(&out->head, bytes + *at, sizeof out->head);
	if (!is_sound(&out->head) || length - *at - sizeof out->head < out->head.path_length)
		return -1;
	out->path = bytes + *at + sizeof out->head;
	*at += sizeof out->head + out->head.path_length;
	return 1;
}
