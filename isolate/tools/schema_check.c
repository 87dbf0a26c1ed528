/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a document with a schema. See schema.h.
 *
 * One function a kind of value, each a list of comparisons. What is tried only to see whether it
 * fits (anyOf, oneOf, not) is tried quietly. Every schema that meets a value is a step, and so is
 * every value that is compared whole; when the steps, or the depth of references, are used up the
 * answer is no.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/schema.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "isolate/tools/schema_tree.h"
#include "isolate/base/clock.h"

#define STEPS_MAX 5000000
#define CLOCK_STEPS 1024 /* between two looks at the clock */
#define DEPTH_MAX 1200
#define VIOLATIONS_MAX 8
#define MATCH_LIMIT 500000
#define MATCH_DEPTH 5000
#define MATCH_HEAP_KIB 16384

struct place {
	const struct place *up;
	const struct json_node *key;
	uint32_t index;
};

struct check {
	const struct json_tree *tree;
	struct buffer *why;
	pcre2_match_context *match;
	unsigned violations, quiet, depth;
	uint64_t steps;
	int64_t until_us; /* on CLOCK_MONOTONIC */
	bool spent, no_memory;
};

static bool check_value(
	struct check *c, const struct schema *s, uint32_t node, const struct place *p);

static void add_place(struct buffer *out, const struct place *p)
{
	if (!p->up)
		return;
	add_place(out, p->up);
	if (p->key)
		buffer_printf(out, "/%.*s", (int)(p->key->length < 60 ? p->key->length : 60),
			p->key->bytes);
	else
		buffer_printf(out, "/%u", p->index);
}

/* Appends a violation, unless the check is quiet. Returns false. */
__attribute__((format(printf, 3, 4))) static bool wrong(
	struct check *c, const struct place *p, const char *format, ...)
{
	char what[160];
	va_list args;

	if (c->quiet || c->violations >= VIOLATIONS_MAX)
		return false;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	buffer_add_text(c->why, c->violations++ ? "; " : "");
	if (!p->up)
		buffer_add_text(c->why, "the whole");
	add_place(c->why, p);
	buffer_printf(c->why, ": %s", what);
	return false;
}

/* Counts work, and looks at the clock now and then. Returns whether it may go on. */
static bool charge(struct check *c, uint64_t steps)
{
	uint64_t before = c->steps;

	c->steps += steps;
	return c->steps <= STEPS_MAX &&
		(before / CLOCK_STEPS == c->steps / CLOCK_STEPS || clock_now_us() < c->until_us);
}

/* Returns false, and says so once, when there was too much work. */
static bool spend(struct check *c, uint64_t steps, const struct place *p)
{
	if (c->spent)
		return false;
	if (charge(c, steps) && c->depth <= DEPTH_MAX)
		return true;
	c->spent = true;
	c->quiet = 0;
	return wrong(c, p, "checking this against its schema takes too long");
}

/* ---- the parts ---- */

static bool check_types(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	static const char *const NAMES[] = { "null", "boolean", "boolean", "number", "string",
		"array", "object" };
	struct json_number number;

	(void)node;
	if (!s->types || (s->types & 1u << value->kind))
		return true;
	if (value->kind == JSON_NUMBER && (s->types & TYPE_INTEGER)) {
		number = json_read_number(value->raw);
		return number.is_whole || fabs(number.real) >= 0x1p53 ||
			wrong(c, p, "must be a whole number");
	}
	for (unsigned kind = 0; kind <= JSON_OBJECT; kind++)
		if (s->types == 1u << kind || (kind == JSON_TRUE && s->types == TYPE_BOOLEAN))
			return wrong(c, p, "is of type %s and must be of type %s",
				NAMES[value->kind], NAMES[kind]);
	return wrong(c, p, "is of type %s, which is none of those allowed", NAMES[value->kind]);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, *(char *const *)b);
}

static bool is_among(
	struct check *c, const struct schema_values *values, uint32_t node, const struct place *p)
{
	struct buffer text = BUFFER_INIT;
	bool found;

