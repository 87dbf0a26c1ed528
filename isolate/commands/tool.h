/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon tool`: what its files share. */
#ifndef CORDON_ISOLATE_COMMANDS_TOOL_H
#define CORDON_ISOLATE_COMMANDS_TOOL_H

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"
#include "isolate/options/options.h"

/* An answer to a request, from this process or the daemon. */
struct tool_answer {
	struct buffer result;  /* JSON; empty when it failed */
	struct buffer failure; /* JSON: the data of a failure, or empty */
	struct error error;
	int status; /* of the command */
};

/*
 * Performs "tool.spawn" and its like with params (a JSON object), in this process or through the
 * daemon, as the options say. Returns 0 or -1.
 */
int tool_ask(const char *method, const struct options *o, const struct buffer *params,
	struct tool_answer *answer);
void tool_answer_free(struct tool_answer *answer);

/*
 * Whether a daemon answers at socket_path (NULL: the default one) within a fifth of a second and
 * has the libraries that this process has.
 */
bool tool_daemon_serves(const char *socket_path);

/* Print a result for people, whatever it holds made visible. Return the exit status. */
int tool_print_item(const struct buffer *result);
int tool_print_list(const struct buffer *result, const char *key);
int tool_print_shown(const struct buffer *result);
int tool_print_history(const struct buffer *result);
int tool_print_numbers(const struct buffer *result);

#endif
