/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what with a library: the one place where that is decided.
 *
 * Whoever calls says who acts and with which scope; every action on a library goes through authority_check before anything is opened. At the control socket, and on the command line, that is
 * the user whose files these are (or root), with the scope operator. A token may carry the scope agent.
 */
#ifndef CORDON_ISOLATE_TOOLS_AUTHORITY_H
#define CORDON_ISOLATE_TOOLS_AUTHORITY_H

#include "isolate/base/error.h"

enum scope { SCOPE_AGENT, SCOPE_OPERATOR };

struct authority {
	enum scope scope;
	char who[64];        /* a login name; for rows and events */
};

/* The authority of a uid that the kernel vouches for: this process's own user and root are operators, everybody else is an agent. */
struct authority authority_of_uid(unsigned uid);

/* Returns 0 when the scope suffices, or -1 with SCOPE_DENIED. action is what messages call it. */
int authority_check(const struct authority *a, enum scope needed, const char *action, struct error *err);

#endif
