/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The versions of tools: they are added, called and counted, and never overwritten.
 *
 * A specification that differs in anything from the newest version of its name is a new version,
 * which starts in trial and puts an older one that waits out of the running. A version goes on with
 * the count of the one before it that has the same code only if it permits no more and is described
 * in the same words: what was tried is then what would be promoted. Code that was rejected is
 * rejected for its user, whatever its name. Each function that writes is one transaction of its
 * own.
 */
#ifndef CORDON_ISOLATE_TOOLS_VERSIONS_H
#define CORDON_ISOLATE_TOOLS_VERSIONS_H

#include "isolate/tools/tool_record.h"

#define VERSIONS_TOOLS_MAX 2000 /* of one library */
#define VERSIONS_MAX 10000

/* Names a version; any part may be missing. A hash may be cut to its first 8 digits or more. */
struct reference {
	int64_t version;           /* 0: none */
	char hash[SPEC_HASH_ROOM]; /* "": none */
};

struct spawning {
	const struct spec *spec;
	/*
	 * else: that of the last version of the name, also of one that was forgotten, or the
	 * fallback
	 */
	bool has_policy;
	enum tool_policy policy;
	/* 0: that of the last version under the same policy, or the policy's own */
	int64_t threshold;
	/* of a name that is new to the library; threshold, where nothing was said */
	enum tool_policy fallback_policy;
	int64_t fallback_threshold;  /* 0: the policy's own */
	const char *session, *agent; /* NULL: none */
	const char *who;
};

/*
 * Adds a specification. *item is what the library has then: the new version, or the newest one when
 * it is the same in everything; *is_new says which. Returns 0, or -1 with TOOL_REJECTED where this
 * code is rejected (versions_rejection), or LIBRARY_FULL.
 */
int versions_spawn(struct store *s, const struct spawning *n, struct item *item, bool *is_new,
	struct error *err);

/*
 * The version that a call means. With a reference that one; else, in a session, the newest that was
 * spawned in it, or the promoted one; else, without a session, the promoted one, or the newest that
 * was spawned without one. A name alone never means a version that another session has in trial.
 * Returns 0, or -1 with TOOL_UNKNOWN, or TOOL_REJECTED for a version or code that is rejected.
 */
int versions_find(struct store *s, const char *name, const struct reference *r, const char *session,
	struct item *item, struct error *err);

/*
 * Whether code is rejected: there is a version with this hash, under whatever name, on which the
 * last decision is that it is rejected. Returns 1 with a sentence in why, 0, or -1.
 */
#define VERSIONS_WHY_ROOM 400
int versions_rejection(
	struct store *s, const char *hash, char why[VERSIONS_WHY_ROOM], struct error *err);

/*
 * The version that a reference means, in whatever state; without one the newest. Returns 0, or -1
 * with TOOL_UNKNOWN, also when several hashes begin like this one.
 */
int versions_look_up(struct store *s, const char *name, const struct reference *r,
	struct item *item, struct error *err);

/*
 * The specification of a version, read again and compared with its hash. Returns 0, or -1 with
 * LIBRARY_BROKEN.
 */
int versions_spec(struct store *s, int64_t id, struct spec *spec, struct error *err);

/* What a run touched: names with counts, of a kind ("files", "hosts", "syscalls"). */
struct touched {
	const char *kind; /* static */
	char *what;       /* owned */
	int64_t count;
};

struct run {
	const char *execution_id, *error; /* error NULL: it succeeded */
	int64_t duration_us;
	const struct touched *touched;
	size_t touched_count;
};

/*
 * Counts a run of a version and carries out what follows from it. *step says what followed;
 * item->id is 0 when the version was forgotten meanwhile. Returns 0 or -1.
 */
int versions_record(struct store *s, int64_t id, const struct run *run, struct item *item,
	enum promotion_step *step, struct error *err);

/* Writes a row of the history. */
int versions_decision(struct store *s, const struct item *item, const char *decision,
	const char *who, const char *reason, struct error *err);

/* Makes an item the promoted one; the one that was promoted before is superseded by it. */
int versions_promote(struct store *s, const struct item *item, const char *who, const char *reason,
	struct error *err);

/*
 * What an operator decides: each decision is bound to a hash, is one transaction, and leaves a row
 * that stays.
 *
 * The hash is that of what was shown. It is over the code and not over limits and description, so
 * where another version of the name has the same, only the version's number says which was shown.
 * When the library has something else by then (a newer version, another one with the same code and
 * other limits) nothing is decided, and the answer names both.
 */

struct decision {
	const char *name;
	struct reference reference; /* promote, reject and revoke need its hash */
	const char *who, *reason;   /* reason NULL: none; reject needs one */
};

/*
 * Each returns 0 with the item as it is then, or -1 with TOOL_UNKNOWN or TOOL_CHANGED. Promoting
 * what is promoted and rejecting what is rejected changes nothing and leaves no row: an answer that
 * was lost may be asked for again. What is rejected, or has code that is, cannot be promoted before
 * that was revoked, so of two decisions at once the rejection wins: -1 with TOOL_CHANGED for the
 * version, TOOL_REJECTED for its code under another name.
 *
 * Whatever takes the promoted version away (rejecting, revoking, forgetting it) gives the one that
 * it had replaced its promotion back, with a row of its own, unless that one's code is rejected,
 * when it is the one before that: *restored is it, else its id is 0.
 */
int decisions_promote(
	struct store *s, const struct decision *d, struct item *item, struct error *err);
int decisions_reject(struct store *s, const struct decision *d, struct item *item,
	struct item *restored, struct error *err);

/* Takes the last decision on a version back. */
int decisions_revoke(struct store *s, const struct decision *d, struct item *item,
	struct item *restored, struct error *err);

/*
 * Removes versions with their runs and counts: all of a name, or those of a reference. The history
 * stays, the policy stays with the name, and numbers are not used again. A rejection of what is
 * forgotten is forgotten with it. *forgotten says how many.
 */
int decisions_forget(struct store *s, const struct decision *d, int64_t *forgotten,
	struct item *restored, struct error *err);

#endif
