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

#include "fs/nearby.h"
#include "fs/view.h"
#include "tests/tap.h"

#define ASKER 4711
#define PASSES 2000
#define PATIENCE_NS INT64_C(10000000000)

static struct nearby n;
static struct awake load;
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
	if (ftruncate(load.load, 0) != 0 || pwrite(load.load, text, strlen(text), 0) != (ssize_t)strlen(text))
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
	struct awake nowhere = { .load = -1, .processors = 2 };
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
	requests(&load, 16);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &load, ASKER, now_ns), NEARBY_ANYWHERE, "that thread answers everything");
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
	for (int i = 1; i < 100; i++)
		if (nearby_next(&n, self, a, ASKER, now_ns += 1000) != self)
			return i;
	return -1;
}

static void test_next(void)
{
	struct awake a = { .load = load.load, .processors = 2 };

	running(2);
	nearby_start(&n, proc_fd, &two, &load);
	ok(n.is_ready && has_threads(3), "with two processors there are three threads");
	asker_is_on(processors[0]);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_ANYWHERE, "after a single request nobody moves");
	requests(&a, 16);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_FIRST, "after some that came soon the thread on the asker's processor answers");
	asker_is_on(processors[1]);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_SECOND, "on either");
	asker_is_on(processors[0]);
	is_int(answers_until_it_looks(NEARBY_SECOND, &a), NEARBY_LOOK_LEAST, "it is looked for after each few answers");
	for (int i = 0; i < 100; i++)
		nearby_next(&n, NEARBY_FIRST, &a, ASKER, now_ns += 1000);
	for (int i = 0; n.answers != 0 && i < 100; i++)
		nearby_next(&n, NEARBY_FIRST, &a, ASKER, now_ns += 1000);
	asker_is_on(processors[1]);
	is_int(answers_until_it_looks(NEARBY_FIRST, &a), NEARBY_LOOK_MOST, "and less often while it stays");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, 0, now_ns), NEARBY_ANYWHERE, "where nobody waited nobody is followed,");
	is_int(nearby_next(&n, NEARBY_FIRST, &a, 0, now_ns), NEARBY_FIRST, "and nobody moves");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER + 1, now_ns), NEARBY_ANYWHERE, "nor who is gone");
	asker_is_on(processors[1] + 1000);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_ANYWHERE, "nor to another processor");
	write_at(proc_fd, "4711/stat", "");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_ANYWHERE, "nor where nothing is said");
	asker_is_on(processors[1]);
	running(3);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_ANYWHERE, "while more is running than there are processors nobody moves");
	running(2);
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns), NEARBY_SECOND, "and then again");
	n.left_ns = now_ns;
	is_int(nearby_next(&n, NEARBY_SECOND, &a, ASKER, now_ns + NEARBY_LEFT_NS - 1), NEARBY_ANYWHERE, "when somebody else wants the processors they are left alone");
	is_int(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns + NEARBY_LEFT_NS), NEARBY_SECOND, "for a moment");
	for (int i = 0; i < 8; i++)
		awake_answered(&a, now_ns += 2 * AWAKE_NS);
	ok(nearby_next(&n, NEARBY_SECOND, &a, ASKER, now_ns) == NEARBY_SECOND && !n.is_held, "in a trickle the thread stays, and no processor is held");
	ok(nearby_next(&n, NEARBY_ANYWHERE, &a, ASKER, now_ns) == NEARBY_ANYWHERE, "nor does a trickle move it");
	running(3);
	is_int(nearby_next(&n, NEARBY_SECOND, &a, ASKER, now_ns), NEARBY_ANYWHERE, "unless others want to run");
	nearby_run(&n, end_at_once, NULL);
	ok(has_threads(1), "at the end no thread is left");
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
	n.answered_ns = view_now_ns() + PATIENCE_NS; /* who holds does so until it is called */
	nearby_run(&n, pass_on, NULL);
	ok(passes == PASSES && counts[0] && counts[1] && counts[2] && counts[0] + counts[1] + counts[2] == PASSES, "the duty goes round, to each");
	ok(is_exclusive, "one thread at a time has it");
	ok(is_bound, "the bound threads run on their processors, as SCHED_BATCH");
}

static int64_t left_ns, rested_ns;
static bool was_held;

/* Has the second thread hold, until it rests by itself. */
static void watch_holder(void *context, enum nearby_thread self)
{
	int64_t since_ns = view_now_ns();

	if (self == NEARBY_ANYWHERE) {
		__atomic_store_n(&n.answered_ns, *(int64_t *)context ? since_ns + PATIENCE_NS : since_ns, __ATOMIC_RELEASE);
		n.is_held = true;
		nearby_pass(&n, self, NEARBY_FIRST);
		return;
	}
	while (__atomic_load_n(&n.duty[NEARBY_SECOND], __ATOMIC_ACQUIRE) == DUTY_HOLD && view_now_ns() - since_ns < PATIENCE_NS)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL); /* lets it run, under valgrind, too */
	rested_ns = view_now_ns() - since_ns;
	left_ns = __atomic_load_n(&n.left_ns, __ATOMIC_ACQUIRE);
	was_held = n.room[NEARBY_SECOND].sampled_ns != load.sampled_ns; /* it has looked who else runs */
	nearby_end(&n);
}

static void test_holding(void)
{
	int64_t is_busy = 0;

	running(2);
	nearby_start(&n, proc_fd, &two, &load);
	nearby_run(&n, watch_holder, &is_busy);
	ok(was_held && rested_ns < PATIENCE_NS, "who holds rests when no request comes");
	running(9);
	is_busy = 1;
	nearby_start(&n, proc_fd, &two, &load);
	nearby_run(&n, watch_holder, &is_busy);
	ok(was_held && rested_ns < PATIENCE_NS && left_ns != 0, "and when others want to run, which the one with the duty sees");
}

int main(void)
{
	plan(0);
	if (!find_two())
		skip_all("this process may run on one processor only, and the server then has one thread");
	snprintf(proc, sizeof proc, "%s/cordon-nearby-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(proc) || (proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 || mkdirat(proc_fd, "4711", 0700) != 0)
		exit(2);
	load = (struct awake){ .load = fileno(tmpfile()), .processors = 2 };
	running(2);
	test_alone();
	test_next();
	test_passing();
	test_holding();
	unlinkat(proc_fd, "4711/stat", 0);
	unlinkat(proc_fd, "4711", AT_REMOVEDIR);
	rmdir(proc);
	return done();
}
