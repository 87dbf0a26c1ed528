/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a program had written when something happened in its view.
 *
 * What a program prints comes to the supervisor through pipes, what its view refuses through a socket, and neither says which of two came first. But a program that is refused something waits
 * for the answer: at that moment it has written what was taken out of its pipes until then and what is still in them. The server sees the second (FIONREAD on ends of the pipes), and
 * the supervisor publishes the first in a page of memory that only it can write. So a refusal carries how much was written before it, and is told at that place.
 *
 * The supervisor makes the page's turn odd while it takes something out, since the two numbers do not belong together then, and says how much that is. The server looks again until the turn is
 * even, for WRITTEN_PATIENCE_MS at most, which is enough unless the supervisor was stopped in the middle; it waits for nothing else and for nobody inside. After that it goes by what
 * it sees: a pipe with less in it than is being taken has been emptied already.
 */
#ifndef CORDON_FS_VIEW_WRITTEN_H
#define CORDON_FS_VIEW_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITTEN_STREAMS 2 /* standard output, standard error */
#define WRITTEN_PATIENCE_MS 5

struct written_page;

/* The supervisor's side. */
struct written {
	struct written_page *page; /* NULL: nobody wants to know, and the functions do nothing */
	int fd;                    /* of the page, for the server; -1 without */
};

#define WRITTEN_INIT { .page = NULL, .fd = -1 }

/* Makes the page; what fd gives can map it for reading only (F_SEAL_FUTURE_WRITE of fcntl(2)). Returns 0, or -1 with errno. */
int written_open(struct written *w);

/* Around every read(2) from one of the pipes: before it with the bytes that it will take, which are there, and after it with those that it took (0 for none). */
void written_taking(struct written *w, unsigned stream, size_t bytes);
void written_took(struct written *w, unsigned stream, size_t bytes);

/* Gives the page back. Safe at any time. */
void written_close(struct written *w);

/* The server's side: the page, and an end of each pipe. */
struct written_view {
	const struct written_page *page; /* NULL: nothing is known */
	int pipes[WRITTEN_STREAMS];
};

/* Maps the page and closes its descriptor; the pipes become the view's. Returns 0, or -1 with errno. */
int written_attach(struct written_view *w, int page, const int pipes[WRITTEN_STREAMS]);

/* How many bytes were written to each stream since the beginning. Returns false where that cannot be said. */
bool written_look(const struct written_view *w, uint64_t bytes[WRITTEN_STREAMS]);

#endif
