/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread of a view's server answers. The machine's load and where the program runs are made up; the threads and their processors are real. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/view/awake.h"
#include "fs/view/nearby.h"
#include "fs/view/view.h"
#include "tests/unit/tap.h"

#define ASKER 4711
#define PASSES 1000
#define PATIENCE_NS INT64_C(10000000000)

static struct nearby n;
static struct load load;
static char proc[256];
static int proc_fd;
static cpu_set_t two;
static int processors[2];
static int64_t now_ns = INT64_C(1000000000000);

static void write_at(int directory, const char *name, const char *text)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(2);
	close(fd);
}

/* What /proc says of the asker: its name has a bracket and spaces, and field 39 is the processor. */
static void asker_is_on(int processor)
{
	char text[256];

	snprintf(text, sizeof text, "%d (a ) 7 b) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 %d 40 41\n", ASKER, processor);
	write_at(proc_fd, "4711/stat", text);
}

static void running(int count)
{
	char text[64];

	snprintf(text, sizeof text, "0.20 0.18 0.12 %d/80 11206\n", count);
	if (ftruncate(load.fd, 0) != 0 || pwrite(load.fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		exit(2);
	now_ns += AWAKE_CROWDED_NS;
}

/* So many requests that came soon after each other. */
static void requests(struct awake *a, int count)
{
	for (; count > 0; count--)
		awake_answered(a, now_ns += 1000);
}

static bool find_two(void)
{
	cpu_set_t all;
	int count = 0;

	if (sched_getaffinity(0, sizeof all, &all) != 0)
		return false;
	CPU_ZERO(&two);
	for (size_t i = 0; i < CPU_SETSIZE && count < 2; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &two);
			processors[count++] = (int)i;
		}
	return count == 2;
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	return count - 2;
}

/* A thread that was joined may be listed for a moment longer. */
static bool has_threads(int count)
{
	int64_t since_ns = view_now_ns();

	while (count_threads() != count && view_now_ns() - since_ns < PATIENCE_NS)
		sched_yield();
	return count_threads() == count;
}

static int calls;

static void end_at_once(void *context, enum nearby_thread self)
{
	(void)context;
	calls += self == NEARBY_ANYWHERE;
	nearby_end(&n);
}

static void test_alone(void)
{
	const struct load nowhere = { .fd = -1 };
	cpu_set_t one = two, three = two;

	CPU_CLR((size_t)processors[0], &one);
	CPU_SET(CPU_SETSIZE - 1, &three);
	nearby_start(&n, proc_fd, &one, &load);
	ok(!n.is_ready && has_threads(1), "with one processor there is one thread");
	nearby_start(&n, proc_fd, &three, &load);
	ok(!n.is_ready && has_threads(1), "with three, too");
	nearby_start(&n, -1, &two, &load);
	ok(!n.is_ready, "without /proc");
	nearby_start(&n, proc_fd, &two, &nowhere);
	ok(!n.is_ready, "and without the machine's load");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, true, ASKER, now_ns), NEARBY_ANYWHERE, "that thread answers everything");
	ok(!nearby_pass(&n, NEARBY_ANYWHERE, NEARBY_ANYWHERE), "and keeps the duty");
	memset(&n, 0, sizeof n);
	nearby_run(&n, end_at_once, NULL);
	is_int(calls, 1, "also where nothing was started");
	CPU_CLR((size_t)processors[1], &three);
	CPU_CLR((size_t)processors[0], &three);
	CPU_SET((size_t)processors[0], &three);
	nearby_start(&n, proc_fd, &three, &load);
	ok(!n.is_ready && has_threads(1), "a processor that a thread cannot be bound to: it is alone, and no thread is left");
}

/* The answers after which a thread that is bound to where the asker was notices that it is elsewhere now. */
static int answers_until_it_looks(enum nearby_thread self, struct awake *a)
{
	for (int i = 1; i <= (int)NEARBY_LOOK_MOST; i++)
		if (nearby_next(&n, self, awake_is_worth_it(a), ASKER, now_ns += 1000) != self)
			return i;
	return -1;
}

/* Requests for so long while so many can run, and who is to answer then. */
static enum nearby_thread crowded_for(enum nearby_thread self, struct awake *a, int count, int64_t long_ns)
{
	int64_t end_ns;

