/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that may wait. See witness.h.
 *
 * Question and answer are copied in and out under a lock, so a thread that comes back late writes into nothing that is
 * in use. The thread frees what they share: one that is stuck in the kernel is left behind and cleans up after itself,
 * if ever. It holds no descriptor of its owner's, blocks every signal, and is started only where
 * somebody watches.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/remote_mem_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <time.h>

#include "isolate/base/proc_file.h"
#include "isolate/base/clock.h"
#include "isolate/base/thread.h"

struct question {
	enum { ABOUT_ADDRESS, ABOUT_COMMAND } about;
	struct seccomp_notif call;
	pid_t pid;
	bool found;
	struct outward to;
	char command[WITNESS_COMMAND];
};

/* What a thread and the one that asks it share. */
struct reader {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum { IDLE, ASKED, LOOKING, ANSWERED } state;
	int64_t began_us; /* to look */
	struct question question;
	bool left; /* by its owner */
	uid_t uid; /* who the processes are */
	gid_t gid;
};

struct witness {
	struct reader *reader;
	unsigned replaced;
	uint64_t lost;    /* questions without an answer that were not told yet */
	int64_t left_us;  /* of the patience in this turn */
	uid_t uid;
	gid_t gid;
};

static void look(struct question *q)
{
	if (q->about == ABOUT_ADDRESS)
		q->found = outward_read(&q->call, q->pid, &q->to);
	else
		q->found = proc_file_command(q->pid, q->command, sizeof q->command) > 0;
}

static void release(struct reader *r)
{
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void *work(void *context)
{
	struct reader *r = context;

	/* A page that must be read from the view first is asked for by this thread, and the kernel asks there in nobody's name who has none inside. Of this thread only: setfsuid(2). */
	setfsgid(r->gid);
	setfsuid(r->uid);
	pthread_mutex_lock(&r->lock);
	while (!r->left) {
		struct question q;

		if (r->state != ASKED) {
			pthread_cond_wait(&r->changed, &r->lock);
			continue;
		}
		q = r->question;
		r->state = LOOKING;
		r->began_us = clock_now_us();
		pthread_mutex_unlock(&r->lock);
		look(&q);
		pthread_mutex_lock(&r->lock);
		r->question = q;
		r->state = ANSWERED;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	release(r);
	return NULL;
}

static struct reader *reader_new(uid_t uid, gid_t gid)
{
	struct reader *r = calloc(1, sizeof *r);
	pthread_condattr_t clock;
	pthread_t id;

	if (!r)
		return NULL;
	r->uid = uid;
	r->gid = gid;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&r->lock, NULL);
	if (thread_start(&id, true, work, r) == 0)
		return r;
	release(r);
	return NULL;
}

/* The thread frees what they share, as soon as it comes back. */
static void leave(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	r->left = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

struct witness *witness_new(uid_t uid, gid_t gid)
{
	struct witness *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->uid = uid;
	w->gid = gid;
	w->left_us = WITNESS_TURN_MS * 1000;
	w->reader = reader_new(uid, gid);
	if (w->reader)
		return w;
	free(w);
	return NULL;
}

/* Waits for the answer until then, on the clock of clock_now_us(). */
static void wait_until(struct reader *r, int64_t until_us)
{
	const struct timespec until = { until_us / 1000000, until_us % 1000000 * 1000 };

	while (r->state != ANSWERED && pthread_cond_timedwait(&r->changed, &r->lock, &until) == 0)
		continue;
}

/*
 * The thread may be kept from running by others on a busy machine, which is no fault of the program's and ends; the patience with a look begins with it. But a program that makes many looks long,
 * each of them shorter than that, has no more of the supervisor's time than one turn's.
 */
static bool wait_for_answer(struct reader *r, int64_t asked_us, int64_t left_us)
{
	for (;;) {
		int64_t now_us = clock_now_us(), until_us = r->state == LOOKING ? r->began_us + WITNESS_PATIENCE_MS * 1000 : asked_us + WITNESS_START_MS * 1000;

		if (until_us > asked_us + left_us)
			until_us = asked_us + left_us;
		if (r->state == ANSWERED || now_us >= until_us)
			return r->state == ANSWERED;
		/* That the look has begun is nothing that anybody is woken for. */
		wait_until(r, until_us < now_us + WITNESS_PATIENCE_MS * 1000 ? until_us : now_us + WITNESS_PATIENCE_MS * 1000);
	}
}

static bool is_held_up(struct reader *r)
{
	bool held_up;

	pthread_mutex_lock(&r->lock);
	held_up = r->state == LOOKING && clock_now_us() - r->began_us >= WITNESS_PATIENCE_MS * 1000;
	pthread_mutex_unlock(&r->lock);
	return held_up;
}

/* A thread that a program holds up is left to it. There is another, but not without end: each of them may be held up. */
static void replace(struct witness *w)
{
	struct reader *other;

	if (w->replaced == WITNESS_REPLACED_MOST || !is_held_up(w->reader) || !(other = reader_new(w->uid, w->gid)))
		return;
	leave(w->reader);
	w->reader = other;
	w->replaced++;
}

/* One that comes too late, and a question that nobody began with, make room for the next. */
static bool ask_reader(struct reader *r, struct question *q, int64_t asked_us, int64_t left_us)
{
	bool has_answer = false;

	pthread_mutex_lock(&r->lock);
	if (r->state == LOOKING)
		wait_for_answer(r, asked_us, left_us); /* for somebody else, and perhaps nearly done */
	if (r->state != LOOKING) {
		r->question = *q;
		r->state = ASKED;
		pthread_cond_broadcast(&r->changed);
		has_answer = wait_for_answer(r, asked_us, left_us);
		if (has_answer) {
			*q = r->question;
			r->state = IDLE;
		}
	}
	pthread_mutex_unlock(&r->lock);
	return has_answer;
}

/* Returns false without an answer. */
static bool ask(struct witness *w, struct question *q)
{
	int64_t asked_us = clock_now_us();
	bool has_answer;

	if (!w)
		return false;
	has_answer = w->left_us > 0 && ask_reader(w->reader, q, asked_us, w->left_us);
	w->lost += !has_answer;
	w->left_us -= clock_now_us() - asked_us;
	if (!has_answer)
		replace(w);
	return has_answer;
}

uint64_t witness_lost(struct witness *w)
{
	uint64_t lost = w ? w->lost : 0;

	if (w)
		w->lost = 0;
	return lost;
}

void witness_turn(struct witness *witness)
{
	if (witness)
		witness->left_us = WITNESS_TURN_MS * 1000;
}

bool witness_address(struct witness *witness, const struct seccomp_notif *call, pid_t process, struct outward *out)
{
	struct question q = { .about = ABOUT_ADDRESS, .call = *call, .pid = process };

	if (!ask(witness, &q) || !q.found)
		return false;
	*out = q.to;
	return true;
}

bool witness_command(struct witness *witness, pid_t pid, char text[WITNESS_COMMAND])
{
	struct question q = { .about = ABOUT_COMMAND, .pid = pid };

	text[0] = '\0';
	if (!ask(witness, &q) || !q.found)
		return false;
	memcpy(text, q.command, sizeof q.command);
	return true;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	leave(w->reader);
	free(w);
}
