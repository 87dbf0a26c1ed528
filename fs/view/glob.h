/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over paths: `*`, `?` and `[...]` within one component, `**` as a whole component for any
 * number of them, none included.
 *
 * Bytes, not characters: a name need not be UTF-8. Matching never recurses, allocates or takes more
 * than (length of pattern) x (length of path) steps, so a pattern cannot be made that is slow.
 */
#ifndef CORDON_FS_VIEW_GLOB_H
#define CORDON_FS_VIEW_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether one component matches. Neither has a slash. A backslash makes the next byte literal; an
 * unclosed bracket is literal too.
 */
bool glob_component(
	const char *pattern, size_t pattern_length, const char *name, size_t name_length);

/*
 * Whether a path matches as a whole. Both are components parted by single slashes, without one at
 * the start or end.
 */
bool glob_path(const char *pattern, const char *path);

/*
 * What is wrong with a pattern that a person wrote: NULL, or the end of a sentence ("has ..."). It
 * matches what it can all the same: this finds the slips by which a rule would match nothing, or
 * not what was meant.
 */
const char *glob_fault(const char *pattern);

/* Whether a pattern has no byte with a meaning of its own. */
bool glob_is_literal(const char *pattern, size_t length);

#endif
