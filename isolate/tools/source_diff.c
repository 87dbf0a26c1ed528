/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unified diff. See source_diff.h.
 *
 * What is equal at both ends is taken off; what is left goes through Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986), which keeps the furthest
 * points of each round to walk back along them. Rounds are bounded. The result is one array that says of each line of both texts whether it stays.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/source_diff.h"

#include <stdlib.h>
#include <string.h>

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
	bool ends_bare;          /* the last one has no newline */
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

	return !bare && a->items[i].length == b->items[j].length && memcmp(a->items[i].text, b->items[j].text, a->items[i].length) == 0;
}

/* One round: the furthest points of d changes from those of d - 1. Returns whether the end was reached. */
static bool go_further(const struct lines *a, const struct lines *b, int from, int n, int m, const int *v, int *next, int d)
{
	for (int k = -d; k <= d; k += 2) {
		int x = d == 0 ? 0 : k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1, y = x - k;

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

/* Marks what changed, from the end back along the rounds. A round is held with its middle at its number plus one. */
static void walk_back(struct lines *a, struct lines *b, int from, int x, int y, int *const *rounds, int round)
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
		reached = go_further(a, b, from, n, m, d > 0 ? rounds[d - 1] + d : NULL, rounds[d] + d + 1, d);
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
	if (a_to - from > 0 && b_to - from > 0 && compare_middle(a, b, from, a_to - from, b_to - from))
		return;
	memset(a->changed + from, 1, (size_t)(a_to - from));
	memset(b->changed + from, 1, (size_t)(b_to - from));
}

static void add_line(struct buffer *out, char mark, const struct lines *l, int i)
{
	buffer_add(out, &mark, 1);
	buffer_add(out, l->items[i].text, l->items[i].length);
	buffer_add_text(out, l->ends_bare && i == l->count - 1 ? "\n\\ No newline at end of file\n" : "\n");
}

static void write_hunk(const struct lines *a, const struct lines *b, int i, int i_end, int j, int j_end, struct buffer *out)
{
	buffer_printf(out, "@@ -%d,%d +%d,%d @@\n", i_end > i ? i + 1 : i, i_end - i, j_end > j ? j + 1 : j, j_end - j);
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

/* Goes on behind a hunk that begins with a change at i, j: until more equal lines follow than two hunks have around them. */
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

void diff_unified(const char *old_text, size_t old_length, const char *new_text, size_t new_length, const char *old_name, const char *new_name, struct buffer *out)
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
