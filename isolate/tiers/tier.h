/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tier: one backend behind the Sandbox protocol.
 *
 * A tier is a constant table of functions. The ones in this build are listed in tiers.c; a third party's is a shared object tier-NAME.so in the
 * directory of tiers that exports `const struct tier cordon_tier`. The rest of cordon knows a tier by nothing but this table, so one is added without
 * touching anything else.
 */
#ifndef CORDON_ISOLATE_TIERS_TIER_H
#define CORDON_ISOLATE_TIERS_TIER_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/error.h"
#include "isolate/options/options.h"
#include "isolate/wire/record.h"

#define TIER_INTERFACE 1

enum program_kind { PROGRAM_BODY, PROGRAM_SCRIPT, PROGRAM_COMMAND };

/* Source text and its mode, or a command. Borrowed by a tier for the time of a call. */
struct program {
	enum program_kind kind;
	const char *text;       /* body, script: any bytes */
	size_t length;
	const char *name;       /* script: its file name, for messages */
	char *const *argv;      /* command: NULL-terminated; script: its arguments, may be NULL */
};

/* Where an execution's streams go, and what reaches it meanwhile. -1 everywhere: captured into the result, stdin is /dev/null. */
struct streams {
	int in;          /* given to the program as it is, when the options open stdin */
	int out, err;    /* bytes are passed on to these as they come, besides nothing being kept; -1: kept in the result */
	int control;     /* read: each byte is a signal number to pass on to the program. Its end means nothing. */
	int terminal;    /* the caller's terminal, for --tty */
	int events;      /* events are written here (non-blocking), a line each; -1: to the file that the options name, if any */
};

/* What else a byte on control may be: CONTROL_CAUSE and an enum end_cause say why the SIGKILL comes that follows. */
enum { CONTROL_PAUSE = 128, CONTROL_RESUME = 129, CONTROL_CAUSE = 130 };

#define STREAMS_CAPTURE { -1, -1, -1, -1, -1, -1 }

enum execute_flags { EXECUTE_VALIDATE_ONLY = 1, EXECUTE_SKIP_VALIDATION = 2 /* for tests of the layers below */ };

struct tier {
	unsigned interface;      /* TIER_INTERFACE */
	const char *name;
	unsigned level;          /* 0 to 3, as in the design */
	const char *summary;     /* one sentence */
	/* Tries whether this host can have the tier, by doing it. 0, or -1 with the failure that `cordon run` would end with. */
	int (*probe)(struct error *err);
	/*
	 * Runs one program to its end. Fills result (result_init was called). Returns 0 with a record whatever the program did, or -1 with a failure of cordon's
	 * own. Thread-safe.
	 */
	int (*execute)(const struct options *options, const struct program *program, const struct streams *streams, unsigned flags,
		       struct result *result, struct error *err);
};

/* The tier of a name, or NULL with TIER_UNAVAILABLE, which lists those that exist. Lives as long as the process. */
const struct tier *tier_find(const char *name, struct error *err);

/* The tiers of this build, for listings. */
const struct tier *const *tier_list(size_t *count);

#endif
