/* SPDX-License-Identifier: Apache-2.0 */
/* Authority. See authority.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/authority.h"

#include <unistd.h>

#include "isolate/tools/identity.h"

struct authority authority_of_uid(unsigned uid)
{
	struct authority a = { .scope = uid == geteuid() || uid == 0 ? SCOPE_OPERATOR : SCOPE_AGENT };

	identity_login(uid, a.who, sizeof a.who);
	return a;
}

int authority_check(const struct authority *a, enum scope needed, const char *action, struct error *err)
{
	if (a->scope >= needed)
		return 0;
	return error_set(err, FAILURE_SCOPE_DENIED, 0, "%s by %s, who has the scope agent", action, a->who);
}
