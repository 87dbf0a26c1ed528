/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the memory of processes inside, in a thread of its own.
 *
 * A page of a program may lie in a file of the view, or of a file system that does not answer, and another thread of it may hold its map for long: who reads there waits for whom the
 * program chooses. The supervisor holds the limits and watches the view's server, so it never reads itself: it asks, waits for a moment that is bounded, and goes on without an answer.
 * A thread that is held up for longer is left behind and replaced, WITNESS_REPLACED_MOST times.
 */
#ifndef CORDON_ISOLATE_MONITOR_REMOTE_MEM_READER_H
#define CORDON_ISOLATE_MONITOR_REMOTE_MEM_READER_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/monitor/peer_address.h"

#define WITNESS_PATIENCE_MS 100 /* with one look, from when it begins */
#define WITNESS_START_MS 250    /* until it begins, on a machine with more to do than it can */
#define WITNESS_TURN_MS 300     /* with all questions between two calls of witness_turn(): then there is no answer to any */
#define WITNESS_COMMAND 256
#define WITNESS_REPLACED_MOST 16

struct witness;

/* Starts the thread; uid and gid are who the processes are on the host. NULL without memory or threads: then there is no answer to any question. */
struct witness *witness_new(uid_t uid, gid_t gid);

/* A turn of whoever asks begins. NULL is nothing. */
void witness_turn(struct witness *witness);

/* What a notified call of a process has for an address: outward_read(). False also when there was no answer in time. */
bool witness_address(struct witness *witness, const struct seccomp_notif *call, pid_t process, struct outward *out);

/* The command line of a process, with spaces between its words. Returns false, and "", when it has none any more or there was no answer in time. */
bool witness_command(struct witness *witness, pid_t pid, char text[WITNESS_COMMAND]);

/* How many questions had no answer in time since this was asked last. 0 for NULL. */
uint64_t witness_lost(struct witness *witness);

/* Ends the thread. One that waits ends when what it waits for does. NULL is nothing. */
void witness_free(struct witness *witness);

#endif
