/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer. See tool_show.h. Versions come in by the same function as every other, so nothing can be
 * in a library that could not have been spawned.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/tool_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/json_read.h"
#include "isolate/tools/versions.h"

static void write_version(struct json_writer *w, sqlite3_stmt *row)
{
	static const char *const TEXTS[] = { "hash", "state", "policy" },
				 *const NUMBERS[] = { "version", "threshold", "successes",
					 "failures" };

	json_open_object(w);
	json_key(w, "cordon_tool");
	json_integer(w, 1);
	for (int i = 0; i < 3; i++) {
		json_key(w, TEXTS[i]);
		json_string(w, (const char *)sqlite3_column_text(row, i));
	}
	for (int i = 0; i < 4; i++) {
		json_key(w, NUMBERS[i]);
		json_integer(w, sqlite3_column_int64(row, 3 + i));
	}
	json_key(w, "spec");
	json_raw(w, sqlite3_column_text(row, 7), (size_t)sqlite3_column_bytes(row, 7));
	json_close_object(w);
}

int transfer_export(struct store *s, struct json_writer *w, struct error *err)
{
	sqlite3_stmt *rows;
	int status;

	if (!s->db)
		return 0;
	if (store_check(s, err) < 0)
		return -1;
	rows = store_query(s, err,
		"SELECT v.hash, v.state, v.policy, v.version, v.threshold, coalesce(c.successes, "
		"0), coalesce(c.failures, 0), v.spec FROM versions v"
		" LEFT JOIN counts c ON c.name = v.name AND c.hash = v.hash AND c.since = (SELECT "
		"max(since) FROM counts WHERE name = v.name AND hash = v.hash AND since <= "
		"v.version) ORDER BY v.name, v.version",
		"");
	while ((status = rows ? store_step(s, rows, err) : -1) > 0)
		write_version(w, rows);
	sqlite3_finalize(rows);
	return status;
}

/* The version that is this line's already, whatever became of it. Returns 1, 0 or -1. */
static int find_same(
	struct store *s, const struct spawning *n, struct item *item, struct error *err)
{
	return item_first(s,
		store_query(s, err,
			ITEM_SELECT "WHERE v.name = ?1 AND v.hash = ?2 AND v.spec = ?3 AND (?4 IS "
				    "NULL OR v.policy = ?4) AND (?5 IS NULL OR v.threshold = ?5)"
				    " ORDER BY v.version DESC LIMIT 1",
			"ttttn", n->spec->name, n->spec->hash, n->spec->canonical.data,
			n->has_policy ? promotion_policy_word(n->policy) : NULL,
			n->threshold ? n->threshold : INT64_MIN),
		item, err);
}

/*
 * Promotes what was promoted in the exported library, unless a decision in this one says otherwise.
 */
static int keep_promoted(struct store *s, struct transfer *t, struct error *err)
{
	char why[VERSIONS_WHY_ROOM];
	struct item other;
	int rejected, others;

	if (store_begin(s, err) < 0 || item_of_id(s, t->item.id, &t->item, err) < 0 ||
		(rejected = versions_rejection(s, t->item.hash, why, err)) < 0)
		return -1;
	others = item_first(s,
		store_query(s, err, ITEM_SELECT "WHERE v.name = ? AND v.state = 'promoted' LIMIT 1",
			"t", t->item.name),
		&other, err);
	if (others < 0)
		return -1;
	t->promoted = t->item.id && !rejected &&
		(t->item.state == STATE_TRIAL || t->item.state == STATE_PENDING ||
			(t->item.state == STATE_SUPERSEDED && others == 0));
	if (t->promoted &&
		(versions_promote(s, &t->item, t->who, TRANSFER_REASON, err) < 0 ||
			item_of_id(s, t->item.id, &t->item, err) < 0))
		return -1;
	return store_commit(s, err);
}

/* What a line says of the policy; the specification is the caller's. */
static struct spawning read_spawning(
	struct json_slice line, const struct spec *spec, const char *who)
{
	struct json_slice policy = json_get(line, "policy"),
			  threshold = json_get(line, "threshold");
	struct spawning n = { .spec = spec, .who = who };
	char word[32] = "";

	if (json_copy(policy, word, sizeof word)) {
		n.policy = promotion_policy_of(word);
		n.has_policy = n.policy != POLICY_COUNT;
	}
	if (threshold.length <= 7)
		n.threshold = json_int(threshold, 0);
	if (n.threshold < 0 || n.threshold > PROMOTION_THRESHOLD_MAX)
		n.threshold = 0;
	return n;
}

/*
 * What an operator refused where it comes from does not get another chance by being carried over.
 */
static int keep_rejected(struct store *s, struct transfer *t, struct error *err)
{
	struct decision d = { .name = t->item.name,
		.reference = { .version = t->item.version },
		.who = t->who,
		.reason = TRANSFER_REJECTED_REASON };
	struct item item, restored;

	snprintf(d.reference.hash, sizeof d.reference.hash, "%s", t->item.hash);
	if (decisions_reject(s, &d, &item, &restored, err) < 0)
		return -1;
	t->item = item;
	t->rejected = true;
	return 0;
}

static int take(struct store *s, struct transfer *t, const struct spawning *n,
	struct json_slice state, struct error *err)
{
	bool was_promoted = json_is(state, "promoted"), was_rejected = json_is(state, "rejected");
	int status = find_same(s, n, &t->item, err);

	if (status < 0)
		return -1;
	if (status == 0 &&
		(spec_check_ceilings(n->spec, err) < 0 || t->validate(n->spec, t->context) < 0 ||
			versions_spawn(s, n, &t->item, &t->is_new, err) < 0))
		return -1;
	if (t->is_new && was_rejected)
		return keep_rejected(s, t, err);
	return t->keep && was_promoted ? keep_promoted(s, t, err) : 0;
}

int transfer_import(struct store *s, struct transfer *t, struct json_slice line, struct error *err)
{
	struct json_slice spec_text = json_get(line, "spec");
	char hash[SPEC_HASH_ROOM] = "";
	struct spawning n;
	struct spec spec;
	int status;

	t->item.id = 0;
	t->is_new = t->promoted = t->rejected = false;
	if (!json_get(line, "cordon_tool").text)
		return error_set(err, FAILURE_SPEC_REFUSED, 0,
			"it is no version of a tool: it has no \"cordon_tool\"");
	if (!spec_text.text || spec_read(&spec, spec_text.text, spec_text.length, err) < 0)
		return spec_text.text
			? -1
			: error_set(err, FAILURE_SPEC_REFUSED, 0, "it has no \"spec\"");
	json_copy(json_get(line, "hash"), hash, sizeof hash);
	n = read_spawning(line, &spec, t->who);
	if (strcmp(hash, spec.hash) != 0)
		status = error_set(err, FAILURE_SPEC_REFUSED, 0,
			"%s has a hash that is not that of its specification", spec.name);
	else
		status = take(s, t, &n, json_get(line, "state"), err);
	spec_free(&spec);
	return status;
}
