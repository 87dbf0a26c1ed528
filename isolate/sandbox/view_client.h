/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of a view: starts the server, reads its events, keeps the sums, notices its
 * end.
 *
 * The server is trusted no more than anything else that handles what comes from inside: every
 * datagram is parsed strictly, what is kept of it is bounded. That the server was stopped is asked
 * of the kernel (waitid(2)), not guessed from a silence: a slow disk is no stop.
 */
#ifndef CORDON_ISOLATE_SANDBOX_VIEW_CLIENT_H
#define CORDON_ISOLATE_SANDBOX_VIEW_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/view/view_event.h"
#include "fs/view/view_policy.h"
#include "isolate/monitor/event_log.h"
#include "isolate/monitor/processes.h"
#include "isolate/options/options.h"
#include "isolate/sandbox/launch.h"
#include "isolate/wire/record.h"

/* How often to ask whether the server was stopped. */
#define VIEW_CHECK_US 200000

struct view_client {
	struct launch launch;
	/* for the names of rules, and what would have allowed what they refused */
	struct policy *policy;
	const struct options *options; /* borrowed; NULL: no advice is wanted */
	struct event_log *log;         /* borrowed; may be NULL */
	/* borrowed, or NULL: their start events precede their requests */
	struct processes *processes;
	bool finished;                /* the last event came: it ended in good order */
	struct view_summary *summary; /* borrowed */
	/* the signal by which the caller ended it before it was ready, or 0 */
	int interrupted;
	enum end_cause end_cause; /* why */
	uint64_t held_signals;    /* bit n: signal n came for the program before it was ready */
};

#define VIEW_CLIENT_INIT \
	{ \
		.launch = { -1, -1, -1, 0 } \
	}

/*
 * Starts a server with a configuration (fs/view/view_config.h; a descriptor, borrowed) for the
 * sandbox whose first process sandbox_pidfd is. Waits for it to be ready, or for the caller to end
 * it (interrupts, -1 for none: a byte for each signal, isolate/tiers/tier.h). Returns the
 * descriptor of the detached mount, or -1 with what the server or the start said. Events go to log
 * and summary.
 */
int view_client_start(struct view_client *s, int config, int sandbox_pidfd, int interrupts,
	struct event_log *log, struct view_summary *summary, struct error *err);

/* Reads what events there are. Returns false when there will be no more. Never blocks. */
bool view_client_read(struct view_client *s);

/*
 * Whether the server has gone without being asked to, or was stopped: then *err says which, with
 * VIEW_LOST.
 */
bool view_client_is_lost(struct view_client *s, struct error *err);

/* Kills the server: every request that waits for it ends. */
void view_client_kill(struct view_client *s);

/*
 * Lets it finish, for a short time, reads the rest, waits for its end for so long and closes
 * everything. Safe at any time.
 */
void view_client_close(struct view_client *s, int wait_ms);

/* Which option would have let through what a view refused. */

/*
 * Says it of each refusal of a summary ("--ro PATH", in a shell's words), where one option alone
 * does: for a hidden file the one that names it, for a write the --scratch that shows its
 * directory, in place of the --ro that showed it. The policy is the one that refused. Without
 * memory nothing is said.
 */
void view_allow(
	struct view_summary *summary, const struct options *options, const struct policy *policy);

#endif
