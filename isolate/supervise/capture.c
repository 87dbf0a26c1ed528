/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capturing output. See capture.h.
 *
 * Memory is bounded by the limit: what is over it is read, so that the program does not block on it, counted and forgotten. Bytes are not looked at here; they become
 * text when the record is written.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int capture_open(struct capture *c, int pass_to, uint64_t limit, struct captured *kept, int *write_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	*c = (struct capture){ ends[0], pass_to, limit, kept };
	*write_end = ends[1];
	return 0;
}

/* Writes all of it, waiting for a slow reader: that is the program's back-pressure. Returns false when the reader is gone. */
static bool pass_on(struct capture *c, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t wrote = write(c->pass_to, bytes, length);
		struct pollfd ready = { c->pass_to, POLLOUT, 0 };

		if (wrote > 0) {
			bytes += wrote;
			length -= (size_t)wrote;
		} else if (wrote < 0 && errno == EAGAIN) {
			poll(&ready, 1, 100);
		} else if (wrote == 0 || errno != EINTR) {
			return false;
		}
	}
	return true;
}

static void keep(struct capture *c, const char *bytes, size_t length)
{
	uint64_t room = c->limit > c->kept->bytes.length ? c->limit - c->kept->bytes.length : 0;
	size_t kept = length < room ? length : (size_t)room;

	buffer_add(&c->kept->bytes, bytes, kept);
	c->kept->dropped += length - kept;
}

int capture_read(struct capture *c, size_t most)
{
	char block[65536];

	while (most > 0) {
		ssize_t got = read(c->source, block, sizeof block);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return 1;
		if (got <= 0) {
			close(c->source);
			c->source = -1;
			return got < 0 ? -1 : 0;
		}
		if (c->pass_to < 0)
			keep(c, block, (size_t)got);
		else if (!pass_on(c, block, (size_t)got)) {
			close(c->source);
			c->source = -1;
			return 0;
		}
		most -= (size_t)got < most ? (size_t)got : most;
	}
	return 1;
}

void capture_finish(struct capture *c)
{
	/* A pipe holds at most 1 MiB by default, so a writer that is still there cannot keep us. */
	if (c->source >= 0)
		capture_read(c, 2 << 20);
	if (c->source >= 0)
		close(c->source);
	c->source = -1;
}
