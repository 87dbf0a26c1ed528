/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order it is told what a program does.
 *
 * It comes over several channels of which none has times: output through pipes, refusals of the view over a socket, calls through the filter's listener, processes by their numbers and by the
 * descriptors that hold them. What a program does one after the other is told one after the other as far as that can be known; the manual says where it cannot.
 */
#ifndef CORDON_ISOLATE_SANDBOX_ORDER_H
#define CORDON_ISOLATE_SANDBOX_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "isolate/sandbox/event_loop.h"

/* Reads at most so much of one stream, or passes on what its reader has room for, and watches whichever of the two is to be waited for. */
void order_stream(struct execution *x, struct capture *c, size_t most, enum source from, enum source to);

/* Reads, and tells of, all that the program wrote and that its view refused until now, in the order in which it happened. The context is the execution. */
void order_read_all(void *execution);

/* Reads, and tells of, what was there when this was refused: processes that had been made, who was refused among them, and what was written. The context is the execution. */
void order_read_until(void *execution, const struct event_head *refusal);

/* There is output, or room for it. Where nobody watches nothing is told, and no order kept. */
void order_output(struct execution *x);

/* Processes have ended: what they wrote is told before, and what another writes when it has learnt of that, after, as far as it is known which came first. */
void order_ends(struct execution *x);

/* epoll_wait(2) for the execution's sources, noting what their order says. */
int order_wait(struct execution *x, struct epoll_event events[SOURCES]);

#endif
