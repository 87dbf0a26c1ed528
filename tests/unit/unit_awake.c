/* SPDX-License-Identifier: Apache-2.0 */
/* When the server of a view stays awake between two requests, and that it sleeps otherwise. The time and the machine's load are made up. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <unistd.h>

#include "fs/view/awake.h"
#include "tests/unit/tap.h"

#define LOOK_NS 500

static int64_t now_ns = INT64_C(1000000000000);

/* What /proc/loadavg says. */
static void set_load(const struct awake *a, const char *text)
{
	if (ftruncate(a->load.fd, 0) != 0 || pwrite(a->load.fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		exit(2);
	now_ns += AWAKE_CROWDED_NS; /* by now it is asked for again */
}

static struct awake fresh(const char *load)
{
	struct awake a = { .load.fd = fileno(tmpfile()), .processors = 2 };

	set_load(&a, load);
	return a;
}

/* So many requests, one after another. */
static void requests(struct awake *a, int count, int64_t apart_ns)
{
	for (; count > 0; count--) {
		now_ns += apart_ns;
		awake_answered(a, now_ns);
	}
}

/* Waits with nothing to come. Returns for how long the server stayed awake. */
static int64_t wait_in_vain(struct awake *a)
{
	int64_t since_ns = now_ns;

	while (awake_stays(a, now_ns) && now_ns - since_ns < 10 * AWAKE_NS)
		now_ns += LOOK_NS;
	return now_ns - since_ns;
}

static void test_pace(void)
{
	struct awake a = fresh("0.20 0.18 0.12 2/80 11206\n");
	int64_t in_vain_ns = 0;

	is_int(wait_in_vain(&a), 0, "before the first request it sleeps");
	requests(&a, 1, 0);
	is_int(wait_in_vain(&a), 0, "a single request is no reason to stay awake");
	requests(&a, 8, AWAKE_NS / 2);
	is_int(wait_in_vain(&a) / LOOK_NS, AWAKE_NS / LOOK_NS + 1, "after some that came soon it stays awake for as long as the next may take, and no longer");
	requests(&a, 1000, AWAKE_NS / 2);
	for (int i = 0; i < 8; i++) {
		wait_in_vain(&a);
		requests(&a, 1, AWAKE_NS * 2);
	}
	is_int(wait_in_vain(&a), 0, "a trickle after a burst is soon slept through");
	requests(&a, 1000, AWAKE_NS + 1);
	is_int(wait_in_vain(&a), 0, "and however long it goes on");
	for (int i = 0; i < 1000; i++) {
		requests(&a, 1, AWAKE_NS + 1);
		requests(&a, 1, 1000);
		in_vain_ns += wait_in_vain(&a);
	}
	is_int(in_vain_ns, 0, "one that comes soon after one that came late is no reason to wait for more");
}

static void test_room(void)
{
	struct awake a = fresh("0.20 0.18 0.12 2/80 11206\n");

	requests(&a, 16, 1000);
	ok(awake_stays(&a, now_ns), "the server and the program have a processor each");
	set_load(&a, "9.99 9.99 9.99 3/80 11206\n");
	requests(&a, 16, 1000);
	is_int(wait_in_vain(&a), 0, "with one more than there are processors it sleeps");
	set_load(&a, "9.99 9.99 9.99 12/80 11206\n");
	requests(&a, 16, 1000);
	is_int(wait_in_vain(&a), 0, "with many more, too");
	set_load(&a, "9.99 9.99 9.99 1/80 11206\n");
	requests(&a, 16, 1000);
	ok(awake_stays(&a, now_ns), "when they are gone it stays awake again");
	requests(&a, 1, AWAKE_SAMPLE_NS);
	if (pwrite(a.load.fd, "9.99 9.99 9.99 7", 16, 0) != 16)
		exit(2);
	is_int(wait_in_vain(&a) / LOOK_NS, 0, "and notices soon that others came");
	a.processors = 1;
	set_load(&a, "0.00 0.00 0.00 1/80 11206\n");
	requests(&a, 16, 1000);
	is_int(wait_in_vain(&a), 0, "with one processor it always sleeps");
}

static void test_unknown(void)
{
	static const char *const TEXTS[] = { "", "\n", "0.20 0.18 0.12", "1 2 3 many/80" };
	struct awake here = awake_here(), nowhere = { .load.fd = -1, .processors = 2 };

	for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
		struct awake a = fresh(TEXTS[i]);

		requests(&a, 16, 1000);
		is_int(wait_in_vain(&a), 0, "without knowing what runs it sleeps (%zu)", i);
	}
	requests(&nowhere, 16, 1000);
	is_int(wait_in_vain(&nowhere), 0, "and where nothing says so");
	ok(here.load.fd >= 0 && here.processors >= 1, "this machine can be asked");
}

/* What was seen holds for as long as it is said to, whoever asks for how much room. */
static void test_age(void)
{
	struct load l = fresh("0.20 0.18 0.12 2/80 11206\n").load;

	now_ns += 1000;
	ok(!load_is_crowded(&l, 2, 1000, now_ns), "two of two");
	if (pwrite(l.fd, "9.99 9.99 9.99 7", 16, 0) != 16)
		exit(2);
	ok(!load_is_crowded(&l, 2, 1000, now_ns + 999), "as long as that holds, nothing is looked at");
	ok(load_is_crowded(&l, 2, 1000, now_ns + 1000), "then it is");
	ok(!load_is_crowded(&l, 7, 1000, now_ns + 2000), "seven of seven");
}

int main(void)
{
	plan(0);
	test_pace();
	test_room();
	test_unknown();
	test_age();
	return done();
}
