/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator decides: each decision is bound to a hash, is one transaction, and leaves a row that stays.
 *
 * The hash is that of what was shown. It is over the code and not over limits and description, so where another version of the name has the same, only the version's number says which was shown. When the library has something else by then (a newer version, another one with the same code and other limits) nothing is decided, and the
 * answer names both.
 */
#ifndef CORDON_ISOLATE_TOOLS_DECISIONS_H
#define CORDON_ISOLATE_TOOLS_DECISIONS_H

#include "isolate/tools/versions.h"

struct decision {
	const char *name;
	struct reference reference;  /* promote, reject and revoke need its hash */
	const char *who, *reason;    /* reason NULL: none; reject needs one */
};

/*
 * Each returns 0 with the item as it is then, or -1 with TOOL_UNKNOWN or TOOL_CHANGED. Promoting what is promoted and rejecting what is rejected changes nothing and leaves no row: an
 * answer that was lost may be asked for again. What is rejected, or has code that is, cannot be promoted before that was revoked, so of two operators at once the one who says no is heard: -1 with
 * TOOL_CHANGED for the version, TOOL_REJECTED for its code under another name.
 *
 * Whatever takes the promoted version away (rejecting, revoking, forgetting it) gives the one that it had replaced its promotion back, with a row of its own, unless that one's code is rejected, when it is
 * the one before that: *restored is it, else its id is 0.
 */
int decisions_promote(struct store *s, const struct decision *d, struct item *item, struct error *err);
int decisions_reject(struct store *s, const struct decision *d, struct item *item, struct item *restored, struct error *err);

/* Takes the last decision on a version back. */
int decisions_revoke(struct store *s, const struct decision *d, struct item *item, struct item *restored, struct error *err);

/*
 * Removes versions with their runs and counts: all of a name, or those of a reference. The history stays, the policy stays with the name, and numbers are not used again. A rejection of what is
 * forgotten is forgotten with it. *forgotten says how many.
 */
int decisions_forget(struct store *s, const struct decision *d, int64_t *forgotten, struct item *restored, struct error *err);

#endif
