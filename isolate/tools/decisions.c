/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions. See versions.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/versions.h"

#include <inttypes.h>
#include <string.h>

/*
 * Whether another version has this code, too, and the hash does not say which of them was looked
 * at: one that stands, or a replaced one with other limits or another description. Returns 1, 0 or
 * -1.
 */
static int is_ambiguous(
	struct store *s, const struct item *item, struct item *other, struct error *err)
{
	return item_first(s,
		store_query(s, err,
			ITEM_SELECT "WHERE v.name = ?1 AND v.hash = ?2 AND v.id <> ?3 AND (v.state "
				    "<> 'superseded' OR v.spec <> (SELECT spec FROM versions WHERE "
				    "id = ?3)) ORDER BY v.version DESC LIMIT 1",
			"tti", item->name, item->hash, item->id),
		other, err);
}

/*
 * The version that a decision is on. allow_older: one that is promoted may be decided on although a
 * newer one exists. Only ever a version that stands in the running.
 */
enum which { NEWEST, DECIDED /* or one that is promoted or rejected */, ANY };

static int find(struct store *s, const struct decision *d, enum which which, struct item *item,
	struct error *err)
{
	struct item newest, other;
	int status;

	if (!d->reference.hash[0])
		return error_set(err, FAILURE_BAD_OPTION, 0,
			"a decision needs the hash of what was looked at: NAME@HASH");
	if (!s->db)
		return error_set(err, FAILURE_TOOL_UNKNOWN, 0,
			"the tool %s of %s: this user has no library", d->name, s->user);
	if (item_newest(s, d->name, &newest, err) < 0 ||
		versions_look_up(s, d->name, &d->reference, item, err) < 0)
		return newest.id && err->code == FAILURE_TOOL_UNKNOWN
			? error_set(err, FAILURE_TOOL_CHANGED, 0,
				  "%s: there is no such version with the hash %s; the newest is "
				  "version %" PRId64 " with %s",
				  d->name, d->reference.hash, newest.version, newest.hash)
			: -1;
	if (item->id != newest.id && which != ANY &&
		!(which == DECIDED &&
			(item->state == STATE_PROMOTED || item->state == STATE_REJECTED)))
		return error_set(err, FAILURE_TOOL_CHANGED, 0,
			"%s: version %" PRId64 " with the hash %s was replaced by version %" PRId64
			" with %s",
			d->name, item->version, item->hash, newest.version, newest.hash);
	if (d->reference.version)
		return 0;
	status = is_ambiguous(s, item, &other, err);
	if (status > 0)
		return error_set(err, FAILURE_TOOL_CHANGED, 0,
			"%s: versions %" PRId64 " and %" PRId64
			" have the same code, %s, and differ in limits or description: look at the "
			"one that is meant, and say it with its version (%s@%" PRId64 "@%.12s)",
			d->name, other.version, item->version, item->hash, d->name, item->version,
			item->hash);
	return status;
}

int decisions_promote(
	struct store *s, const struct decision *d, struct item *item, struct error *err)
{
	char why[VERSIONS_WHY_ROOM];
	int rejected;

	if ((s->db && store_begin(s, err) < 0) || find(s, d, NEWEST, item, err) < 0 ||
		(rejected = versions_rejection(s, item->hash, why, err)) < 0)
		return -1;
	if (item->state == STATE_REJECTED)
		return error_set(err, FAILURE_TOOL_CHANGED, 0,
			"%s: version %" PRId64 " (%s) was rejected; that is to be revoked first",
			item->name, item->version, item->hash);
	if (rejected)
		return error_set(err, FAILURE_TOOL_REJECTED, 0,
			"promoting %s, version %" PRId64 ": %s; that is to be revoked first",
			item->name, item->version, why);
	if (item->state != STATE_PROMOTED &&
		(versions_promote(s, item, d->who, d->reason, err) < 0 ||
			item_of_id(s, item->id, item, err) < 0))
		return -1;
	return store_commit(s, err);
}

static int set_state(struct store *s, const struct item *item, enum tool_state state,
	const struct decision *d, struct error *err)
{
	int64_t now = store_now_us();

	return store_run(s, err,
		"UPDATE versions SET state = ?, due = CASE WHEN ? = 'pending' THEN ? ELSE due END, "
		"decided = ?, decided_by = ?, reason = ?, replaced_by = NULL WHERE id = ?",
		"ttiitti", promotion_state_word(state), promotion_state_word(state), now, now,
		d->who, d->reason, item->id);
}

/*
 * Gives what a version had superseded its promotion back; what is rejected meanwhile is passed
 * over. verb says what became of the version.
 */
static int restore(struct store *s, const struct item *item, const char *verb,
	const struct decision *d, struct item *restored, struct error *err)
{
	struct buffer reason = BUFFER_INIT;
	char why[VERSIONS_WHY_ROOM];
	int64_t id = item->id;
	int status, rejected;

	do {
		status = item_first(s,
			store_query(s, err,
				ITEM_SELECT "WHERE v.replaced_by = ? AND v.state = 'superseded' "
					    "ORDER BY v.version DESC LIMIT 1",
				"i", id),
			restored, err);
		if (status <= 0)
			return status;
		rejected = versions_rejection(s, restored->hash, why, err);
		if (rejected < 0)
			return -1;
		id = restored->id;
	} while (rejected);
	buffer_printf(&reason, "%s: version %" PRId64 "%s%.400s", verb, item->version,
		d->reason ? ", " : "", d->reason ? d->reason : "");
	status = reason.failed ? -1 : versions_promote(s, restored, d->who, reason.data, err);
	buffer_free(&reason);
	return status < 0 ? -1 : item_of_id(s, restored->id, restored, err);
}

