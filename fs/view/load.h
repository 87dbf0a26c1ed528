/* SPDX-License-Identifier: Apache-2.0 */
/* How much can run on this machine at this moment: proc_loadavg(5), read anew when asked. */
#ifndef CORDON_FS_VIEW_LOAD_H
#define CORDON_FS_VIEW_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* May be copied: each copy remembers what it saw itself. */
struct load {
	int fd;                  /* /proc/loadavg, or -1: nothing can be known */
	int64_t sampled_ns;
	bool crowded;            /* what was seen then */
};

/* To be asked before a filter forbids it. The descriptor is the caller's. */
struct load load_here(void);

/* Whether more can run than `room`, this process included, or that cannot be known. What was seen is taken to hold for age_ns. */
bool load_is_crowded(struct load *l, int room, int64_t age_ns, int64_t now_ns);

#endif