	running(count);
	now_ns += NEARBY_ROUND_NS;
	end_ns = now_ns + long_ns;
	nearby_look_round(&n, self, now_ns);
	while (now_ns < end_ns) {
		awake_answered(a, now_ns += NEARBY_ROUND_NS);
		nearby_look_round(&n, self, now_ns);
	}
	n.answers = n.look; /* it is time to look where the asker is, too */
	return nearby_next(&n, self, awake_is_worth_it(a), ASKER, now_ns);
}

static int next_for(int thread)
{
	return nearby_next(&n, NEARBY_ANYWHERE, true, thread, now_ns += 1000);
}

static void test_many(void)
{
	now_ns += NEARBY_LEFT_NS + AWAKE_NS;
	next_for(ASKER + 1);
	is_int(next_for(ASKER), NEARBY_FIRST, "of two that ask each is answered from where it is");
	next_for(ASKER + 2);
	is_int(next_for(ASKER), NEARBY_ANYWHERE, "three at once are answered from anywhere");
	next_for(ASKER);
	is_int(next_for(ASKER), NEARBY_ANYWHERE, "whoever asks most");
	now_ns += AWAKE_NS;
	is_int(next_for(ASKER), NEARBY_FIRST, "as long as they do");
}

/* When nobody else ran is when that was looked at, not when it was last taken to hold. */
static void test_alone_since(void)
{
	int64_t looked_ns;

	running(1);
	looked_ns = now_ns += NEARBY_ROUND_NS;
	nearby_look_round(&n, NEARBY_SECOND, now_ns);
	nearby_look_round(&n, NEARBY_SECOND, now_ns += NEARBY_ROUND_NS / 2);
	ok(n.alone_ns == looked_ns, "others may have run since the last look");
}

static void test_next(void)
{
	struct awake a = { .load = load, .processors = 2 };

	running(2);
	nearby_start(&n, proc_fd, &two, &load);
	ok(n.is_ready && has_threads(3), "with two processors there are three threads");
	asker_is_on(processors[0]);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns), NEARBY_ANYWHERE, "after a single request nobody moves");
	requests(&a, 16);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns), NEARBY_FIRST, "after some that came soon the thread on the asker's processor answers");
	asker_is_on(processors[1]);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns), NEARBY_SECOND, "on either");
	asker_is_on(processors[0]);
	is_int(answers_until_it_looks(NEARBY_SECOND, &a), 1, "it is looked for before a holder is called that rests");
	asker_is_on(processors[1]);
	nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns);
	n.duty[NEARBY_FIRST] = n.duty[NEARBY_SECOND] = DUTY_HOLD;
	asker_is_on(processors[0]);
	is_int(answers_until_it_looks(NEARBY_SECOND, &a), NEARBY_LOOK_LEAST, "and after each few answers");
	for (int i = 0; i < 2 * (int)NEARBY_LOOK_MOST; i++)
		nearby_next(&n, NEARBY_FIRST, awake_is_worth_it(&a), ASKER, now_ns += 1000);
	for (int i = 0; n.answers != 0 && i < (int)NEARBY_LOOK_MOST; i++)
		nearby_next(&n, NEARBY_FIRST, awake_is_worth_it(&a), ASKER, now_ns += 1000);
	asker_is_on(processors[1]);
	is_int(answers_until_it_looks(NEARBY_FIRST, &a), NEARBY_LOOK_MOST, "and less often while it stays");
	is_int((int)n.look, NEARBY_LOOK_LEAST, "and more often again when it has moved");
	n.duty[NEARBY_FIRST] = n.duty[NEARBY_SECOND] = DUTY_REST;
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER + 1, now_ns), NEARBY_ANYWHERE, "who is gone is not followed");
	asker_is_on(processors[1] + 1000);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns), NEARBY_ANYWHERE, "nor to another processor");
	write_at(proc_fd, "4711/stat", "");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns), NEARBY_ANYWHERE, "nor where nothing is said");
	asker_is_on(processors[1]);
	is_int(crowded_for(NEARBY_ANYWHERE, &a, 1, 3 * NEARBY_CROWDED_NS), NEARBY_SECOND, "one that answers is no crowd");
	is_int(crowded_for(NEARBY_ANYWHERE, &a, 2, NEARBY_CROWDED_NS / 2), NEARBY_SECOND, "for a moment others may run, too");
	is_int(crowded_for(NEARBY_ANYWHERE, &a, 2, NEARBY_CROWDED_NS), NEARBY_ANYWHERE, "while they go on nobody moves");
	is_int(crowded_for(NEARBY_SECOND, &a, 2, 0), NEARBY_ANYWHERE, "and the thread that is beside the program gives the duty back");
	is_int(crowded_for(NEARBY_SECOND, &a, 1, 0), NEARBY_SECOND, "until they are gone");
	n.duty[NEARBY_FIRST] = DUTY_HOLD;
	is_int(crowded_for(NEARBY_SECOND, &a, 2, 2 * NEARBY_CROWDED_NS), NEARBY_SECOND, "a holder is not one of them");
	is_int(crowded_for(NEARBY_SECOND, &a, 3, 2 * NEARBY_CROWDED_NS), NEARBY_ANYWHERE, "but who comes besides");
	n.duty[NEARBY_FIRST] = DUTY_REST;
	crowded_for(NEARBY_ANYWHERE, &a, 1, 0);
	n.left_ns = now_ns;
	is_int(nearby_next(&n, NEARBY_SECOND, awake_is_worth_it(&a), ASKER, now_ns + NEARBY_LEFT_NS - 1), NEARBY_ANYWHERE, "where a holder was kept from running the processors are left alone");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns + NEARBY_LEFT_NS), NEARBY_SECOND, "for a moment");
	for (int i = 0; i < 8; i++)
		awake_answered(&a, now_ns += 2 * AWAKE_NS);
	ok(nearby_next(&n, NEARBY_SECOND, awake_is_worth_it(&a), ASKER, now_ns) == NEARBY_SECOND && !n.is_held, "in a trickle the thread stays, and no processor is held");
	ok(nearby_next(&n, NEARBY_ANYWHERE, awake_is_worth_it(&a), ASKER, now_ns) == NEARBY_ANYWHERE, "nor does a trickle move it");
	n.answers = 0;
	asker_is_on(processors[0]);
	is_int(answers_until_it_looks(NEARBY_SECOND, &a), NEARBY_LOOK_LEAST, "nor is it looked for more often");
	test_many();
	test_alone_since();
	nearby_run(&n, end_at_once, NULL);
	ok(has_threads(1), "at the end no thread is left");
}

