/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three threads, one duty. See nearby.h.
 *
 * Each thread has a word that says what it is to do. Who has the duty changes the words of the others; a holder changes its own, from holding to resting, and only if it still says
 * so. A thread sleeps on its own word, so none misses being called. The duty is given with a release and taken with an acquire: the view needs no lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/nearby.h"

#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/view/awake.h"
#include "fs/view/view.h"
#include "isolate/base/proc_file.h"

#define PROCESSORS 2

struct seat {
	struct nearby *n;
	enum nearby_thread self;
};

static enum duty duty_of(struct nearby *n, enum nearby_thread thread)
{
	return (enum duty)__atomic_load_n(&n->duty[thread], __ATOMIC_ACQUIRE);
}

static void sleep_while(struct nearby *n, enum nearby_thread thread, enum duty duty)
{
	while (duty_of(n, thread) == duty)
		syscall(SYS_futex, &n->duty[thread], FUTEX_WAIT_PRIVATE, duty, NULL, NULL, 0);
}

/* Gives a thread something to do, and wakes it where it does not look by itself. */
static void call(struct nearby *n, enum nearby_thread thread, enum duty duty)
{
	if (__atomic_exchange_n(&n->duty[thread], duty, __ATOMIC_ACQ_REL) != DUTY_HOLD)
		syscall(SYS_futex, &n->duty[thread], FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static enum nearby_thread other(enum nearby_thread thread)
{
	return thread == NEARBY_FIRST ? NEARBY_SECOND : NEARBY_FIRST;
}

/* Keeps this processor busy, until it is told otherwise, no request comes or somebody else runs here. */
static void hold(struct nearby *n, enum nearby_thread self)
{
	uint32_t holding = DUTY_HOLD;
	int64_t now_ns = view_now_ns(), before_ns = now_ns;
	bool is_wanted = false, is_asked = true;

	while (duty_of(n, self) == DUTY_HOLD && !is_wanted && is_asked) {
		now_ns = view_now_ns();
		is_wanted = now_ns - before_ns >= NEARBY_KEPT_NS;
		is_asked = now_ns - __atomic_load_n(&n->answered_ns, __ATOMIC_ACQUIRE) <= AWAKE_NS;
		before_ns = now_ns;
	}
	if (is_wanted)
		__atomic_store_n(&n->left_ns, now_ns, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&n->duty[self], &holding, DUTY_REST, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Whatever this thread is told, until it is over. */
static void stand_by(struct nearby *n, enum nearby_thread self)
{
	for (enum duty duty; (duty = duty_of(n, self)) != DUTY_LEAVE;) {
		if (duty == DUTY_ANSWER)
			n->work(n->context, self);
		else if (duty == DUTY_HOLD)
			hold(n, self);
		else
			sleep_while(n, self, duty);
	}
}

static bool bind_to(int processor)
{
	const struct sched_param none = { 0 };
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)processor, &only);
	return sched_setaffinity(0, sizeof only, &only) == 0 && sched_setscheduler(0, SCHED_BATCH, &none) == 0;
}

static void *bound_thread(void *context)
{
	const struct seat seat = *(struct seat *)context;
	bool is_bound = bind_to(seat.n->processors[seat.self]);

	/* From here on the seat is no longer there. */
	call(seat.n, seat.self, is_bound ? DUTY_REST : DUTY_LEAVE);
	if (is_bound)
		stand_by(seat.n, seat.self);
	return NULL;
}

static bool start_thread(struct nearby *n, enum nearby_thread thread, int processor)
{
	struct seat seat = { n, thread };

	n->processors[thread] = processor;
	if (pthread_create(&n->threads[thread], NULL, bound_thread, &seat) != 0)
		return false;
	sleep_while(n, thread, DUTY_NONE_YET);
	if (duty_of(n, thread) == DUTY_REST)
		return true;
	pthread_join(n->threads[thread], NULL);
	return false;
}

static void stop_thread(struct nearby *n, enum nearby_thread thread)
{
	call(n, thread, DUTY_LEAVE);
	pthread_join(n->threads[thread], NULL);
}

void nearby_start(struct nearby *n, int proc, const cpu_set_t *allowed, const struct load *l)
{
	int found[PROCESSORS], count = 0;

	*n = (struct nearby){ .proc = proc, .processors = { -1, -1, -1 }, .look = NEARBY_LOOK_LEAST, .load = *l };
	if (proc < 0 || l->fd < 0 || CPU_COUNT(allowed) != PROCESSORS)
		return;
	for (size_t i = 0; i < CPU_SETSIZE && count < PROCESSORS; i++)
		if (CPU_ISSET(i, allowed))
			found[count++] = (int)i;
	mallopt(M_ARENA_MAX, 1); /* one at a time needs memory */
	if (!start_thread(n, NEARBY_FIRST, found[0]))
		return;
	n->is_ready = start_thread(n, NEARBY_SECOND, found[1]);
	if (!n->is_ready)
		stop_thread(n, NEARBY_FIRST);
}

void nearby_run(struct nearby *n, void (*work)(void *context, enum nearby_thread self), void *context)
{
	n->work = work;
	n->context = context;
	n->duty[NEARBY_ANYWHERE] = DUTY_ANSWER;
	stand_by(n, NEARBY_ANYWHERE);
	if (n->is_ready) {
		stop_thread(n, NEARBY_FIRST);
		stop_thread(n, NEARBY_SECOND);
		n->is_ready = false;
	}
}

/* On which processor a thread is, or was last; -1 where nobody says. */
static int processor_of(int proc, int32_t thread)
{
	char text[1024];

	proc_file_read_below(proc, thread, "stat", text, sizeof text);
	return text[0] ? (int)proc_stat_field(text, PROC_STAT_PROCESSOR) : -1;
}

void nearby_look_round(struct nearby *n, enum nearby_thread self, int64_t now_ns)
{
	bool is_held = self != NEARBY_ANYWHERE && duty_of(n, other(self)) == DUTY_HOLD;

	if (n->is_ready && !load_is_crowded(&n->load, is_held ? 2 : 1, NEARBY_ROUND_NS, now_ns))
		n->alone_ns = n->load.sampled_ns;
}

/* Whether the processors are better left alone. A program that starts another one is soon alone again, so one look is not enough. */
static bool is_left(const struct nearby *n, int64_t now_ns)
{
	int64_t left_ns = __atomic_load_n(&n->left_ns, __ATOMIC_ACQUIRE);

	return (left_ns != 0 && now_ns - left_ns < NEARBY_LEFT_NS) || (n->load.crowded && now_ns - n->alone_ns >= NEARBY_CROWDED_NS);
}

/* Notes that this thread has asked. Returns whether many do at once. */
static bool are_many(struct nearby *n, int32_t thread, int64_t now_ns)
{
	int at = 0;

	while (at < NEARBY_MANY - 1 && n->askers[at].thread != thread)
		at++;
	memmove(n->askers + 1, n->askers, (size_t)at * sizeof *n->askers);
	n->askers[0].thread = thread;
	n->askers[0].asked_ns = now_ns;
	return n->askers[NEARBY_MANY - 1].asked_ns != 0 && now_ns - n->askers[NEARBY_MANY - 1].asked_ns < AWAKE_NS;
}

/* Whether it is time to look where the program is: after some answers, and before a holder is called that rested. The program may have gone to that processor, and would wait for it. */
static bool is_look_due(struct nearby *n, enum nearby_thread self)
{
	return self == NEARBY_ANYWHERE || ++n->answers >= n->look || (n->is_held && duty_of(n, other(self)) == DUTY_REST);
}

enum nearby_thread nearby_next(struct nearby *n, enum nearby_thread self, bool is_worth_it, int32_t asker, int64_t now_ns)
{
	bool is_crowd = are_many(n, asker, now_ns);
	int processor;

	__atomic_store_n(&n->answered_ns, now_ns, __ATOMIC_RELEASE);
	n->is_held = is_worth_it;
	if (!n->is_ready || (self == NEARBY_ANYWHERE && !n->is_held) || is_crowd || is_left(n, now_ns))
		return NEARBY_ANYWHERE;
	if (!is_look_due(n, self))
		return self;
	n->answers = 0;
	processor = processor_of(n->proc, asker);
	if (self != NEARBY_ANYWHERE && processor == n->processors[self]) {
		n->look = n->look * 2 < NEARBY_LOOK_MOST ? n->look * 2 : NEARBY_LOOK_MOST;
		return self;
	}
	n->look = NEARBY_LOOK_LEAST;
	if (processor == n->processors[NEARBY_FIRST])
		return NEARBY_FIRST;
	return processor == n->processors[NEARBY_SECOND] ? NEARBY_SECOND : NEARBY_ANYWHERE;
}

bool nearby_pass(struct nearby *n, enum nearby_thread self, enum nearby_thread next)
{
	uint32_t holding = DUTY_HOLD;

	if (next == self) {
		if (self != NEARBY_ANYWHERE && n->is_held && duty_of(n, other(self)) == DUTY_REST)
			call(n, other(self), DUTY_HOLD);
		return false;
	}
	if (next == NEARBY_ANYWHERE)
		__atomic_compare_exchange_n(&n->duty[other(self)], &holding, DUTY_REST, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	else if (other(next) != self && n->is_held)
		call(n, other(next), DUTY_HOLD);
	__atomic_store_n(&n->duty[self], self != NEARBY_ANYWHERE && next != NEARBY_ANYWHERE && n->is_held ? DUTY_HOLD : DUTY_REST, __ATOMIC_RELEASE);
	call(n, next, DUTY_ANSWER);
	return true;
}

void nearby_end(struct nearby *n)
{
	for (int i = 0; i < NEARBY_THREADS; i++)
		call(n, (enum nearby_thread)i, DUTY_LEAVE);
}
