/* SPDX-License-Identifier: Apache-2.0 */
/* Short turns. See prompt.h. Nothing but their length is changed: policy, niceness and flags are set to what they are. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/monitor/timeslice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS UINT64_C(100000) /* the least that the kernel takes */

/* struct sched_attr of linux/sched/types.h in its first form, which C libraries before glibc 2.41 lack. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool set_slice(uint64_t slice_ns, uint64_t *before_ns)
{
	struct attributes a = { .size = sizeof a };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != SCHED_OTHER)
		return false;
	if (before_ns)
		*before_ns = a.runtime_ns;
	a.runtime_ns = slice_ns;
	return syscall(SYS_sched_setattr, 0, &a, 0) == 0;
}

void prompt_begin(struct prompt *p)
{
	p->is_set = set_slice(SLICE_NS, &p->slice_ns);
}

void prompt_end(struct prompt *p)
{
	if (p->is_set)
		set_slice(p->slice_ns, NULL);
	p->is_set = false;
}
