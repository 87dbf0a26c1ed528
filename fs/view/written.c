/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page and a turn. See written.h.
 *
 * read(2) and FIONREAD of one pipe take the same lock in the kernel, so who finds the turn even and the same before and after it asked has seen no read between the two. The server cannot
 * change the page; what it sends is a number that the supervisor takes for no more than a wish to read so far.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/written.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define LOOKS 2048 /* some ten microseconds: a read that takes longer was interrupted */

struct written_page {
	_Atomic uint32_t turn; /* odd: something is being taken */
	_Atomic uint64_t taken[WRITTEN_STREAMS], taking[WRITTEN_STREAMS];
};

int written_open(struct written *w)
{
	void *page = MAP_FAILED;

	w->fd = memfd_create("written", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (w->fd >= 0 && ftruncate(w->fd, sizeof *w->page) == 0)
		page = mmap(NULL, sizeof *w->page, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (page != MAP_FAILED)
		w->page = page;
	if (page != MAP_FAILED && fcntl(w->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0)
		return 0;
	written_close(w);
	return -1;
}

void written_taking(struct written *w, unsigned stream, size_t bytes)
{
	if (!w->page)
		return;
	atomic_fetch_add(&w->page->turn, 1);
	atomic_store(&w->page->taking[stream], bytes);
}

void written_took(struct written *w, unsigned stream, size_t bytes)
{
	if (!w->page)
		return;
	atomic_fetch_add(&w->page->taken[stream], bytes);
	atomic_store(&w->page->taking[stream], 0);
	atomic_fetch_add(&w->page->turn, 1);
}

void written_close(struct written *w)
{
	if (w->page)
		munmap(w->page, sizeof *w->page);
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct written)WRITTEN_INIT;
}

int written_attach(struct written_view *w, int page, const int pipes[WRITTEN_STREAMS])
{
	void *mapped = mmap(NULL, sizeof *w->page, PROT_READ, MAP_SHARED, page, 0);

	close(page);
	for (unsigned i = 0; i < WRITTEN_STREAMS; i++)
		w->pipes[i] = pipes[i];
	w->page = mapped == MAP_FAILED ? NULL : mapped;
	return w->page ? 0 : -1;
}

/* Returns 1 when the numbers belong together, 0 when something was taken meanwhile, -1 when a pipe does not say. The page is mapped for reading, which an atomic load is. */
static int look_once(struct written_page *page, const int pipes[WRITTEN_STREAMS], uint64_t bytes[WRITTEN_STREAMS])
{
	uint32_t turn = atomic_load(&page->turn);

	for (unsigned i = 0; i < WRITTEN_STREAMS; i++) {
		uint64_t taking = atomic_load(&page->taking[i]);
		int waiting;

		if (ioctl(pipes[i], FIONREAD, &waiting) != 0)
			return -1;
		bytes[i] = atomic_load(&page->taken[i]) + (uint64_t)waiting + ((uint64_t)waiting < taking ? taking : 0);
	}
	return turn % 2 == 0 && atomic_load(&page->turn) == turn;
}

bool written_look(const struct written_view *w, uint64_t bytes[WRITTEN_STREAMS])
{
	struct written_page *page = (struct written_page *)(uintptr_t)w->page;
	int found = page ? 0 : -1;

	for (int waited_ms = 0; found == 0 && waited_ms <= WRITTEN_PATIENCE_MS; waited_ms++) {
		for (int i = 0; i < LOOKS && atomic_load(&page->turn) % 2 != 0; i++)
			continue;
		found = look_once(page, w->pipes, bytes);
		if (found == 0 && atomic_load(&page->turn) % 2 != 0)
			poll(NULL, 0, 1);
	}
	return found >= 0;
}
