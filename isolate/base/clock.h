/* SPDX-License-Identifier: Apache-2.0 */
/* The clock that the supervisor measures with. */
#ifndef CORDON_ISOLATE_BASE_CLOCK_H
#define CORDON_ISOLATE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in microseconds. */
static inline int64_t clock_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#endif
