/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answering from the processor on which the program waits.
 *
 * A program that asks the server waits for the answer, and its processor with it. If the server runs on another one, two sleeping processors are woken for each request, which
 * takes longer than all the rest; if both share one, it goes from the one to the other without any being woken. With two processors that can be had, though a scheduler would not do it by itself:
 *
 * - The server has three threads. One may run anywhere; each other one is bound to a processor. At any time one of them has the duty to answer, and nobody else touches the view.
 * - When requests follow each other closely (fs/view/awake.h) the duty goes to the thread on the program's processor, and follows the program. Where that is, /proc says, asked after each few answers,
 *   and before the other processor is taken: the program may have gone there, and would have to wait.
 * - While they do, the thread on the other processor keeps that one busy (DUTY_HOLD), or the kernel would send the program there with the next answer, since it is idle. It does so for as long as
 *   the next request may take, and not where somebody else wants that processor: when others go on running, or when it was kept from running itself.
 * - The bound threads are SCHED_BATCH, sched(7): what the program does not wait for, a file that is closed, does not interrupt it. So closing one and opening the next is one turn of the server.
 * - Where several ask at once (NEARBY_MANY), the first thread answers, too: the next request is there already, and to follow those who ask would only take time.
 * - Where others want to run, the first thread answers, as if it were the only one: bound to a processor, one could have to wait for it. It sleeps until it is asked.
 *
 * The price: while requests come closer together than AWAKE_NS, both processors are busy, of which the second is only taken from who wants nothing. What the scheduler prefers to every ordinary
 * thread (SCHED_FIFO) holds up a bound thread on its processor as it does the program there.
 *
 * With any other number of processors there is only that first thread. The bound ones are set up before the server gives up its rights, and nothing is asked of the scheduler
 * afterwards. sched_setaffinity(2), futex(2), proc_pid_stat(5).
 */
#ifndef CORDON_FS_VIEW_NEARBY_H
#define CORDON_FS_VIEW_NEARBY_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/view/load.h"

enum nearby_thread { NEARBY_ANYWHERE, NEARBY_FIRST, NEARBY_SECOND, NEARBY_THREADS };

/* What a thread is to do. */
enum duty { DUTY_NONE_YET, DUTY_REST, DUTY_HOLD, DUTY_ANSWER, DUTY_LEAVE };

#define NEARBY_LOOK_LEAST 4u               /* answers between two looks at where the program is, */
#define NEARBY_LOOK_MOST 128u              /* and after some that found it where it was */
#define NEARBY_KEPT_NS INT64_C(500000)     /* a holder that did not run for so long: somebody else did */
#define NEARBY_ROUND_NS INT64_C(1000000)   /* between two looks at who else can run */
#define NEARBY_CROWDED_NS INT64_C(5000000) /* others that go on for so long want to */
#define NEARBY_LEFT_NS INT64_C(300000)     /* and then the processors are left alone for so long */
#define NEARBY_MANY 3                      /* so many threads that ask are more than can be answered beside */

struct nearby {
	bool is_ready;                     /* the bound threads are there */
	int proc;                          /* O_PATH of /proc; not owned */
	int processors[NEARBY_THREADS];    /* that they are bound to; -1: to none */
	pthread_t threads[NEARBY_THREADS];
	uint32_t duty[NEARBY_THREADS];     /* each of them a futex */
	int64_t answered_ns;               /* when the last request was answered */
	int64_t left_ns;                   /* when a holder last made room for others; 0: never */
	bool is_held;                      /* whether the other processor is to be kept busy; of whoever has the duty, as the next five */
	unsigned answers, look;            /* since the last look at where the program is, and until the next */
	struct { int32_t thread; int64_t asked_ns; } askers[NEARBY_MANY]; /* who asked last, the latest first */
	struct load load;                  /* whether others can run, */
	int64_t alone_ns;                  /* and when none could */
	void (*work)(void *context, enum nearby_thread self);
	void *context;
};

/*
 * Makes the bound threads where `allowed` has two processors, and otherwise nothing. To be called once who serves is whom it stays, and before a filter. proc: an
 * O_PATH descriptor of /proc that outlives n, or -1; l is copied. Where something cannot be had, the first thread is alone; that is no error.
 */
void nearby_start(struct nearby *n, int proc, const cpu_set_t *allowed, const struct load *l);

/*
 * Calls work(context, self) in the thread that has the duty, the calling one first, until one calls nearby_end(). work returns when it gave the duty away (nearby_pass) or ended it.
 * What one of them wrote, the next one sees. Returns when no other thread is left; also without nearby_start().
 */
void nearby_run(struct nearby *n, void (*work)(void *context, enum nearby_thread self), void *context);

/*
 * A request has come that somebody waits for: looks who can run, which at this moment are the one that answers and a holder. More are others. Called by who has the duty, before it
 * answers.
 */
void nearby_look_round(struct nearby *n, enum nearby_thread self, int64_t now_ns);

/* Who should answer the next request, asked by who has the duty after an answer. asker: the thread that waited for it, as /proc numbers it. is_worth_it: requests come closely (fs/view/awake.h). */
enum nearby_thread nearby_next(struct nearby *n, enum nearby_thread self, bool is_worth_it, int32_t asker, int64_t now_ns);

/* Makes it so. Returns true when the duty is now another's: the caller returns from its work. */
bool nearby_pass(struct nearby *n, enum nearby_thread self, enum nearby_thread next);

/* There is nothing more to answer: called by who has the duty, which then returns from its work. */
void nearby_end(struct nearby *n);

#endif
