/* SPDX-License-Identifier: Apache-2.0 */
/* A thread beside the supervisor's loop: no signal reaches it, and its stack is small. */
#ifndef CORDON_ISOLATE_BASE_THREAD_H
#define CORDON_ISOLATE_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#define THREAD_STACK (128 * 1024) /* bytes */

/*
 * Starts one. Detached, it cleans up after itself; else it is to be joined. Returns 0, or an error
 * number as pthread_create(3) does.
 */
int thread_start(pthread_t *thread, bool detached, void *(*work)(void *), void *context);

#endif
