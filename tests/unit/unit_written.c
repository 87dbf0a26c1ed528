/* SPDX-License-Identifier: Apache-2.0 */
/* How much was written, asked by one side while the other reads. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fs/view/written.h"
#include "tests/unit/tap.h"

#define ROUNDS 20000

struct reader {
	struct written written;
	int pipes[WRITTEN_STREAMS][2];
};

static void open_all(struct reader *r, struct written_view *view)
{
	int ends[WRITTEN_STREAMS];

	for (unsigned i = 0; i < WRITTEN_STREAMS; i++) {
		if (pipe2(r->pipes[i], O_CLOEXEC) != 0)
			exit(2);
		ends[i] = r->pipes[i][1];
	}
	if (written_open(&r->written) != 0 || written_attach(view, dup(r->written.fd), ends) != 0)
		exit(2);
}

static void close_all(struct reader *r, struct written_view *view)
{
	munmap((void *)(uintptr_t)view->page, 1);
	written_close(&r->written);
	for (unsigned i = 0; i < WRITTEN_STREAMS; i++) {
		close(r->pipes[i][0]);
		close(r->pipes[i][1]);
	}
}

/* Takes what comes out of the first pipe until it ends with a zero byte, now more and now less at a time. */
static void *take_all(void *context)
{
	struct reader *r = context;
	char block[64];
	size_t most = 1;
	ssize_t got;

	do {
		struct pollfd ready = { r->pipes[0][0], POLLIN, 0 };
		int waiting;

		if (poll(&ready, 1, -1) != 1)
			exit(2);
		if (ioctl(r->pipes[0][0], FIONREAD, &waiting) != 0)
			exit(2);
		most = most < (size_t)waiting ? most : (size_t)waiting;
		written_taking(&r->written, 0, most);
		got = read(r->pipes[0][0], block, most);
		written_took(&r->written, 0, got > 0 ? (size_t)got : 0);
		most = most % sizeof block + 1;
	} while (got > 0 && block[got - 1] != '\0');
	return NULL;
}

static void test_places(void)
{
	struct reader r = { .written = WRITTEN_INIT };
	struct written_view view = { .page = NULL };
	uint64_t bytes[WRITTEN_STREAMS] = { 9, 9 };
	char block[4];

	ok(!written_look(&view, bytes), "without a page nothing is known");
	open_all(&r, &view);
	ok(written_look(&view, bytes) && bytes[0] == 0 && bytes[1] == 0, "at the beginning nothing is written");
	ok(write(r.pipes[0][1], "four", 4) == 4 && write(r.pipes[1][1], "seven..", 7) == 7, "something is written");
	ok(written_look(&view, bytes) && bytes[0] == 4 && bytes[1] == 7, "what waits in the pipes is counted");
	written_taking(&r.written, 0, 3);
	ok(written_look(&view, bytes) && bytes[0] == 4 && bytes[1] == 7, "also before the bytes that are being taken are out");
	ok(read(r.pipes[0][0], block, 3) == 3, "three are taken");
	ok(written_look(&view, bytes) && bytes[0] == 4 && bytes[1] == 7, "and after, when whoever takes them has stopped in the middle");
	written_took(&r.written, 0, 3);
	ok(written_look(&view, bytes) && bytes[0] == 4 && bytes[1] == 7, "and are counted all the same");
	ok(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, r.written.fd, 0) == MAP_FAILED, "who is given the page cannot write to it");
	close_all(&r, &view);
}

static void test_race(void)
{
	struct reader r = { .written = WRITTEN_INIT };
	struct written_view view = { .page = NULL };
	uint64_t bytes[WRITTEN_STREAMS], total = 0;
	unsigned wrong = 0;
	pthread_t thread;

	open_all(&r, &view);
	if (pthread_create(&thread, NULL, take_all, &r) != 0)
		exit(2);
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t length = i % 50 + 1;
		char block[64];

		memset(block, 'x', sizeof block);
		if (i == ROUNDS - 1)
			block[length - 1] = '\0';
		total += (uint64_t)write(r.pipes[0][1], block, length);
		wrong += !written_look(&view, bytes) || bytes[0] != total || bytes[1] != 0;
	}
	pthread_join(thread, NULL);
	is_int(wrong, 0, "no place is wrong while another reads");
	ok(written_look(&view, bytes) && bytes[0] == total, "when all is read it is as much as was written");
	close_all(&r, &view);
}

int main(void)
{
	plan(0);
	test_places();
	test_race();
	return done();
}
