/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions about tools: the questions that come before them.
 *
 * An approval takes two steps, the second of which cannot be typed by chance: the beginning of the hash that is on the screen, or for several the count of them. It is possible only for what was
 * read to its end, here, in the version that it is about. A question names all that it is about, and is not asked where that has no room. Keys that were typed before a question was there, or within half a second of it, do nothing, and whatever else is answered is a no.
 */
#ifndef CORDON_TUI_VIEWS_DECIDE_H
#define CORDON_TUI_VIEWS_DECIDE_H

#include "tui/model/console.h"

/* Each asks about one version, or with NULL about those that are marked. */
void decide_approve(struct console *c, const struct tool *tool);
void decide_reject(struct console *c, const struct tool *tool);

/* Takes the last decision on a version back. */
void decide_revoke(struct console *c, const struct tool *tool);

#endif
