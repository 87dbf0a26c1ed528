/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending to a terminal that may take nothing. See screen_stall.h.
 *
 * The handlers call what a handler may and nothing else. They are installed without SA_RESTART and let in between begin and end alone, where the rest of the program has these signals blocked: so they
 * interrupt a write(2) that waits, and nothing else. The alarm is this file's own; it is stopped at the end of each sending.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/screen_stall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "tui/draw/screen_crash.h"

#define PATIENCE_S 1

static const int ENDS[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
#define END_COUNT (sizeof ENDS / sizeof *ENDS)

static struct {
	int fd, nowhere;               /* the terminal; /dev/null */
	volatile sig_atomic_t signal, gave_up;
	struct sigaction before[END_COUNT + 1];
	sigset_t mask;                 /* before the sending began */
} S = { .fd = -1, .nowhere = -1 };

static void on_end(int number)
{
	if (!S.signal)
		S.signal = number;
	alarm(PATIENCE_S);
}

static void on_alarm(int number)
{
	int error = errno;

	(void)number;
	S.gave_up = 1;
	tcflush(S.fd, TCOFLUSH);
	screen_crash_put_back();
	dup2(S.nowhere, STDOUT_FILENO);
	errno = error;
}

void screen_stall_arm(int fd)
{
	struct sigaction end = { .sa_handler = on_end }, alarmed = { .sa_handler = on_alarm };

	S.fd = fd;
	S.nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	S.signal = S.gave_up = 0;
	for (size_t i = 0; i < END_COUNT; i++)
		sigaction(ENDS[i], &end, &S.before[i]);
	sigaction(SIGALRM, &alarmed, &S.before[END_COUNT]);
}

void screen_stall_disarm(void)
{
	for (size_t i = 0; i < END_COUNT; i++)
		sigaction(ENDS[i], &S.before[i], NULL);
	sigaction(SIGALRM, &S.before[END_COUNT], NULL);
	if (S.nowhere >= 0)
		close(S.nowhere);
	S.nowhere = -1;
}

void screen_stall_begin(bool hurry)
{
	sigset_t let_in;

	sigemptyset(&let_in);
	for (size_t i = 0; i < END_COUNT; i++)
		sigaddset(&let_in, ENDS[i]);
	sigaddset(&let_in, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &let_in, &S.mask);
	if (hurry)
		alarm(PATIENCE_S);
}

void screen_stall_end(void)
{
	alarm(0);
	sigprocmask(SIG_SETMASK, &S.mask, NULL);
}

int screen_stall_signal(void)
{
	return S.signal;
}

bool screen_stall_gave_up(void)
{
	return S.gave_up;
}
