/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1's word on who was made and what is used (confine/roster.h), which may be told as soon as it is heard; and on who is gone, which may not: what that one wrote comes before.
 */
#ifndef CORDON_ISOLATE_SANDBOX_NEWS_H
#define CORDON_ISOLATE_SANDBOX_NEWS_H

#include "isolate/wire/init_report.h"
#include "isolate/sandbox/event_loop.h"

/* A process was seen: told of after what its maker was refused before, unless it was. */
void news_process(struct execution *x, const struct report *r);

/* What all of them use, and what the kernel counted. */
void news_sample(struct execution *x, const struct report *r);

/*
 * Reads those reports that come next and say who was made, or what is used. Those that say who is gone, `most` of them, are the caller's to tell, after all that was written by then; at one more,
 * and at any other report, it stops. Returns how many they are.
 */
unsigned news_read(struct execution *x, struct report gone[], unsigned most);

#endif
