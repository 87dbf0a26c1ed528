/* SPDX-License-Identifier: Apache-2.0 */
/* Installs one of the system call filters that were compiled at build time (see generate.c). */
#ifndef CORDON_ISOLATE_SECCOMP_FILTER_H
#define CORDON_ISOLATE_SECCOMP_FILTER_H

#include <linux/seccomp.h>
#include <stdbool.h>

#include "isolate/wire/limits.h"
#include "isolate/seccomp/watched_calls.h"
#include "isolate/base/error.h"

/*
 * Puts all threads of the calling process, and what they start, under the profile's filter:
 * seccomp(2). no_new_privs must be set. Cannot be undone. Returns 0 or -1 with SECCOMP_DENIED.
 * Async-signal-safe when err is NULL.
 */
int filter_install(enum seccomp_profile profile, struct error *err);

/*
 * The same, and what the filter refuses is notified on *listener (close-on-exec, the caller's): a
 * refused call waits for an answer there, and gets ENOSYS once the listener is gone. With
 * LIMIT_EVENTS so are the calls of watched_calls.def, those with an address only where nothing
 * outside can be reached. Without LIMIT_EVENTS and LIMIT_COUNT_REFUSALS, and where the kernel gives
 * no listener (another one stands above this process), the plain filter is installed and *listener
 * is -1.
 */
int filter_install_notifying(const struct confine_limits *limits, int *listener, struct error *err);

/*
 * What a call is that was notified under this profile: the one question that the answer depends on.
 * It is decided from what the kernel gives, the number and the ABI. Under another ABI than this
 * program's a number means another call, and the filter refuses them all.
 */
enum watched filter_watched(
	enum seccomp_profile profile, bool own_network, const struct seccomp_data *call);

/*
 * The name of a system call; "syscall_N" written to text (of 24 bytes at least) for one without,
 * and "foreign_N" under another ABI (architecture as in struct seccomp_data).
 */
const char *filter_call_name(uint32_t architecture, int number, char *text, unsigned size);

/*
 * The profile's name in the record ("body"); "none" for PROFILE_NONE and what is out of range.
 * Static string.
 */
const char *filter_name(enum seccomp_profile profile);

#endif
