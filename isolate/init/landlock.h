/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock scopes, for the tier without namespaces: landlock(7). */
#ifndef CORDON_ISOLATE_INIT_LANDLOCK_H
#define CORDON_ISOLATE_INIT_LANDLOCK_H

#include <stdint.h>

/*
 * From here on the calling process, and what it starts, can signal only each other and connect only to each other's abstract UNIX sockets. Needs
 * no_new_privs and Landlock ABI 6 (Linux 6.12); where the kernel has less, nothing is applied. Sets LAYER_LANDLOCK_SCOPE in *layers when it holds.
 */
void landlock_scope(uint32_t *layers);

/* The Landlock ABI version of this kernel, 0 when there is none. */
int landlock_version(void);

#endif
