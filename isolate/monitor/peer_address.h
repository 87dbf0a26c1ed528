/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a call would send something: the address of a connect(2), sendto(2), sendmsg(2) or
 * sendmmsg(2) that waits for its answer.
 *
 * Asked only of sandboxes with a network of their own, where the kernel has no route but to the
 * sandbox itself. So this informs and does not hold: the kernel refuses whatever was read here, and
 * an address that is put in place of another after it was read comes to nothing either, and is
 * found in the kernel's count.
 */
#ifndef CORDON_ISOLATE_MONITOR_PEER_ADDRESS_H
#define CORDON_ISOLATE_MONITOR_PEER_ADDRESS_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer_address {
	char host[64]; /* numbers, as inet_ntop(3) writes them */
	uint16_t port;
};

/*
 * Reads the address of a call that was notified. Returns true when the socket would go by it and it
 * is not the sandbox's own (127.0.0.0/8, 0.0.0.0, ::1, ::, multicast): nothing outside has a route,
 * so it is refused. False for all else, also for what cannot be read, where the process may not be
 * traced. What is read is only true if the notification is valid afterwards. May wait.
 */
bool peer_address_read(const struct seccomp_notif *call, struct peer_address *out);

#endif