	if (!spend(c, c->tree->nodes[node].end - node, p))
		return false;
	json_tree_normal(c->tree, node, &text);
	c->no_memory |= text.failed;
	found = text.length > 0 &&
		bsearch(text.data, values->texts, values->count, sizeof *values->texts,
			compare_texts);
	buffer_free(&text);
	return found;
}

static bool check_values(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	bool good = true;

	(void)value;
	if (s->values.present && !is_among(c, &s->values, node, p))
		good = wrong(c, p, "is none of the %u values allowed", s->values.count);
	if (s->constant.present && !is_among(c, &s->constant, node, p))
		good = wrong(c, p, "is not the one value allowed");
	return good;
}

static int compare_numbers(struct json_number a, struct json_number b)
{
	if (a.is_whole && b.is_whole)
		return (a.whole > b.whole) - (a.whole < b.whole);
	return (a.real > b.real) - (a.real < b.real);
}

/*
 * Fractions are rounded to doubles, and so is their product: as good as a multiple is a value that
 * differs by no more than that.
 */
static bool is_multiple(struct json_number value, struct json_number divisor)
{
	double times = nearbyint(value.real / divisor.real);

	if (value.is_whole && divisor.is_whole)
		return value.whole % divisor.whole == 0;
	if (fabs(times) >= 0x1p53)
		return fpclassify(fmod(value.real, divisor.real)) == FP_ZERO;
	return fabs(times * divisor.real - value.real) <= 2 * DBL_EPSILON * fabs(value.real);
}

static bool check_number(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	const struct {
		const struct schema_bound *bound;
		int low, high;
		const char *words;
	} ROWS[] = {
		{ &s->minimum, 0, 1, "is below the minimum" },
		{ &s->maximum, -1, 0, "is above the maximum" },
		{ &s->above, 1, 1, "is not above the exclusive minimum" },
		{ &s->below, -1, -1, "is not below the exclusive maximum" },
	};
	struct json_number number;
	bool good = true;

	(void)node;
	if (value->kind != JSON_NUMBER)
		return true;
	number = json_read_number(value->raw);
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
		int order = ROWS[i].bound->present ? compare_numbers(number, ROWS[i].bound->value)
						   : ROWS[i].low;

		if (order < ROWS[i].low || order > ROWS[i].high)
			good = wrong(c, p, "%s", ROWS[i].words);
	}
	if (s->divisor.present && !is_multiple(number, s->divisor.value))
		good = wrong(c, p, "is not a multiple of what it must be a multiple of");
	return good;
}

static bool check_count(struct check *c, uint64_t count, uint64_t least, uint64_t most,
	const char *what, const struct place *p)
{
	if (least != NO_COUNT && count < least)
		return wrong(c, p, "has %" PRIu64 " %s and must have at least %" PRIu64, count,
			what, least);
	if (most != NO_COUNT && count > most)
		return wrong(c, p, "has %" PRIu64 " %s and must have at most %" PRIu64, count, what,
			most);
	return true;
}

/*
 * pcre2callout(3): before each item of a pattern, at each place where it is tried. Ends a match
 * that costs too much.
 */
static int charge_match(pcre2_callout_block *block, void *context)
{
	(void)block;
	return charge(context, 1) ? 0 : PCRE2_ERROR_CALLOUT;
}

static bool check_pattern(struct check *c, const struct schema *s, const struct json_node *value,
	const struct place *p)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int found = PCRE2_ERROR_NOMEMORY;

	/* Some items go through the whole text at one call. */
	if (!charge(c, value->length))
		found = PCRE2_ERROR_CALLOUT;
	else if (data)
		found = pcre2_match(s->pattern, (PCRE2_SPTR)value->bytes, value->length, 0,
			PCRE2_NO_UTF_CHECK, data, c->match);
	else
		c->no_memory = true;
	pcre2_match_data_free(data);
	if (found >= 0)
		return true;
	if (found == PCRE2_ERROR_NOMATCH)
		return wrong(c, p, "does not match the pattern %.*s",
			(int)(s->pattern_text->length < 80 ? s->pattern_text->length : 80),
			s->pattern_text->bytes);
	c->spent = true;
	c->quiet = 0;
	return wrong(c, p, "matching it against its pattern takes too long");
}

