/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The console: what `cordon console` and `--watch` call.
 *
 * It knows the control socket and the record of events, and nothing else of cordon. With a terminal
 * it draws on it; without one, or when asked to, it is plain: lines that are appended, and commands
 * that are read as lines. A script takes the place of the keyboard, and a picture in memory that of
 * the screen.
 */
#ifndef CORDON_TUI_TUI_H
#define CORDON_TUI_TUI_H

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"
#include "tui/model/tui_options.h"

/*
 * Runs until the user leaves it; plain, until the request is answered, or the daemon or the reader
 * is gone. answer gets the line that answered the request (nothing when there was none). Returns 0,
 * or -1 with an error: DAEMON_MISSING, DAEMON_LOST, BAD_OPTION (a terminal that is not known, a
 * script with a mistake in it), PATH_MISSING.
 */
int tui_run(const struct tui_options *options, struct buffer *answer, struct error *err);

#endif