/* What the three are told, one letter each: rest, hold, answer. */
static const char *told(const struct nearby *w)
{
	static char text[NEARBY_THREADS + 1];

	for (int i = 0; i < NEARBY_THREADS; i++)
		text[i] = "?rhal"[w->duty[i]];
	return text;
}

static void test_words(void)
{
	struct nearby w = { .is_held = true, .duty = { DUTY_ANSWER, DUTY_REST, DUTY_REST } };

	ok(nearby_pass(&w, NEARBY_ANYWHERE, NEARBY_FIRST), "the duty is given away");
	is_str(told(&w), "rah", "beside the one that answers the other holds");
	nearby_pass(&w, NEARBY_FIRST, NEARBY_SECOND);
	is_str(told(&w), "rha", "who had the duty holds");
	w.duty[NEARBY_FIRST] = DUTY_REST;
	ok(!nearby_pass(&w, NEARBY_SECOND, NEARBY_SECOND), "the duty stays");
	is_str(told(&w), "rha", "and a holder that rests is called again");
	nearby_pass(&w, NEARBY_SECOND, NEARBY_ANYWHERE);
	is_str(told(&w), "arr", "beside the one that runs anywhere nobody holds");
	w.is_held = false;
	nearby_pass(&w, NEARBY_ANYWHERE, NEARBY_SECOND);
	is_str(told(&w), "rra", "nor where no processor is to be held");
	nearby_pass(&w, NEARBY_SECOND, NEARBY_SECOND);
	nearby_pass(&w, NEARBY_SECOND, NEARBY_FIRST);
	is_str(told(&w), "rar", "whoever has the duty");
	nearby_end(&w);
	is_str(told(&w), "lll", "at the end all leave");
}

static unsigned passes, counts[NEARBY_THREADS];
static bool is_inside, is_exclusive = true, is_bound = true;