/* A version that was replaced can still be called where it was spawned, so it can be refused. */
int decisions_reject(struct store *s, const struct decision *d, struct item *item,
	struct item *restored, struct error *err)
{
	bool was_promoted;

	restored->id = 0;
	if (!d->reason || !d->reason[0])
		return error_set(err, FAILURE_BAD_OPTION, 0, "rejecting needs a reason");
	if ((s->db && store_begin(s, err) < 0) || find(s, d, ANY, item, err) < 0)
		return -1;
	was_promoted = item->state == STATE_PROMOTED;
	if (item->state != STATE_REJECTED &&
		(set_state(s, item, STATE_REJECTED, d, err) < 0 ||
			versions_decision(s, item, "rejected", d->who, d->reason, err) < 0 ||
			(was_promoted && restore(s, item, "rejected", d, restored, err) < 0) ||
			item_of_id(s, item->id, item, err) < 0))
		return -1;
	return store_commit(s, err);
}

int decisions_revoke(struct store *s, const struct decision *d, struct item *item,
	struct item *restored, struct error *err)
{
	bool was_promoted;
	struct item newest;

	restored->id = 0;
	if ((s->db && store_begin(s, err) < 0) || find(s, d, DECIDED, item, err) < 0 ||
		item_newest(s, d->name, &newest, err) < 0)
		return -1;
	was_promoted = item->state == STATE_PROMOTED;
	if (!was_promoted && item->state != STATE_REJECTED)
		return error_set(err, FAILURE_TOOL_CHANGED, 0,
			"%s: version %" PRId64 " (%s) is %s: there is no decision on it to revoke",
			item->name, item->version, item->hash, promotion_state_word(item->state));
	if (set_state(s, item,
		    promotion_after_revoke(
			    item->policy, item->threshold, item->successes, item->id == newest.id),
		    d, err) < 0 ||
		versions_decision(s, item, "revoked", d->who, d->reason, err) < 0 ||
		(was_promoted && restore(s, item, "revoked", d, restored, err) < 0) ||
		item_of_id(s, item->id, item, err) < 0)
		return -1;
	return store_commit(s, err);
}

/*
 * One version, with what hangs on it. What it had replaced is then replaced by what replaced it. A
 * count goes with the last version that it belongs to.
 */
static int remove_version(
	struct store *s, const struct item *item, const struct decision *d, struct error *err)
{
	if (versions_decision(s, item, "forgotten", d->who, d->reason, err) < 0 ||
		store_run(s, err,
			"UPDATE versions SET replaced_by = n.replaced_by FROM (SELECT replaced_by "
			"FROM versions WHERE id = ?1) n WHERE versions.replaced_by = ?1 AND "
			"n.replaced_by IS NOT NULL",
			"i", item->id) < 0 ||
		store_run(s, err, "DELETE FROM runs WHERE version_id = ?", "i", item->id) < 0 ||
		store_run(s, err, "DELETE FROM touched WHERE version_id = ?", "i", item->id) < 0 ||
		store_run(s, err, "DELETE FROM versions WHERE id = ?", "i", item->id) < 0)
		return -1;
	return store_run(s, err,
		"DELETE FROM counts AS c WHERE c.name = ?1 AND c.hash = ?2 AND NOT EXISTS (SELECT "
		"1 FROM versions v WHERE v.name = ?1 AND v.hash = ?2 AND v.version >= c.since AND "
		"NOT EXISTS"
		" (SELECT 1 FROM counts l WHERE l.name = ?1 AND l.hash = ?2 AND l.since > c.since "
		"AND l.since <= v.version))",
		"tt", item->name, item->hash);
}

int decisions_forget(struct store *s, const struct decision *d, int64_t *forgotten,
	struct item *restored, struct error *err)
{
	bool all = !d->reference.version && !d->reference.hash[0];
	char hash[SPEC_HASH_ROOM];
	struct item item, promoted = { .id = 0 };

	*forgotten = 0;
	restored->id = 0;
	if ((s->db && store_begin(s, err) < 0) ||
		versions_look_up(s, d->name, &d->reference, &item, err) < 0)
		return -1;
	memcpy(hash, item.hash, sizeof hash);
	for (;;) {
		int status;

		if (item.state == STATE_PROMOTED)
			promoted = item;
		if (remove_version(s, &item, d, err) < 0)
			return -1;
		++*forgotten;
		/*
		 * Each of the name, or each that has the same code; with a version it is that one
		 * alone.
		 */
		status = d->reference.version ? 0
			: all
			? item_newest(s, d->name, &item, err)
			: item_first(s,
				  store_query(s, err,
					  ITEM_SELECT "WHERE v.name = ? AND v.hash = ? LIMIT 1",
					  "tt", d->name, hash),
				  &item, err);
		if (status < 0)
			return -1;
		if (status == 0)
			break;
	}
	if (promoted.id && restore(s, &promoted, "forgotten", d, restored, err) < 0)
		return -1;
	return store_commit(s, err);
}
