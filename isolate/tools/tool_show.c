/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Showing. See tool_show.h.
 *
 * What a tool may do comes before its code, each side by side with what the version promoted before
 * it could: imports, parameters, limits, and what runs of it touched. The texts are those of a
 * model; text for a terminal passes the sanitiser where it is printed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/tool_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/base/cleanup.h"

#define RUNS_SHOWN 200
#define NAMES_SHOWN 500
#define HISTORY_SHOWN 1000

static int write_items(
	struct store *s, sqlite3_stmt *rows, struct json_writer *w, struct error *err)
{
	int status;

	while ((status = rows ? store_step(s, rows, err) : -1) > 0) {
		json_open_object(w);
		item_write_row(s, rows, w);
		json_close_object(w);
	}
	sqlite3_finalize(rows);
	return status;
}

int show_current(struct store *s, struct json_writer *w, struct error *err)
{
	if (!s->db)
		return 0;
	return write_items(s,
		store_query(s, err,
			ITEM_SELECT_LISTED
			"WHERE v.state = 'promoted' OR v.version = (SELECT max(version) FROM "
			"versions WHERE name = v.name) ORDER BY v.name, v.version",
			""),
		w, err);
}

int show_pending(struct store *s, struct json_writer *w, struct error *err)
{
	return s->db ? write_items(s,
			       store_query(s, err,
				       ITEM_SELECT_LISTED
				       "WHERE v.state = 'pending' ORDER BY v.due, v.id",
				       ""),
			       w, err)
		     : 0;
}

/* ---- capabilities ---- */

static void add_imports(const struct spec *spec, struct buffer *out)
{
	for (size_t i = 0; i < spec->import_count; i++)
		buffer_printf(out, "%s%s", i ? ", " : "", spec->imports[i]);
}

static void add_parameters(const struct spec *spec, struct buffer *out)
{
	buffer_add(out, spec->parameters.data, spec->parameters.length);
}

static void add_timeout(const struct spec *spec, struct buffer *out)
{
	buffer_printf(out, "%.15g", spec->timeout_s);
}

static void add_memory(const struct spec *spec, struct buffer *out)
{
	buffer_printf(out, "%.15g", spec->memory_mb);
}

/* What the runs of a version touched, of one kind, names separated by ", ". */
static int add_touched(
	struct store *s, int64_t id, const char *kind, struct buffer *out, struct error *err)
{
	sqlite3_stmt *rows = store_query(s, err,
		"SELECT what FROM touched WHERE version_id = ? AND kind = ? ORDER BY what LIMIT ?",
		"iti", id, kind, (int64_t)NAMES_SHOWN);
	int status;

	while ((status = rows ? store_step(s, rows, err) : -1) > 0) {
		buffer_add_text(out, out->length ? ", " : "");
		buffer_add(
			out, sqlite3_column_text(rows, 0), (size_t)sqlite3_column_bytes(rows, 0));
	}
	sqlite3_finalize(rows);
	return status;
}

static void write_capability(struct json_writer *w, const char *what, const struct buffer *before,
	const struct buffer *after)
{
	bool changed = before->length != after->length ||
		(after->length > 0 && memcmp(before->data, after->data, after->length) != 0);

	json_open_object(w);
	json_key(w, "what");
	json_string(w, what);
	json_key(w, "before");
	json_bytes(w, before->length ? before->data : "", before->length);
	json_key(w, "after");
	json_bytes(w, after->length ? after->data : "", after->length);
	json_key(w, "changed");
	json_bool(w, changed);
	json_close_object(w);
}

/* before NULL: there is no version to compare with. */
static int write_capabilities(struct store *s, const struct spec *before, int64_t before_id,
	const struct spec *after, int64_t after_id, struct json_writer *w, struct error *err)
{
	static const struct {
		const char *what;
		void (*add)(const struct spec *, struct buffer *);
	} OF_SPEC[] = {
		{ "imports", add_imports },
		{ "parameters", add_parameters },
		{ "timeout_s", add_timeout },
		{ "memory_mb", add_memory },
	};
	static const struct {
		const char *what, *kind;
	} OF_RUNS[] = { { "files", "files" }, { "hosts", "hosts" },
		{ "syscalls refused", "syscalls" } };
	int status = 0;

	json_key(w, "capabilities");
	json_open_array(w);
	for (size_t i = 0; i < sizeof OF_SPEC / sizeof *OF_SPEC; i++) {
		struct buffer old = BUFFER_INIT, new = BUFFER_INIT;

		if (before)
			OF_SPEC[i].add(before, &old);
		OF_SPEC[i].add(after, &new);
		write_capability(w, OF_SPEC[i].what, &old, &new);
		buffer_free(&old);
		buffer_free(&new);
	}
	for (size_t i = 0; status == 0 && i < sizeof OF_RUNS / sizeof *OF_RUNS; i++) {
		struct buffer old = BUFFER_INIT, new = BUFFER_INIT;

		if (before)
			status = add_touched(s, before_id, OF_RUNS[i].kind, &old, err);
		if (status == 0)
			status = add_touched(s, after_id, OF_RUNS[i].kind, &new, err);
		write_capability(w, OF_RUNS[i].what, &old, &new);
		buffer_free(&old);
		buffer_free(&new);
	}
	json_close_array(w);
	return status;
}

