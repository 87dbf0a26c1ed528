/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as lines of JSON: out of one, into another.
 *
 * Each line is one version: {"cordon_tool":1,"hash":...,"state":...,"policy":...,"version":...,"threshold":...,"successes":...,"failures":...,"spec":{...}}. What comes in goes the way of
 * every specification: its hash is compared, its code is validated, and it starts in trial from zero, unless an operator says that what was promoted is to be promoted here, too. What is
 * there already, in whatever version, is left as it is: importing twice is the same as once.
 */
#ifndef CORDON_ISOLATE_TOOLS_TRANSFER_H
#define CORDON_ISOLATE_TOOLS_TRANSFER_H

#include "isolate/tools/versions.h"

/* Writes the lines of a library into an open array, after PRAGMA integrity_check. */
int transfer_export(struct store *s, struct json_writer *w, struct error *err);

#define TRANSFER_REASON "imported as promoted"
#define TRANSFER_REJECTED_REASON "imported as rejected"

struct transfer {
	bool keep;                   /* promoted versions become promoted here, decided by who; never one that was rejected here or that an operator replaced */
	const char *who;
	int (*validate)(const struct spec *spec, void *context); /* 0, or -1 with an error of its own, in err */
	void *context;
	struct item item;            /* out: the version of the line */
	bool is_new, promoted, rejected; /* out: whether it was added; whether it was promoted, or rejected as it was where it comes from, by this */
};

/* Takes one line. Returns 0, or -1 with SPEC_REFUSED, TOOL_REJECTED, or what validate says. */
int transfer_import(struct store *s, struct transfer *t, const char *line, size_t length, struct error *err);

#endif
