/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staying awake between two requests. See awake.h.
 *
 * The account is what keeps it cheap: a request that came soon earns one, one that came late costs two, and with less than two there is no wait. So the time that is spent in vain is at
 * most half a wait for each request that came soon, whatever pattern a program chooses.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/awake.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "isolate/confine/proc_file.h"

#define CREDIT_MOST 16u
#define PRICE 2u

struct awake awake_here(void)
{
	struct awake a = { .load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC) };
	cpu_set_t allowed;

	a.processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
	return a;
}

bool awake_is_worth_it(const struct awake *a)
{
	return a->credit >= PRICE;
}

void awake_answered(struct awake *a, int64_t now_ns)
{
	if (now_ns - a->answered_ns > AWAKE_NS)
		a->credit -= a->credit < PRICE ? a->credit : PRICE;
	else if (a->credit < CREDIT_MOST)
		a->credit++;
	a->answered_ns = now_ns;
}

static bool read_load(int load, int *running, pid_t *newest)
{
	char text[128];
	ssize_t length = pread(load, text, sizeof text - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return proc_loadavg(text, running, newest);
}

bool awake_newest(const struct awake *a, int32_t *number)
{
	int running;

	return a->load >= 0 && read_load(a->load, &running, number);
}

bool awake_is_crowded(struct awake *a, int room, int64_t now_ns)
{
	if (now_ns - a->sampled_ns >= (a->crowded ? AWAKE_CROWDED_NS : AWAKE_SAMPLE_NS)) {
		int running;
		pid_t newest;

		a->crowded = !read_load(a->load, &running, &newest) || running > room;
		a->sampled_ns = now_ns;
	}
	return a->crowded;
}

bool awake_stays(struct awake *a, int64_t now_ns)
{
	return a->load >= 0 && a->processors >= 2 && awake_is_worth_it(a) && now_ns - a->answered_ns <= AWAKE_NS && !awake_is_crowded(a, a->processors, now_ns);
}
