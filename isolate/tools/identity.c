/* SPDX-License-Identifier: Apache-2.0 */
/* Names. See identity.h. The locale has no part in it: only these ASCII letters are letters. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/tools/identity.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/text.h"

static bool is_among(char c, const char *more)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr(more, c));
}

static int check(const char *what, const char *form, const char *first, const char *text,
	size_t length, struct error *err)
{
	bool good = length > 0 && length <= IDENTITY_MAX && is_among(text[0], first);
	char shown[100];

	for (size_t i = 1; good && i < length; i++)
		good = is_among(text[i], "0123456789_-");
	if (good)
		return 0;
	return error_set(err, FAILURE_IDENTITY_REFUSED, 0, "%s \"%s\" does not match %s", what,
		text_visible_into(shown, sizeof shown, text, length, TEXT_ONE_LINE), form);
}

int identity_check(const char *what, const char *text, size_t length, struct error *err)
{
	return check(what, "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$", "0123456789", text, length, err);
}

int identity_check_tool(const char *text, size_t length, struct error *err)
{
	return check("the tool's name", "^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$", "_", text, length, err);
}

void identity_login(uid_t uid, char *out, size_t size)
{
	char space[4096];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(uid, &entry, space, sizeof space, &found) == 0 && found && found->pw_name[0])
		snprintf(out, size, "%s", found->pw_name);
	else
		snprintf(out, size, "%u", (unsigned)uid);
}

int identity_default_user(char out[IDENTITY_ROOM], struct error *err)
{
	char name[256];

	identity_login(geteuid(), name, sizeof name);
	if (identity_check("the login name", name, strlen(name), err) < 0)
		return -1;
	memcpy(out, name, strlen(name) + 1);
	return 0;
}

/* ---- authority ---- */

struct authority authority_of_uid(unsigned uid)
{
	struct authority a = { .scope = uid == geteuid() || uid == 0 ? SCOPE_OPERATOR
								     : SCOPE_AGENT };

	identity_login(uid, a.who, sizeof a.who);
	return a;
}

int authority_check(
	const struct authority *a, enum scope needed, const char *action, struct error *err)
{
	if (a->scope >= needed)
		return 0;
	return error_set(
		err, FAILURE_SCOPE_DENIED, 0, "%s by %s, who has the scope agent", action, a->who);
}