static void pass_on(void *context, enum nearby_thread self)
{
	int number = passes ? (int)(passes * 7919u % NEARBY_THREADS) : 0;

	(void)context;
	is_exclusive &= !is_inside;
	is_inside = true;
	counts[self]++;
	if (self != NEARBY_ANYWHERE)
		is_bound &= sched_getcpu() == processors[self - NEARBY_FIRST] && sched_getscheduler(0) == SCHED_BATCH;
	is_inside = false;
	/* Each second holder finds at once that no request comes, so that it goes to rest just when it is called. */
	n.is_held = passes % 3 != 0;
	__atomic_store_n(&n.answered_ns, passes % 2 ? 0 : view_now_ns() + PATIENCE_NS, __ATOMIC_RELEASE);
	if (++passes == PASSES) {
		nearby_end(&n);
		return;
	}
	if (number == (int)self)
		number = (number + 1) % NEARBY_THREADS;
	if (!nearby_pass(&n, self, (enum nearby_thread)number))
		is_exclusive = false;
}

static void test_passing(void)
{
	running(2);
	nearby_start(&n, proc_fd, &two, &load);
	nearby_run(&n, pass_on, NULL);
	ok(passes == PASSES && counts[0] && counts[1] && counts[2] && counts[0] + counts[1] + counts[2] == PASSES, "the duty goes round, to each");
	ok(is_exclusive, "one thread at a time has it");
	ok(is_bound, "the bound threads run on their processors, as SCHED_BATCH");
}

static int64_t asked_ns, left_ns, rested_ns;

/* Has the second thread hold, with asked_ns until it may find that no request comes, until it rests by itself. */
static void watch_holder(void *context, enum nearby_thread self)
{
	int64_t since_ns = view_now_ns();

	(void)context;
	if (self == NEARBY_ANYWHERE) {
		__atomic_store_n(&n.answered_ns, since_ns + asked_ns, __ATOMIC_RELEASE);
		n.is_held = true;
		nearby_pass(&n, self, NEARBY_FIRST);
		return;
	}
	while (__atomic_load_n(&n.duty[NEARBY_SECOND], __ATOMIC_ACQUIRE) == DUTY_HOLD && view_now_ns() - since_ns < PATIENCE_NS)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL); /* lets it run, under valgrind, too */
	rested_ns = view_now_ns() - since_ns;
	left_ns = __atomic_load_n(&n.left_ns, __ATOMIC_ACQUIRE);
	nearby_end(&n);
}

static void hold_once(int64_t for_ns)
{
	asked_ns = for_ns;
	nearby_start(&n, proc_fd, &two, &load);
	nearby_run(&n, watch_holder, NULL);
}

static int is_hogging;

/* Somebody else who wants the holder's processor. */
static void *hog(void *context)
{
	cpu_set_t only;

	(void)context;
	CPU_ZERO(&only);
	CPU_SET((size_t)processors[1], &only);
	if (sched_setaffinity(0, sizeof only, &only) != 0)
		exit(2);
	while (__atomic_load_n(&is_hogging, __ATOMIC_ACQUIRE))
		continue;
	return NULL;
}

static void test_holding(void)
{
	pthread_t other;

	/* On a busy machine it may be kept from running first; not each time. */
	left_ns = 1;
	for (int turn = 0; left_ns != 0 && rested_ns < PATIENCE_NS && turn < 100; turn++)
		hold_once(0);
	ok(left_ns == 0 && rested_ns < PATIENCE_NS, "who holds rests when no request comes");
	is_hogging = 1;
	if (pthread_create(&other, NULL, hog, NULL) != 0)
		exit(2);
	hold_once(2 * PATIENCE_NS);
	__atomic_store_n(&is_hogging, 0, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	ok(left_ns != 0 && rested_ns < PATIENCE_NS, "and when somebody else runs on its processor, which the one with the duty sees");
}

int main(void)
{
	plan(0);
	alarm(120); /* a call that is lost would be waited for for ever */
	if (!find_two())
		skip_all("this process may run on one processor only, and the server then has one thread");
	snprintf(proc, sizeof proc, "%s/cordon-nearby-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(proc) || (proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 || mkdirat(proc_fd, "4711", 0700) != 0)
		exit(2);
	load = (struct load){ .fd = fileno(tmpfile()) };
	running(2);
	test_alone();
	test_next();
	test_words();
	test_passing();
	test_holding();
	unlinkat(proc_fd, "4711/stat", 0);
	unlinkat(proc_fd, "4711", AT_REMOVEDIR);
	rmdir(proc);
	return done();
}
