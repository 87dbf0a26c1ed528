/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening to the events of a run: each line is passed on as it is, and what it touched is kept.
 *
 * A thread reads what the supervisor tells; so an execution is observed whether anybody else listens or not. What is kept is bounded, by number and by length.
 */
#ifndef CORDON_ISOLATE_TOOLS_OBSERVE_H
#define CORDON_ISOLATE_TOOLS_OBSERVE_H

#include "isolate/tools/versions.h"

struct observer;

/*
 * Begins to listen. *events is the descriptor to give to the execution (struct streams); out is where lines go, -1 for nowhere: borrowed. Returns NULL with RESOURCES_EXHAUSTED.
 */
struct observer *observe_begin(int out, int *events, struct error *err);

/* To be called when the execution has ended: reads what is left and gives what was touched, which lives until observe_free. */
void observe_end(struct observer *o, const struct touched **touched, size_t *count);
void observe_free(struct observer *o);

#endif