static bool check_string(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	uint64_t characters = 0;
	bool good = true;

	(void)node;
	if (value->kind != JSON_STRING)
		return true;
	if (s->min_length != NO_COUNT || s->max_length != NO_COUNT) {
		for (uint32_t i = 0; i < value->length; i++)
			characters += ((unsigned char)value->bytes[i] & 0xc0) != 0x80;
		good = check_count(c, characters, s->min_length, s->max_length, "characters", p);
	}
	return (!s->pattern || check_pattern(c, s, value, p)) && good;
}

static int compare_owned(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool are_unique(
	struct check *c, const struct json_node *value, uint32_t node, const struct place *p)
{
	char **texts;
	uint32_t count = 0;
	bool unique = true;

	if (!spend(c, (uint64_t)(value->end - node) * 2, p))
		return false;
	texts = calloc(value->count + 1, sizeof *texts);
	for (uint32_t at = node + 1; texts && at < value->end; at = c->tree->nodes[at].end) {
		struct buffer text = BUFFER_INIT;

		json_tree_normal(c->tree, at, &text);
		if (text.failed || !text.data) {
			c->no_memory = true;
			buffer_free(&text);
			break;
		}
		texts[count++] = text.data;
	}
	c->no_memory |= !texts;
	if (texts)
		qsort(texts, count, sizeof *texts, compare_owned);
	for (uint32_t i = 0; i < count; i++) {
		unique &= i == 0 || strcmp(texts[i - 1], texts[i]) != 0;
		if (i > 0)
			free(texts[i - 1]);
	}
	if (count > 0)
		free(texts[count - 1]);
	free(texts);
	return unique || wrong(c, p, "has an item twice");
}

static bool check_array(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	uint32_t index = 0;
	bool good;

	if (value->kind != JSON_ARRAY)
		return true;
	good = check_count(c, value->count, s->min_items, s->max_items, "items", p);
	for (uint32_t at = node + 1; at < value->end && !c->spent;
		at = c->tree->nodes[at].end, index++) {
		const struct schema *item =
			index < s->prefix.count ? s->prefix.items[index] : s->items;
		const struct place here = { p, NULL, index };

		if (item)
			good &= check_value(c, item, at, &here);
	}
	return (!s->unique || are_unique(c, value, node, p)) && good;
}

static int compare_name(const void *a, const void *b)
{
	return json_tree_compare(a, *(const struct json_node *const *)b);
}

static int compare_members(const void *a, const void *b)
{
	return json_tree_compare(
		*(const struct json_node *const *)a, *(const struct json_node *const *)b);
}

/*
 * Whether every required name is there. Both lists are sorted, so that thousands of names cost no
 * more than sorting.
 */
static bool check_required(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	const struct json_node **present;
	uint32_t count = 0, at = 0;
	bool good = true;

	if (s->required.count == 0)
		return true;
	present = calloc(value->count + 1, sizeof *present);
	if (!present) {
		c->no_memory = true;
		return false;
	}
	for (uint32_t key = node + 1; key < value->end; key = c->tree->nodes[key + 1].end)
		present[count++] = &c->tree->nodes[key];
	qsort(present, count, sizeof *present, compare_members);
	for (uint32_t i = 0; i < s->required.count; i++) {
		const struct json_node *name = s->required.names[i];

		while (at < count && json_tree_compare(present[at], name) < 0)
			at++;
		if (at == count || json_tree_compare(present[at], name) != 0)
			good = wrong(c, p, "\"%.*s\" is required and missing",
				(int)(name->length < 60 ? name->length : 60), name->bytes);
	}
	free(present);
	return good;
}

static bool check_object(struct check *c, const struct schema *s, const struct json_node *value,
	uint32_t node, const struct place *p)
{
	bool good;

	if (value->kind != JSON_OBJECT)
		return true;
	good = check_count(c, value->count, s->min_properties, s->max_properties, "members", p);
	good &= check_required(c, s, value, node, p);
	for (uint32_t key = node + 1; key < value->end && !c->spent;
		key = c->tree->nodes[key + 1].end) {
		const struct json_node *name = &c->tree->nodes[key];
		const struct json_node **found = NULL;
		const struct place here = { p, name, 0 };

		if (s->properties.count > 0)
			found = bsearch(name, s->properties.names, s->properties.count,
				sizeof *found, compare_name);
		if (found)
			good &= check_value(c, s->properties.schemas[found - s->properties.names],
				key + 1, &here);
		else if (s->additional && s->additional->never)
			good = wrong(c, &here, "there is no such parameter");
		else if (s->additional)
			good &= check_value(c, s->additional, key + 1, &here);
	}
	return good;
}

/* How many of a list fit, tried quietly. */
static uint32_t count_fitting(struct check *c, const struct schema_list *list, uint32_t node,
	const struct place *p, uint32_t enough)
{
	uint32_t fitting = 0;

	c->quiet++;
	for (uint32_t i = 0; i < list->count && fitting < enough && !c->spent; i++)
		fitting += check_value(c, list->items[i], node, p);
	if (c->quiet > 0)
		c->quiet--;
	return c->spent ? 0 : fitting;
}

static bool check_combinations(struct check *c, const struct schema *s,
	const struct json_node *value, uint32_t node, const struct place *p)
{
	bool good = true;
	uint32_t fitting;

	(void)value;
	for (uint32_t i = 0; i < s->all_of.count; i++)
		good &= check_value(c, s->all_of.items[i], node, p);
	if (s->any_of.count > 0 && count_fitting(c, &s->any_of, node, p, 1) == 0)
		good = !c->spent &&
			wrong(c, p, "fits none of the %u alternatives", s->any_of.count);
	if (s->one_of.count > 0 && (fitting = count_fitting(c, &s->one_of, node, p, 2)) != 1)
		good = !c->spent &&
			wrong(c, p,
				fitting ? "fits more than one of the %u alternatives, and must fit "
					  "one"
					: "fits none of the %u alternatives",
				s->one_of.count);
	if (s->not_this) {
		struct schema *alone[] = { s->not_this };
		const struct schema_list list = { alone, 1 };

		if (count_fitting(c, &list, node, p, 1) > 0)
			good = wrong(c, p, "is what it must not be");
	}
	if (s->reference)
		good &= check_value(c, s->reference, node, p);
	return good && !c->spent;
}

static bool check_value(
	struct check *c, const struct schema *s, uint32_t node, const struct place *p)
{
	static bool (*const PARTS[])(struct check *, const struct schema *,
		const struct json_node *, uint32_t, const struct place *) = {
		check_types,
		check_values,
		check_number,
		check_string,
		check_array,
		check_object,
		check_combinations,
	};
	const struct json_node *value = &c->tree->nodes[node];
	bool good = true;

	c->depth++;
	if (!spend(c, 1, p))
		good = false;
	else if (s->never)
		good = wrong(c, p, "nothing is allowed here");
	for (size_t i = 0; good && !s->never && i < sizeof PARTS / sizeof *PARTS; i++)
		good = PARTS[i](c, s, value, node, p);
	c->depth--;
	return good && !c->spent && !c->no_memory;
}

int schema_check(const struct schema_set *s, const struct json_tree *document, double seconds,
	struct buffer *why)
{
	struct check c = {
		.tree = document, .why = why, .until_us = clock_now_us() + (int64_t)(seconds * 1e6)
	};
	const struct place root = { NULL, NULL, 0 };
	bool good;

	c.match = pcre2_match_context_create(NULL);
	if (!c.match)
		return -1;
	pcre2_set_callout(c.match, charge_match, &c);
	pcre2_set_match_limit(c.match, MATCH_LIMIT);
	pcre2_set_depth_limit(c.match, MATCH_DEPTH);
	pcre2_set_heap_limit(c.match, MATCH_HEAP_KIB);
	good = check_value(&c, s->root, 0, &root);
	pcre2_match_context_free(c.match);
	if (c.no_memory || why->failed)
		return -1;
	return good ? SCHEMA_OK : SCHEMA_REFUSED;
}
