/* SPDX-License-Identifier: Apache-2.0 */
/* Options as a profile again: for the daemon, which runs on behalf of a command line, and for the digest of a policy. */
#ifndef CORDON_ISOLATE_OPTIONS_OPTION_WRITE_H
#define CORDON_ISOLATE_OPTIONS_OPTION_WRITE_H

#include "isolate/base/json_write.h"
#include "isolate/options/options.h"

/*
 * Writes every option that one command has and a profile may hold, defaults written out, as one JSON object in the order of the table: equal options give equal text.
 * options_profile reads it back to the same options. Where the events go is left out: that is no property of an execution. Returns false when a text
 * among them is no UTF-8, so that no JSON can say it; it is then written with U+FFFD.
 */
bool options_write(const struct options *o, enum command_set command, struct json_writer *w);

#endif
