/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of tools that a command tells the daemon, when it worked on a library itself.
 *
 * Only an operator may tell, only of the libraries that are the daemon's own, and only what the event table calls tool.*, on tools or executions; each line is as bounded as an emitter's. They get the daemon's
 * numbers and go to log and subscribers like all others.
 */
#ifndef CORDON_ISOLATE_DAEMON_TOLD_H
#define CORDON_ISOLATE_DAEMON_TOLD_H

#include "isolate/daemon/protocol.h"
#include "isolate/daemon/daemon.h"

#define TOLD_MOST 64 /* events of one request */

/*
 * The directory of libraries as both sides know it: "DEVICE:INODE" in out. Not by its path, which may have several spellings. Returns false when there is none.
 */
bool told_library(char *out, size_t size);

/* Publishes what a request tells. Returns true with how many events were taken, 0 where it tells of other libraries; or false with a refusal, and then nothing was. */
bool told_take(struct server *s, unsigned uid, const struct protocol_request *r, unsigned *taken, struct protocol_refusal *refusal);

#endif
