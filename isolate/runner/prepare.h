/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fork server does once, before it forks.
 */
#ifndef CORDON_ISOLATE_RUNNER_PREPARE_H
#define CORDON_ISOLATE_RUNNER_PREPARE_H

/*
 * Builds the tables that every body needs, so that children share them. Needs the GIL; body_perform does it by itself when
 * nobody has. Returns 0, or -1 with a Python exception.
 */
int body_prepare(void);

#endif
