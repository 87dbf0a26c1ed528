/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over paths. See glob.h.
 *
 * Both levels work alike: go forward, and on a mismatch return to the last star and let it take one more. The last star is enough, since whatever an earlier
 * one could take, the last can leave; that is what bounds the steps.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/glob.h"

#include <string.h>

bool glob_is_literal(const char *pattern, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strchr("*?[\\", pattern[i]) && pattern[i])
			return false;
	return true;
}

/* The set that begins after "[": whether byte is in it; *end is set past "]", or stays when there is none. */
static bool in_set(const char *at, const char *stop, unsigned char byte, const char **end)
{
	bool negated = at < stop && (*at == '!' || *at == '^'), found = false;
	const char *first;

	at += negated;
	for (first = at; at < stop && (*at != ']' || at == first); at++) {
		unsigned char low = (unsigned char)*at, high = low;

		if (at + 2 < stop && at[1] == '-' && at[2] != ']') {
			high = (unsigned char)at[2];
			at += 2;
		}
		found |= byte >= low && byte <= high;
	}
	if (at < stop)
		*end = at + 1;
	return found != negated;
}

/* Whether the one-byte element at *at matches; moves *at past it when it does. */
static bool one(const char **at, const char *stop, unsigned char byte)
{
	const char *p = *at, *end = NULL;
	bool matched;

	if (p == stop)
		return false;
	if (*p == '[') {
		matched = in_set(p + 1, stop, byte, &end);
		if (end) {
			*at = end;
			return matched;
		}
	}
	if (*p == '\\' && p + 1 < stop)
		p++;
	else if (*p == '?') {
		*at = p + 1;
		return true;
	}
	*at = p + 1;
	return (unsigned char)*p == byte;
}

bool glob_component(const char *pattern, size_t pattern_length, const char *name, size_t name_length)
{
	const char *p = pattern, *p_end = pattern + pattern_length, *n = name, *n_end = name + name_length;
	const char *star = NULL, *taken = NULL;

	while (n < n_end) {
		const char *next = p;

		if (p < p_end && *p == '*') {
			star = ++p;
			taken = n;
		} else if (one(&next, p_end, (unsigned char)*n)) {
			p = next;
			n++;
		} else if (star) {
			p = star;
			n = ++taken;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

static size_t component(const char *at)
{
	return strcspn(at, "/");
}

static const char *after(const char *at, size_t length)
{
	return at + length + (at[length] == '/');
}

static bool is_double_star(const char *at, size_t length)
{
	return length == 2 && at[0] == '*' && at[1] == '*';
}

bool glob_path(const char *pattern, const char *path)
{
	const char *star = NULL, *taken = NULL;

	while (*path) {
		size_t p = component(pattern), n = component(path);

		if (*pattern && is_double_star(pattern, p)) {
			star = pattern = after(pattern, p);
			taken = path;
			if (!*pattern)
				return true;
		} else if (*pattern && glob_component(pattern, p, path, n)) {
			pattern = after(pattern, p);
			path = after(path, n);
		} else if (star) {
			pattern = star;
			path = taken = after(taken, component(taken));
		} else {
			return false;
		}
	}
	while (*pattern && is_double_star(pattern, component(pattern)))
		pattern = after(pattern, component(pattern));
	return !*pattern;
}
