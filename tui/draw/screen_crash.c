/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a fault. See screen_crash.h.
 *
 * endwin(3) may not be called from a handler, so what it would send is put together beforehand. The
 * handler calls write(2) and tcsetattr(3), which may be, on a stack of its own, since an overflow
 * of the stack is one of the faults; then it lets the signal do what it does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/screen_crash.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/*
 * The last four are blocked and read from a signalfd(2), except while a picture is sent.
 */
static const int FATAL[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTERM, SIGHUP,
	SIGINT, SIGQUIT };

static struct {
	int fd;
	struct termios mode;
	bool has_mode;
	char bytes[256];
	size_t length;
	struct sigaction before[sizeof FATAL / sizeof *FATAL];
	char stack[32768];
} C;

void screen_crash_put_back(void)
{
	struct pollfd out = { STDOUT_FILENO, POLLOUT, 0 };
	ssize_t ignored = poll(&out, 1, 0) > 0 ? write(STDOUT_FILENO, C.bytes, C.length) : 0;

	(void)ignored;
	if (C.has_mode)
		tcsetattr(C.fd, TCSANOW, &C.mode);
}

static void on_fatal(int number)
{
	screen_crash_put_back();
	raise(number); /* SA_RESETHAND: the default now */
}

static int keep(int byte)
{
	if (C.length < sizeof C.bytes)
		C.bytes[C.length++] = (char)byte;
	return byte;
}

void screen_crash_prepare(int fd)
{
	C.fd = fd;
	C.has_mode = tcgetattr(fd, &C.mode) == 0;
}

void screen_crash_arm(void)
{
	static const char *const CAPABILITIES[] = { "sgr0", "op", "rmkx", "cnorm", "rmcup" };
	const stack_t stack = { .ss_sp = C.stack, .ss_size = sizeof C.stack };
	struct sigaction action = { .sa_handler = on_fatal,
		.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

	C.length = 0;
	for (size_t i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES; i++) {
		const char *text = tigetstr(CAPABILITIES[i]);

		if (text && text != (char *)-1)
			tputs(text, 1, keep);
	}
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof FATAL / sizeof *FATAL; i++)
		sigaction(FATAL[i], &action, &C.before[i]);
}

void screen_crash_disarm(void)
{
	for (size_t i = 0; i < sizeof FATAL / sizeof *FATAL; i++)
		sigaction(FATAL[i], &C.before[i], NULL);
}
