/* SPDX-License-Identifier: Apache-2.0 */
/* What an execution is asked for besides its options: the program, and where its streams go. */
#ifndef CORDON_ISOLATE_WIRE_EXECUTION_REQUEST_H
#define CORDON_ISOLATE_WIRE_EXECUTION_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/options/options.h"
#include "isolate/wire/record.h"

enum program_kind { PROGRAM_BODY, PROGRAM_SCRIPT, PROGRAM_COMMAND };

/* Source text and its mode, or a command. Borrowed by a tier for the time of a call. */
struct program {
	enum program_kind kind;
	const char *text; /* body, script: any bytes */
	size_t length;
	const char *name;  /* script: its file name, for messages */
	char *const *argv; /* command: NULL-terminated; script: its arguments, may be NULL */
};

/*
 * What a tier gives an execution of its own. Code below a tier asks for these, never for the tier.
 */
struct isolation {
	bool has_namespaces; /* user, mount, PID, IPC, UTS and, without --network allow, network */
	/* a root of mounts made for it; without one the host's files as they are */
	bool has_own_root;
};

/*
 * Hears of each file, host and refused system call that the events tell of, in the thread of the
 * execution.
 */
struct touch_watcher {
	/* kind is "files", "hosts" or "syscalls"; name is not terminated. */
	void (*touched)(
		void *context, const char *kind, bool refused, const char *name, size_t length);
	void *context;
};

/*
 * Where an execution's streams go, and what reaches it meanwhile. -1 everywhere: captured into the
 * record, stdin is /dev/null.
 */
struct streams {
	int in; /* given to the program as it is, when the options open stdin */
	/*
	 * bytes are passed on to these as they come, besides nothing being kept; -1: kept in the
	 * record
	 */
	int out, err;
	/* read: each byte is a signal number to pass on to the program. Its end means nothing. */
	int control;
	int terminal; /* the caller's terminal, for --tty */
	/*
	 * events are written here (non-blocking), a line each; -1: to the file that the options
	 * name, if any
	 */
	int events;
	const struct touch_watcher *watcher; /* NULL: none */
};

/*
 * What else a byte on control may be: CONTROL_CAUSE and an enum end_cause say why the SIGKILL comes
 * that follows.
 */
enum { CONTROL_PAUSE = 128, CONTROL_RESUME = 129, CONTROL_CAUSE = 130 };

#define STREAMS_CAPTURE \
	{ \
		-1, -1, -1, -1, -1, -1, NULL \
	}

enum execute_flags {
	EXECUTE_VALIDATE_ONLY = 1,
	EXECUTE_SKIP_VALIDATION = 2 /* for tests of the layers below */
};

#endif
