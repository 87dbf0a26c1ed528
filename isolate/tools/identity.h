/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that become parts of paths, rows and messages, checked before anything touches the disk;
 * and what their owners may do.
 */
#ifndef CORDON_ISOLATE_TOOLS_IDENTITY_H
#define CORDON_ISOLATE_TOOLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "isolate/base/error.h"

#define IDENTITY_MAX 64
#define IDENTITY_ROOM (IDENTITY_MAX + 1)

/*
 * Whether text is an id of a user, session or agent (what says which):
 * ^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$, in ASCII. Returns 0, or -1 with IDENTITY_REFUSED.
 */
int identity_check(const char *what, const char *text, size_t length, struct error *err);

/* The same for the name of a tool: ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$. */
int identity_check_tool(const char *text, size_t length, struct error *err);

/* The login name of a uid, or its number where there is none. Always NUL-terminated. */
void identity_login(uid_t uid, char *out, size_t size);

/*
 * The user whose library is meant by default: the login name of this process. Returns 0, or -1 with
 * IDENTITY_REFUSED when that is no id.
 */
int identity_default_user(char out[IDENTITY_ROOM], struct error *err);

/*
 * Who may do what with a library: the one place where that is decided.
 *
 * The caller names the actor and the scope; every action on a library passes authority_check before
 * anything is opened. At the control socket, and on the command line, that is the user whose files
 * these are (or root), with the scope operator. A token may carry the scope agent.
 */

enum scope { SCOPE_AGENT, SCOPE_OPERATOR };

struct authority {
	enum scope scope;
	char who[64]; /* a login name; for rows and events */
};

/*
 * The authority of a uid that the kernel vouches for: this process's own user and root are
 * operators, everybody else is an agent.
 */
struct authority authority_of_uid(unsigned uid);

/* Returns 0 when the scope suffices, or -1 with SCOPE_DENIED. action is what messages call it. */
int authority_check(
	const struct authority *a, enum scope needed, const char *action, struct error *err);

#endif
