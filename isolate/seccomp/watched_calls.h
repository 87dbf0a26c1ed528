/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call is about that a filter's listener is notified of. Bits, so that a filter can say
 * which it notifies.
 */
#ifndef CORDON_ISOLATE_SECCOMP_WATCHED_CALLS_H
#define CORDON_ISOLATE_SECCOMP_WATCHED_CALLS_H

enum watched {
	WATCHED_REFUSED = 0, /* the filter refuses it, and so must the answer */
	/* These are allowed (watched_calls.def). */
	WATCHED_PROCESS = 1, /* a process is new, or has become another program */
	WATCHED_ADDRESS = 2  /* it has an address to look at */
};

#endif
