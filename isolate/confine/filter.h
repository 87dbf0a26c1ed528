/* SPDX-License-Identifier: Apache-2.0 */
/* Installs one of the system call filters that were compiled at build time (see seccomp_generate.c). */
#ifndef CORDON_ISOLATE_CONFINE_FILTER_H
#define CORDON_ISOLATE_CONFINE_FILTER_H

#include "isolate/confine/limits.h"
#include "isolate/error.h"

/*
 * Puts the calling thread, and what it starts, under the profile's filter: seccomp(2). no_new_privs must be set. Cannot be undone. Returns 0 or
 * -1 with SECCOMP_DENIED. Async-signal-safe when err is NULL.
 */
int filter_install(enum seccomp_profile profile, struct error *err);

/* The profile's name in the record ("body"); "none" for PROFILE_NONE and what is out of range. Static string. */
const char *filter_name(enum seccomp_profile profile);

#endif