/* ---- one tool ---- */

static int write_runs(struct store *s, int64_t id, struct json_writer *w, struct error *err)
{
	sqlite3_stmt *rows = store_query(s, err,
		"SELECT execution_id, time, duration_us, success, error FROM runs WHERE version_id "
		"= ? ORDER BY id DESC LIMIT ?",
		"ii", id, (int64_t)RUNS_SHOWN);
	int status;

	json_key(w, "runs");
	json_open_array(w);
	while ((status = rows ? store_step(s, rows, err) : -1) > 0) {
		json_open_object(w);
		json_key(w, "execution_id");
		json_string(w, (const char *)sqlite3_column_text(rows, 0));
		json_key(w, "time");
		item_write_time(w, sqlite3_column_int64(rows, 1));
		json_key(w, "duration_ms");
		json_real(w, (double)sqlite3_column_int64(rows, 2) / 1000, 3);
		json_key(w, "success");
		json_bool(w, sqlite3_column_int(rows, 3) != 0);
		json_key(w, "error");
		if (sqlite3_column_type(rows, 4) == SQLITE_NULL)
			json_null(w);
		else
			json_bytes(w, sqlite3_column_text(rows, 4),
				(size_t)sqlite3_column_bytes(rows, 4));
		json_close_object(w);
	}
	json_close_array(w);
	sqlite3_finalize(rows);
	return status;
}

/*
 * The version to compare with: the one that is promoted, or for that one itself, or where none is,
 * the last that was promoted before it.
 */
static int find_previous(
	struct store *s, const struct item *item, struct item *previous, struct error *err)
{
	return item_first(s,
		store_query(s, err,
			ITEM_SELECT
			"WHERE v.name = ? AND v.id <> ? AND (v.state = 'promoted' OR (v.version < "
			"? AND EXISTS (SELECT 1 FROM decisions d WHERE d.name = v.name"
			" AND d.version = v.version AND d.decision = 'promoted'))) ORDER BY "
			"v.state = 'promoted' DESC, v.version DESC LIMIT 1",
			"tii", item->name, item->id, item->version),
		previous, err);
}

static void write_diff(struct json_writer *w, const struct spec *before,
	const struct item *previous, const struct spec *after, const struct item *item)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	char names[2][100];

	json_key(w, "diff");
	if (before) {
		snprintf(names[0], sizeof names[0], "%s@%" PRId64, previous->name,
			previous->version);
		snprintf(names[1], sizeof names[1], "%s@%" PRId64, item->name, item->version);
		diff_unified(before->implementation, before->implementation_length,
			after->implementation, after->implementation_length, names[0], names[1],
			&text);
	}
	json_bytes(w, text.length ? text.data : "", text.length);
	w->out->failed |= text.failed;
}

int show_tool(struct store *s, const struct item *item, struct json_writer *w, struct error *err)
{
	struct spec after, before = { .timeout_s = 0 };
	struct item previous = { .id = 0 };
	int status;

	if (versions_spec(s, item->id, &after, err) < 0)
		return -1;
	status = find_previous(s, item, &previous, err);
	if (status > 0)
		status = versions_spec(s, previous.id, &before, err);
	if (status == 0)
		status = item_write(s, item->id, w, err);
	if (status == 0) {
		json_key(w, "spec");
		json_raw(w, after.canonical.data, after.canonical.length);
		json_key(w, "previous");
		if (previous.id) {
			json_open_object(w);
			json_key(w, "version");
			json_integer(w, previous.version);
			json_key(w, "hash");
			json_string(w, previous.hash);
			json_close_object(w);
		} else {
			json_null(w);
		}
		status = write_capabilities(
			s, previous.id ? &before : NULL, previous.id, &after, item->id, w, err);
		write_diff(w, previous.id ? &before : NULL, &previous, &after, item);
	}
	if (status == 0)
		status = write_runs(s, item->id, w, err);
	spec_free(&after);
	spec_free(&before);
	return status;
}

