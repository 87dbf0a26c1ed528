/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What around cordon refuses a system call: the kernel says only EPERM or EACCES, and /proc says which filter or profile is in force.
 */
#ifndef CORDON_ISOLATE_SANDBOX_REFUSAL_H
#define CORDON_ISOLATE_SANDBOX_REFUSAL_H

#include "isolate/base/error.h"

/*
 * Gives a failure with a code of the kernel's refusals (USERNS_DENIED, MOUNT_DENIED, NETWORK_DENIED, SECCOMP_DENIED) the code
 * CALL_FILTERED or PROFILE_DENIED, where this process is under a filter or a profile and the errno is one that it gives.
 */
void refusal_explain(struct error *err);

#endif
