/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files that belong to cordon's own installation. */
#ifndef CORDON_ISOLATE_BASE_LOCATE_H
#define CORDON_ISOLATE_BASE_LOCATE_H

#include <stddef.h>

#include "isolate/base/error.h"

enum own_file { OWN_INIT, OWN_RUNNER, OWN_VIEW, OWN_OPERATE };

/*
 * Writes the absolute path of one of our programs, or of the runner (_cordon.so), to path. Looked
 * for in $CORDON_LIBEXECDIR, beside the running executable (a build tree), and where `make install`
 * puts it. Returns 0, or -1 with HELPER_MISSING, which names each place tried.
 */
int locate(enum own_file which, char *path, size_t size, struct error *err);

#endif
