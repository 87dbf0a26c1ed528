/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that the command line passes on to the program. */
#ifndef CORDON_ISOLATE_COMMANDS_SIGNALS_H
#define CORDON_ISOLATE_COMMANDS_SIGNALS_H

/*
 * From here on TERM, INT, HUP, QUIT, USR1, USR2, CONT and WINCH are not acted on but put into a pipe, a byte each. Returns its read end, -1 with errno. Once
 * a process; the handlers stay.
 */
int signals_collect(void);

/* What a program that was started with odd settings has to put right: SIGCHLD as by default, nothing blocked that we forward, the soft file size limit at the hard one. */
void signals_reset(void);

#endif
