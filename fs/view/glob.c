/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over paths. See glob.h.
 *
 * Both levels work alike: go forward, and on a mismatch return to the last star and let it take one
 * more. The last star is enough, since whatever an earlier one could take, the last can leave; that
 * is what bounds the steps.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/glob.h"

#include <string.h>

bool glob_is_literal(const char *pattern, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strchr("*?[\\", pattern[i]) && pattern[i])
			return false;
	return true;
}

/*
 * The set that begins after "[": whether byte is in it; *end is set past "]", or stays when there
 * is none.
 */
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

bool glob_component(
	const char *pattern, size_t pattern_length, const char *name, size_t name_length)
{
	const char *p = pattern, *p_end = pattern + pattern_length, *n = name,
		   *n_end = name + name_length;
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

/* The set that begins at "[": what is wrong with it, or NULL with *at on its "]". */
static const char *set_fault(const char **at)
{
	const char *first = *at + 1 + ((*at)[1] == '!' || (*at)[1] == '^'), *p = first;

	for (; *p && *p != '/' && (*p != ']' || p == first); p++)
		if (p[1] == '-' && p[2] && p[2] != ']' && p[2] != '/') {
			if ((unsigned char)p[2] < (unsigned char)*p)
				return "a range in [ ] that ends before it begins";
			p += 2;
		}
	if (*p != ']')
		return "a [ without its ] (\\[ is the byte itself)";
	*at = p;
	return NULL;
}

static const char *component_fault(const char *at, size_t length, bool resolved)
{
	if (length == 0)
		return "two slashes together";
	if (!resolved &&
		((length == 1 && at[0] == '.') || (length == 2 && at[0] == '.' && at[1] == '.')))
		return "a component of dots, which no object is called by";
	for (size_t i = 0; i + 1 < length; i++)
		if (at[i] == '*' && at[i + 1] == '*' && length > 2 && (i == 0 || at[i - 1] != '\\'))
			return "** as a part of a component; it stands for any number of whole "
			       "ones, as in **/*.key";
	return NULL;
}

const char *glob_fault(const char *pattern)
{
	const char *fault = NULL, *last = strrchr(pattern, '/'),
		   *at = pattern + (pattern[0] == '/');
	/*
	 * what is written out of an absolute one is resolved before it is matched, all but its last
	 * component
	 */
	bool resolved = pattern[0] == '/';

	if (pattern[0] == '~' && strchr(pattern, '/'))
		return "another user's home; write it out";
	for (; *at && !fault; at = after(at, component(at))) {
		size_t length = component(at);

		resolved &= glob_is_literal(at, length);
		fault = component_fault(at, length, resolved && last && at < last);
	}
	for (at = pattern; *at && !fault; at++) {
		if (*at == '{' || *at == '}')
			fault = "a brace; name each alternative with an option of its own (\\{ is "
				"the byte itself)";
		else if (*at == '\\' && (at[1] == '\0' || at[1] == '/'))
			fault = "a backslash with nothing to stand before";
		else if (*at == '\\')
			at++;
		else if (*at == '[')
			fault = set_fault(&at);
	}
	return fault;
}
