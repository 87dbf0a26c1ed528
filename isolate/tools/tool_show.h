/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a library has, as JSON for people and programs: lists, one tool in all detail, the history.
 * Reads only.
 */
#ifndef CORDON_ISOLATE_TOOLS_TOOL_SHOW_H
#define CORDON_ISOLATE_TOOLS_TOOL_SHOW_H

#include "isolate/base/json_write.h"
#include "isolate/tools/versions.h"

/*
 * Writes the items of a library into an open array: every version that is current (the newest of
 * each name, and the promoted one); those that are pending, oldest first. Descriptions are cut to
 * 200 characters: a library holds thousands of tools, and show_tool has them whole.
 */
int show_current(struct store *s, struct json_writer *w, struct error *err);
int show_pending(struct store *s, struct json_writer *w, struct error *err);

/*
 * Writes the members of tool.show into an open object: the item, its specification, what changed
 * since the version promoted before, its runs.
 */
int show_tool(struct store *s, const struct item *item, struct json_writer *w, struct error *err);

/* Writes decisions into an open array, newest first; of one name, or of all when it is NULL. */
int show_history(struct store *s, const char *name, struct json_writer *w, struct error *err);

/* What changed between two texts, as people read it. Pure. */

/*
 * Appends a unified diff (three lines around each change) that leads from one text to the other;
 * nothing when they are equal. Its size is bounded by that of the two, and so is the work: texts
 * that differ in more than some thousand lines are shown as one block removed and one block added.
 */
void diff_unified(const char *old_text, size_t old_length, const char *new_text, size_t new_length,
	const char *old_name, const char *new_name, struct buffer *out);

/*
 * A library as lines of JSON: out of one, into another.
 *
 * Each line is one version:
 * {"cordon_tool":1,"hash":...,"state":...,"policy":...,"version":...,"threshold":...,
 *  "successes":...,"failures":...,"spec":{...}}.
 * What comes in goes the way of every specification: its hash is compared, its code is validated,
 * and it starts in trial from zero, unless an operator says that what was promoted is to be
 * promoted here, too. What is there already, in whatever version, is left as it is: importing twice
 * is the same as once.
 */

/* Writes the lines of a library into an open array, after PRAGMA integrity_check. */
int transfer_export(struct store *s, struct json_writer *w, struct error *err);

#define TRANSFER_REASON "imported as promoted"
#define TRANSFER_REJECTED_REASON "imported as rejected"

struct transfer {
	/*
	 * promoted versions become promoted here, decided by who; never one that was rejected here
	 * or that an operator replaced
	 */
	bool keep;
	const char *who;
	/* 0, or -1 with an error of its own, in err */
	int (*validate)(const struct spec *spec, void *context);
	void *context;
	struct item item; /* out: the version of the line */
	/*
	 * out: whether it was added; whether it was promoted, or rejected as it was where it comes
	 * from, by this
	 */
	bool is_new, promoted, rejected;
};

/* Takes one line. Returns 0, or -1 with SPEC_REFUSED, TOOL_REJECTED, or what validate says. */
int transfer_import(struct store *s, struct transfer *t, struct json_slice line, struct error *err);

#endif
