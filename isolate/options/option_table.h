/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table as data: for the parser, and for everything that describes options (help, man
 * page, completion, the schema of profiles). Reading it needs nothing else of cordon, so the
 * build-time generators stay small.
 */
#ifndef CORDON_ISOLATE_OPTIONS_OPTION_TABLE_H
#define CORDON_ISOLATE_OPTIONS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/json_write.h"
#include "isolate/options/options.h"

enum option_kind {
	OPTION_FLAG,      /* bool */
	OPTION_TEXT,      /* char *, not empty */
	OPTION_SECONDS,   /* int64_t in microseconds; 0 = none */
	OPTION_MEGABYTES, /* int64_t in bytes */
	OPTION_COUNT,     /* int64_t */
	OPTION_NETWORK,   /* enum network_mode */
	OPTION_NAMES,     /* struct string_list, split at commas */
	OPTION_LIST,      /* struct string_list, one item a value */
	OPTION_VARIABLE,  /* struct string_list of environment names */
	OPTION_ENV,       /* struct string_list of "K=V"; a later K replaces an earlier */
	OPTION_BIND,      /* struct bind *, with its count */
	OPTION_SCRATCH,   /* the same list; its items are writable */
	OPTION_MASK,      /* struct string_list of "FILE=CONTENT" */
	OPTION_VIEW,      /* enum view_mode */
	OPTION_ARGS,      /* char *: JSON text; @FILE is read */
	OPTION_PROFILE,   /* no field: sets others */
	OPTION_HELP       /* no field */
};

/* A bit beside enum command_set in option_row.commands. */
enum { NOT_IN_PROFILE = 0x100 };

/* The most items that a list may have. */
enum { OPTION_ITEMS_MAX = 1024 };

struct option_row {
	const char *name;
	const char *argument; /* NULL for a flag */
	unsigned commands;    /* enum command_set bits, NOT_IN_PROFILE */
	enum option_kind kind;
	/* of the field in struct options; without meaning for OPTION_PROFILE and OPTION_HELP */
	size_t offset;
	double low, high;                        /* in the unit that the user types */
	const char *default_run, *default_other; /* NULL = empty */
	const char *help;
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* The row of a name (exact), or NULL. */
const struct option_row *option_find(const char *name);

/* The default of one command as text, or NULL. */
const char *option_default(const struct option_row *row, enum command_set command);

/*
 * The option of `commands` (bits; every one when 0) whose name is nearest to what was typed, or
 * NULL when none is near enough to be meant.
 */
const struct option_row *option_nearest(const char *typed, unsigned commands);

/*
 * Which numbers a row takes ("seconds from 0.001 to 1000000, or 0 for none"), in buffer; empty for
 * rows without numbers. Returns buffer.
 */
const char *option_range(const struct option_row *row, char *buffer, size_t size);

/* The names of the commands in a set ("run and exec"), in buffer. Returns buffer. */
const char *option_commands(unsigned commands, char *buffer, size_t size);

/*
 * Sets one row's field, whatever the command. value is NULL for a flag. Returns 0, or -1 with
 * BAD_OPTION, or, when a file that the value names cannot be read, PATH_MISSING. `command` is for
 * profiles.
 */
int option_apply(struct options *o, enum command_set command, const struct option_row *row,
	const char *value, struct error *err);

/*
 * The same for the kinds with numbers, in the unit that the user types. shown is how the messages
 * show the value.
 */
int option_apply_number(struct options *o, const struct option_row *row, double value,
	const char *shown, struct error *err);

/*
 * Adds a bind whose two paths are known apart (target may be NULL: the same place), or one written
 * as SRC[:DST]. The last ":/" parts the two, so that a source may hold colons when its place is
 * written out. Both copy; both return as option_apply.
 */
int option_apply_bind(struct options *o, const struct option_row *row, const char *source,
	const char *target, struct error *err);
int option_apply_bind_text(
	struct options *o, const struct option_row *row, const char *value, struct error *err);

/* Say "--NAME: ..." with BAD_OPTION, and that memory ran out. Return -1. */
int option_refuse(struct error *err, const struct option_row *row, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int option_no_memory(struct error *err);

/*
 * Options as a profile again: for the daemon, which runs on behalf of a command line, and for the
 * digest of a policy.
 */

/*
 * Writes every option that one command has and a profile may hold, defaults written out, as one
 * JSON object in the order of the table: equal options give equal text. options_profile reads it
 * back to the same options. Where the events go is left out: that is no property of an execution.
 * Returns false when a text among them is no UTF-8, so that no JSON can say it; it is then written
 * with U+FFFD.
 */
bool options_write(const struct options *o, enum command_set command, struct json_writer *w);

#endif
