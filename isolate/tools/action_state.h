/* SPDX-License-Identifier: Apache-2.0 */
/* An action that is being performed: for the files that carry actions out. */
#ifndef CORDON_ISOLATE_TOOLS_ACTION_STATE_H
#define CORDON_ISOLATE_TOOLS_ACTION_STATE_H

#include "isolate/base/json_read.h"
#include "isolate/tools/action.h"
#include "isolate/tools/versions.h"
#include "isolate/tools/tool_record.h"

struct action_context {
	const struct action_request *request;
	struct action_answer *answer;
	struct error *err;
	struct json_slice params; /* an object that passed the gate */
	struct store store;
	struct json_writer w; /* over answer->result; an object is open */
	char user[IDENTITY_ROOM], name[IDENTITY_ROOM];
	bool all_users, has_name, has_policy, keep;
	/* the number of the first line of an import, for messages */
	int64_t first;
	struct reference reference;
	enum tool_policy policy;
	int64_t threshold;
	char *session, *agent, *reason, *cwd; /* owned; NULL: none */
};

/* Reads the parameters of the request. Returns 0, or -1 with BAD_OPTION or IDENTITY_REFUSED. */
int action_take_parameters(struct action_context *a);

/* BAD_OPTION for a parameter: "KEY must be WHAT". Returns -1. */
int action_bad(struct action_context *a, const char *key, const char *what);

/* An event with the fields that every event of this action has. */
struct tool_event action_event(const struct action_context *a, const struct item *item);

/* Emits one event to the descriptor of the request. */
void action_emit(const struct action_context *a, enum event_type type, const struct tool_event *t);

/*
 * Validates an implementation in a sandbox. Returns 0, or -1 with TOOL_REFUSED and the record in
 * the answer's data, or with what kept it from being validated.
 */
int action_validate(struct action_context *a, const struct spec *spec);

/* Writes the members of an item into the answer. Returns 0 or -1. */
int action_write_item(struct action_context *a, int64_t id);

int action_spawn(struct action_context *a);
int action_call(struct action_context *a);

#endif
