/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback link of a network namespace, by rtnetlink(7). */
#ifndef CORDON_NET_LOOPBACK_H
#define CORDON_NET_LOOPBACK_H

#include "isolate/base/error.h"

/*
 * Brings `lo` up in the calling process's network namespace (needs CAP_NET_ADMIN over it). Returns
 * 0, or -1 with NETWORK_DENIED.
 */
int loopback_up(struct error *err);

#endif
