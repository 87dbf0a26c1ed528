/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a thread. See thread.h. Signals are blocked before it is there, so there is no moment in
 * which one could reach it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, bool detached, void *(*work)(void *), void *context)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(
		&attributes, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, &attributes, work, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}
