/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loopback link. See loopback.h.
 *
 * One RTM_NEWLINK through libnl: lo is always the first link of a namespace, index 1, and the
 * kernel gives it 127.0.0.1 and ::1 by itself when it comes up. The core of libnl is enough for
 * that, and it is small; libnl-route would double the start-up time of a sandbox.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "net/loopback.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>

#define LOOPBACK_INDEX 1

/* libnl has numbers of its own; the errno of a refusal shows what refused. */
static int errno_of(int code)
{
	static const struct {
		int code, error;
	} REFUSALS[] = {
		{ NLE_AF_NOSUPPORT, EAFNOSUPPORT },
		{ NLE_PERM, EPERM },
		{ NLE_NOACCESS, EACCES },
	};

	for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++)
		if (REFUSALS[i].code == -code)
			return REFUSALS[i].error;
	return 0;
}

int loopback_up(struct error *err)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC,
		.ifi_index = LOOPBACK_INDEX,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP };
	struct nl_sock *socket = nl_socket_alloc();
	int code, status = 0;

	if (!socket)
		return error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "bringing the loopback link up");
	code = nl_connect(socket, NETLINK_ROUTE);
	if (code == 0) {
		code = nl_send_simple(socket, RTM_NEWLINK, 0, &link, sizeof link);
		if (code >= 0)
			code = nl_wait_for_ack(socket);
	}
	if (code < 0)
		status = error_set(err, FAILURE_NETWORK_DENIED, errno_of(code),
			"bringing the loopback link up: %s", nl_geterror(code));
	nl_socket_free(socket);
	return status;
}
