/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as lines of JSON: out of one, into another.
 *
 * Each line is one version: {"cordon_tool":1,"hash":...,"state":...,"policy":...,"version":...,"threshold":...,"successes":...,"failures":...,"spec":{...}}. What comes in goes the way of
 * every specification: its hash is compared, and it starts in trial from zero, unless an operator says that what was promoted is to be promoted here, too. Its code is validated before
 * every call, so it is not run for being imported.
 */
#ifndef CORDON_ISOLATE_LIBRARY_TRANSFER_H
#define CORDON_ISOLATE_LIBRARY_TRANSFER_H

#include "isolate/library/versions.h"

/* Writes the lines of a library into an open array, after PRAGMA integrity_check. */
int transfer_export(struct store *s, struct json_writer *w, struct error *err);

/*
 * Takes one line, with the authority of who. keep: a promoted version becomes promoted here, too, by a decision of who. Returns 1 when something was added, 0 when it was there already, or -1 with
 * SPEC_REFUSED or TOOL_REJECTED.
 */
int transfer_import(struct store *s, const char *line, size_t length, bool keep, const char *who, struct error *err);

#endif
