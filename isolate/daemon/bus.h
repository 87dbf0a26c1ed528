/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bus: every event of every execution, numbered, written to the audit log, and remembered for a
 * while.
 *
 * There is one ring in memory, of fixed size, and a subscriber is no more than a place in it. A
 * slow reader falls behind, and when the ring has moved on beyond its place it gets the number of
 * events it missed: no event waits for a reader, and a subscriber costs the same whether it reads
 * or not. The log on disk misses nothing, unless the disk is full.
 */
#ifndef CORDON_ISOLATE_DAEMON_BUS_H
#define CORDON_ISOLATE_DAEMON_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/daemon/audit.h"
#include "isolate/daemon/line.h"

struct bus;

/*
 * A bus whose numbers go on after those of the log, which is borrowed; NULL: there is none. Returns
 * NULL without memory.
 */
struct bus *bus_new(struct audit *audit);
void bus_free(struct bus *b);

/*
 * Takes one line of an emitter (without its newline), numbers it anew. What is no such line is
 * counted and left out.
 */
void bus_publish(struct bus *b, const char *line, size_t length);

/*
 * Writes what was published since the last call to the log. Called before any subscriber sees it.
 */
void bus_commit(struct bus *b);

/*
 * The number that the next event gets; the oldest that is remembered (the same when there is none).
 */
uint64_t bus_next(const struct bus *b);
uint64_t bus_oldest(const struct bus *b);

/*
 * The line of a number, newline included. NULL when it is not remembered. Good until the next
 * publish.
 */
const char *bus_line(const struct bus *b, uint64_t sequence, size_t *length);

/* Lines that were no events. */
uint64_t bus_malformed(const struct bus *b);

#endif