int show_history(struct store *s, const char *name, struct json_writer *w, struct error *err)
{
	static const char *const TEXTS[] = { "name", "hash", "decision", "by", "reason" };
	sqlite3_stmt *rows;
	int status;

	if (!s->db)
		return 0;
	rows = store_query(s, err,
		"SELECT name, hash, decision, decided_by, reason, time, version FROM decisions "
		"WHERE ?1 IS NULL OR name = ?1 ORDER BY id DESC LIMIT ?2",
		"ti", name, (int64_t)HISTORY_SHOWN);
	while ((status = rows ? store_step(s, rows, err) : -1) > 0) {
		json_open_object(w);
		json_key(w, "time");
		item_write_time(w, sqlite3_column_int64(rows, 5));
		json_key(w, "user");
		json_string(w, s->user);
		json_key(w, "version");
		json_integer(w, sqlite3_column_int64(rows, 6));
		for (int i = 0; i < 5; i++) {
			json_key(w, TEXTS[i]);
			if (sqlite3_column_type(rows, i) == SQLITE_NULL)
				json_null(w);
			else
				json_bytes(w, sqlite3_column_text(rows, i),
					(size_t)sqlite3_column_bytes(rows, i));
		}
		json_close_object(w);
	}
	sqlite3_finalize(rows);
	return status;
}

/* ---- source diff ---- */

/*
 * A unified diff.
 *
 * What is equal at both ends is taken off; what is left goes through Myers' greedy algorithm (An
 * O(ND) Difference Algorithm and Its Variations, 1986), which keeps the furthest points of each
 * round to walk back along them. Rounds are bounded. The result is one array that says of each line
 * of both texts whether it stays.
 */

#define ROUNDS_MAX 1500
#define AROUND 3

struct line {
	const char *text;
	size_t length;
};

struct lines {
	struct line *items;
	bool *changed;
	int count;
	bool ends_bare; /* the last one has no newline */
};

static bool split(struct lines *l, const char *text, size_t length)
{
	int count = 1;

	for (size_t i = 0; i < length; i++)
		count += text[i] == '\n';
	l->items = calloc((size_t)count, sizeof *l->items);
	l->changed = calloc((size_t)count, sizeof *l->changed);
	if (!l->items || !l->changed)
		return false;
	for (size_t at = 0; at < length;) {
		const char *newline = memchr(text + at, '\n', length - at);
		size_t size = newline ? (size_t)(newline - text) - at : length - at;

		l->items[l->count++] = (struct line){ text + at, size };
		l->ends_bare = !newline;
		at += size + 1;
	}
	return true;
}

static bool is_equal(const struct lines *a, int i, const struct lines *b, int j)
{
	bool bare = (a->ends_bare && i == a->count - 1) != (b->ends_bare && j == b->count - 1);

	return !bare && a->items[i].length == b->items[j].length &&
		memcmp(a->items[i].text, b->items[j].text, a->items[i].length) == 0;
}

/*
 * One round: the furthest points of d changes from those of d - 1. Returns whether the end was
 * reached.
 */
static bool go_further(const struct lines *a, const struct lines *b, int from, int n, int m,
	const int *v, int *next, int d)
{
	for (int k = -d; k <= d; k += 2) {
		int x = d == 0                                       ? 0
			: k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1]
								     : v[k - 1] + 1,
		    y = x - k;

		while (x < n && y >= 0 && y < m && is_equal(a, from + x, b, from + y)) {
			x++;
			y++;
		}
		next[k] = x;
		if (x >= n && y >= m)
			return true;
	}
	return false;
}

/*
 * Marks what changed, from the end back along the rounds. A round is held with its middle at its
 * number plus one.
 */
static void walk_back(
	struct lines *a, struct lines *b, int from, int x, int y, int *const *rounds, int round)
{
	for (; round > 0; round--) {
		const int *v = rounds[round - 1] + round;
		int k = x - y;
		bool down = k == -round || (k != round && v[k - 1] < v[k + 1]);
		int before = down ? k + 1 : k - 1;

		x = v[before];
		y = x - before;
		if (down)
			b->changed[from + y] = true;
		else
			a->changed[from + x] = true;
	}
}

