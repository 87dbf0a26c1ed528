/* SPDX-License-Identifier: Apache-2.0 */
/* Transfer. See transfer.h. Versions come in by the same function as every other, so nothing can be in a library that could not have been spawned. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/library/transfer.h"

#include <string.h>

#include "isolate/json_slice.h"
#include "isolate/library/decisions.h"

static void write_version(struct json_writer *w, sqlite3_stmt *row)
{
	static const char *const TEXTS[] = { "hash", "state", "policy" }, *const NUMBERS[] = { "version", "threshold", "successes", "failures" };

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
	rows = store_query(s, err, "SELECT v.hash, v.state, v.policy, v.version, v.threshold, coalesce(c.successes, 0), coalesce(c.failures, 0), v.spec FROM versions v"
			   " LEFT JOIN counts c ON c.name = v.name AND c.hash = v.hash ORDER BY v.name, v.version", "");
	while ((status = rows ? store_step(s, rows, err) : -1) > 0)
		write_version(w, rows);
	sqlite3_finalize(rows);
	return status;
}

int transfer_import(struct store *s, const char *line, size_t length, bool keep, const char *who, struct error *err)
{
	struct json_slice spec_text = json_slice_of(line, length, "spec"), policy = json_slice_of(line, length, "policy");
	struct spawning spawning = { .who = who };
	struct decision decision = { .who = who, .reason = "imported as promoted" };
	char hash[SPEC_HASH_ROOM] = "", word[32] = "";
	struct item item;
	struct spec spec;
	bool is_new = false;
	int status = 0;

	if (!json_slice_of(line, length, "cordon_tool").text)
		return error_set(err, FAILURE_SPEC_REFUSED, 0, "a line that is no version of a tool: it has no \"cordon_tool\"");
	if (!spec_text.text || spec_read(&spec, spec_text.text, spec_text.length, err) < 0)
		return spec_text.text ? -1 : error_set(err, FAILURE_SPEC_REFUSED, 0, "a line without \"spec\"");
	json_slice_copy(json_slice_of(line, length, "hash"), hash, sizeof hash);
	if (strcmp(hash, spec.hash) != 0)
		status = error_set(err, FAILURE_SPEC_REFUSED, 0, "the line of %s has a hash that is not that of its specification", spec.name);
	if (policy.text && json_slice_copy(policy, word, sizeof word)) {
		spawning.policy = promotion_policy_of(word);
		spawning.has_policy = spawning.policy != POLICY_COUNT;
	}
	spawning.spec = &spec;
	if (status == 0)
		status = versions_spawn(s, &spawning, &item, &is_new, err);
	if (status == 0 && keep && item.state == STATE_TRIAL && json_slice_is(json_slice_of(line, length, "state"), "promoted")) {
		decision.name = spec.name;
		decision.reference.version = item.version;
		memcpy(decision.reference.hash, item.hash, sizeof item.hash);
		status = decisions_promote(s, &decision, &item, err);
	}
	spec_free(&spec);
	return status < 0 ? -1 : is_new;
}
