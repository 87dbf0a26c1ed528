/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be done with tools, each as one function from JSON to JSON: the same for the command
 * line, which calls it in its own process, and for the daemon, which does in a worker.
 *
 * An action checks everything that it was given, asks authority_check(), opens one library, and
 * answers after what it wrote is on the disk. Its events are written after that, too.
 */
#ifndef CORDON_ISOLATE_TOOLS_ACTION_H
#define CORDON_ISOLATE_TOOLS_ACTION_H

#include "isolate/base/json_write.h"
#include "isolate/tools/identity.h"
#include "isolate/tools/promotion.h"

struct action_request {
	const char *name;   /* "tool.spawn" */
	const char *params; /* a JSON object that passed a gate */
	size_t length;
	/* where libraries are (store_base); taken before the environment is the caller's */
	const char *base;
	struct authority authority;
	const char *execution_id; /* of a call; NULL: a fresh one */
	int control;              /* as in struct streams; -1: none */
	int events;               /* events go here, a line each; -1: nowhere */
	/* of a tool whose name is new to its library; threshold where nothing was said */
	enum tool_policy policy;
	int64_t threshold; /* and after how many calls; 0: the policy's own */
};

struct action_answer {
	struct buffer result; /* JSON: the result, when it succeeded */
	/* JSON: what belongs to a failure beside it (the record of a validation), or empty */
	struct buffer data;
	int status; /* what the command line ends with: 0, 1, 2 */
};

#define ACTION_ANSWER_INIT \
	{ \
		BUFFER_INIT, BUFFER_INIT, 0 \
	}

/* Whether there is such an action, and whether it may take its time (it runs code). */
bool action_exists(const char *name);
bool action_runs_code(const char *name);

/*
 * Performs it. Returns 0 with a result, or -1 with an error; a result with a status other than 0 is
 * about code that failed.
 */
int action_perform(const struct action_request *r, struct action_answer *answer, struct error *err);
void action_answer_free(struct action_answer *answer);

/*
 * The exit status for a failure of an action: 2 for what validation or the arguments refused, 64
 * for usage, 125 else.
 */
int action_exit_status(const struct error *err);

#endif
