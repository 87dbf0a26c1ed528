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

#include "fs/view/awake.h"

#include <sched.h>

#define CREDIT_MOST 16u
#define PRICE 2u

struct awake awake_here(void)
{
	struct awake a = { .load = load_here() };
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

bool awake_stays(struct awake *a, int64_t now_ns)
{
	if (a->load.fd < 0 || a->processors < 2 || !awake_is_worth_it(a) || now_ns - a->answered_ns > AWAKE_NS)
		return false;
	return !load_is_crowded(&a->load, a->processors, a->load.crowded ? AWAKE_CROWDED_NS : AWAKE_SAMPLE_NS, now_ns);
}
