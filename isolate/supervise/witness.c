/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that may wait. See witness.h.
 *
 * Question and answer are copied in and out under a lock, so a thread that comes back late writes into nothing that is in use. Whoever is last of the two, the thread or its owner, frees
 * what they share: a thread that is stuck in the kernel is left behind and cleans up after itself, if ever. It holds no descriptor of its owner's, blocks every signal, and is started only where
 * somebody watches.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/supervise/witness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <time.h>

#include "isolate/confine/proc_file.h"
#include "isolate/supervise/clock.h"
#include "isolate/supervise/thread.h"

struct question {
	enum { ABOUT_ADDRESS, ABOUT_COMMAND } about;
	struct seccomp_notif call;
	pid_t pid;
	bool found;
	struct outward to;
	char command[WITNESS_COMMAND];
};

struct witness {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum { IDLE, ASKED, LOOKING, ANSWERED } state;
	int64_t began_us; /* to look */
	int64_t left_us;  /* of the patience in this turn; its owner's alone */
	struct question question;
	bool left; /* by its owner */
	uid_t uid; /* who the processes are */
	gid_t gid;
};

static void look(struct question *q)
{
	if (q->about == ABOUT_ADDRESS)
		q->found = outward_read(&q->call, q->pid, &q->to);
	else
		q->found = proc_file_command(q->pid, q->command, sizeof q->command) > 0;
}

static void release(struct witness *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void *work(void *context)
{
	struct witness *w = context;

	/* A page that must be read from the view first is asked for by this thread, and the kernel asks there in nobody's name who has none inside. Of this thread only: setfsuid(2). */
	setfsgid(w->gid);
	setfsuid(w->uid);
	pthread_mutex_lock(&w->lock);
	while (!w->left) {
		struct question q;

		if (w->state != ASKED) {
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		q = w->question;
		w->state = LOOKING;
		w->began_us = clock_now_us();
		pthread_mutex_unlock(&w->lock);
		look(&q);
		pthread_mutex_lock(&w->lock);
		w->question = q;
		w->state = ANSWERED;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	release(w);
	return NULL;
}

struct witness *witness_new(uid_t uid, gid_t gid)
{
	struct witness *w = calloc(1, sizeof *w);
	pthread_condattr_t clock;
	pthread_t id;

	if (!w)
		return NULL;
	w->uid = uid;
	w->gid = gid;
	w->left_us = WITNESS_TURN_MS * 1000;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&w->lock, NULL);
	if (thread_start(&id, true, work, w) == 0)
		return w;
	release(w);
	return NULL;
}

/* Waits for the answer until then, on the clock of clock_now_us(). */
static void wait_until(struct witness *w, int64_t until_us)
{
	const struct timespec until = { until_us / 1000000, until_us % 1000000 * 1000 };

	while (w->state != ANSWERED && pthread_cond_timedwait(&w->changed, &w->lock, &until) == 0)
		continue;
}

/*
 * The thread may be kept from running by others on a busy machine, which is no fault of the program's and ends; the patience with a look begins with it. But a program that makes many looks long,
 * each of them shorter than that, has no more of the supervisor's time than one turn's.
 */
static bool wait_for_answer(struct witness *w, int64_t asked_us)
{
	for (;;) {
		int64_t now_us = clock_now_us(), until_us = w->state == LOOKING ? w->began_us + WITNESS_PATIENCE_MS * 1000 : asked_us + WITNESS_START_MS * 1000;

		if (until_us > asked_us + w->left_us)
			until_us = asked_us + w->left_us;
		if (w->state == ANSWERED || now_us >= until_us)
			return w->state == ANSWERED;
		/* That the look has begun is nothing that anybody is woken for. */
		wait_until(w, until_us < now_us + WITNESS_PATIENCE_MS * 1000 ? until_us : now_us + WITNESS_PATIENCE_MS * 1000);
	}
}

/* Returns false without an answer. One that comes too late, and a question that nobody began with, make room for the next. */
static bool ask(struct witness *w, struct question *q)
{
	int64_t asked_us;
	bool has_answer = false;

	if (!w || w->left_us <= 0)
		return false;
	asked_us = clock_now_us();
	pthread_mutex_lock(&w->lock);
	if (w->state == LOOKING)
		wait_for_answer(w, asked_us); /* for somebody else, and perhaps nearly done */
	if (w->state != LOOKING) {
		w->question = *q;
		w->state = ASKED;
		pthread_cond_broadcast(&w->changed);
		has_answer = wait_for_answer(w, asked_us);
		if (has_answer) {
			*q = w->question;
			w->state = IDLE;
		}
	}
	pthread_mutex_unlock(&w->lock);
	w->left_us -= clock_now_us() - asked_us;
	return has_answer;
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
	pthread_mutex_lock(&w->lock);
	w->left = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}
