/* SPDX-License-Identifier: Apache-2.0 */
/* What the requests of a client do. */
#ifndef CORDON_ISOLATE_DAEMON_REQUEST_H
#define CORDON_ISOLATE_DAEMON_REQUEST_H

#include "isolate/base/json_write.h"
#include "isolate/daemon/connection.h"
#include "isolate/daemon/daemon.h"
#include "isolate/daemon/protocol.h"

/*
 * Reads one line of a client, does what it asks for, and answers; an execution is answered when it
 * has ended. An empty line is no request.
 */
void request_take(struct connection *c, const char *line, size_t length);

/* Answers with a refusal. */
void request_refuse(struct connection *c, const struct protocol_request *r,
	const struct protocol_refusal *refusal);

/* The result of daemon.info: what the daemon says of itself. */
void request_info(const struct server *s, struct buffer *out);

#endif
