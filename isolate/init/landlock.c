/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock scopes. See landlock.h.
 *
 * The structure and the two bits are written out here, because they are newer than the headers of the oldest distribution that cordon builds on; they are
 * fixed parts of the kernel's interface.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/init/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/wire/limits.h"

#define CREATE_RULESET_VERSION 1u
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)
#define ABI_WITH_SCOPES 6

struct ruleset_attributes {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return version < 0 ? 0 : (int)version;
}

void landlock_scope(uint32_t *layers)
{
	const struct ruleset_attributes attributes = { 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL };
	int fd;

	if (landlock_version() < ABI_WITH_SCOPES)
		return;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (fd < 0)
		return;
	if (syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		*layers |= LAYER_LANDLOCK_SCOPE;
	close(fd);
}
