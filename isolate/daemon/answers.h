/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon says of itself. */
#ifndef CORDON_ISOLATE_DAEMON_ANSWERS_H
#define CORDON_ISOLATE_DAEMON_ANSWERS_H

#include "isolate/base/json_write.h"
#include "isolate/daemon/daemon.h"

/* The result of daemon.info. */
void answers_info(const struct server *s, struct buffer *out);

#endif