static bool compare_middle(struct lines *a, struct lines *b, int from, int n, int m)
{
	int *rounds[ROUNDS_MAX] = { NULL }, d = 0;
	bool reached = false;

	for (; !reached && d < ROUNDS_MAX; d++) {
		rounds[d] = malloc((size_t)(2 * d + 3) * sizeof **rounds);
		if (!rounds[d])
			break;
		/* Points that no round has reached count as outside. */
		for (int i = 0; i < 2 * d + 3; i++)
			rounds[d][i] = -1;
		reached = go_further(
			a, b, from, n, m, d > 0 ? rounds[d - 1] + d : NULL, rounds[d] + d + 1, d);
	}
	if (reached)
		walk_back(a, b, from, n, m, rounds, d - 1);
	for (int i = 0; i < ROUNDS_MAX && rounds[i]; i++)
		free(rounds[i]);
	return reached;
}

static void compare(struct lines *a, struct lines *b)
{
	int from = 0, a_to = a->count, b_to = b->count;

	while (from < a_to && from < b_to && is_equal(a, from, b, from))
		from++;
	while (a_to > from && b_to > from && is_equal(a, a_to - 1, b, b_to - 1)) {
		a_to--;
		b_to--;
	}
	if (a_to - from > 0 && b_to - from > 0 &&
		compare_middle(a, b, from, a_to - from, b_to - from))
		return;
	memset(a->changed + from, 1, (size_t)(a_to - from));
	memset(b->changed + from, 1, (size_t)(b_to - from));
}

static void add_line(struct buffer *out, char mark, const struct lines *l, int i)
{
	buffer_add(out, &mark, 1);
	buffer_add(out, l->items[i].text, l->items[i].length);
	buffer_add_text(
		out, l->ends_bare && i == l->count - 1 ? "\n\\ No newline at end of file\n" : "\n");
}

static void write_hunk(const struct lines *a, const struct lines *b, int i, int i_end, int j,
	int j_end, struct buffer *out)
{
	buffer_printf(out, "@@ -%d,%d +%d,%d @@\n", i_end > i ? i + 1 : i, i_end - i,
		j_end > j ? j + 1 : j, j_end - j);
	while (i < i_end || j < j_end) {
		if (i < i_end && a->changed[i])
			add_line(out, '-', a, i++);
		else if (j < j_end && b->changed[j])
			add_line(out, '+', b, j++);
		else {
			add_line(out, ' ', a, i++);
			j++;
		}
	}
}

/*
 * Goes on behind a hunk that begins with a change at i, j: until more equal lines follow than two
 * hunks have around them.
 */
static void hunk_end(const struct lines *a, const struct lines *b, int *i, int *j)
{
	int equal = 0;

	while ((*i < a->count || *j < b->count) && equal <= 2 * AROUND) {
		if (*i < a->count && a->changed[*i]) {
			++*i;
			equal = 0;
		} else if (*j < b->count && b->changed[*j]) {
			++*j;
			equal = 0;
		} else {
			++*i;
			++*j;
			equal++;
		}
	}
	if (equal > AROUND) {
		*i -= equal - AROUND;
		*j -= equal - AROUND;
	}
}

void diff_unified(const char *old_text, size_t old_length, const char *new_text, size_t new_length,
	const char *old_name, const char *new_name, struct buffer *out)
{
	struct lines a = { .count = 0 }, b = { .count = 0 };
	bool has_head = false;

	if (!split(&a, old_text, old_length) || !split(&b, new_text, new_length)) {
		out->failed = true;
	} else {
		compare(&a, &b);
		for (int i = 0, j = 0; i < a.count || j < b.count;) {
			if ((i < a.count && a.changed[i]) || (j < b.count && b.changed[j])) {
				int before = i < j ? i : j, i_end = i, j_end = j;

				before = before < AROUND ? before : AROUND;
				hunk_end(&a, &b, &i_end, &j_end);
				if (!has_head)
					buffer_printf(out, "--- %s\n+++ %s\n", old_name, new_name);
				has_head = true;
				write_hunk(&a, &b, i - before, i_end, j - before, j_end, out);
				i = i_end;
				j = j_end;
			} else {
				i++;
				j++;
			}
		}
	}
	free(a.items);
	free(a.changed);
	free(b.items);
	free(b.changed);
}
