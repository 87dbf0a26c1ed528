/* SPDX-License-Identifier: Apache-2.0 */
/* The trace. See trace.h. No allocation and no lock: a line is built on the stack. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "isolate/base/text.h"

#define TRACE_FD_LEAST 50 /* above the numbers that a program is started with */

int trace_fd = -1;
static const char *trace_process = "cordon";

int trace_open(const char *process, struct error *err)
{
	const char *path = secure_getenv(TRACE_VARIABLE);

	trace_process = process;
	if (!path || !*path || trace_fd >= 0)
		return 0;
	trace_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
	return trace_fd < 0 ? error_set(err, FAILURE_PATH_MISSING, errno,
				      "opening %s (" TRACE_VARIABLE ")", path)
			    : 0;
}

void trace_adopt(int fd, const char *process)
{
	trace_process = process;
	trace_fd = fcntl(fd, F_DUPFD_CLOEXEC, TRACE_FD_LEAST);
	if (trace_fd >= 0)
		close(fd);
}

void trace_write(const char *room, const char *format, ...)
{
	char message[TRACE_LINE_MAX], line[2 * TRACE_LINE_MAX + 128];
	int saved = errno, length;
	struct timespec now;
	struct tm day;
	va_list arguments;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &day);
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	length = snprintf(line, sizeof line, "%02d:%02d:%02d.%06ld %s[%d] %s: ", day.tm_hour,
		day.tm_min, day.tm_sec, now.tv_nsec / 1000, trace_process, (int)getpid(), room);
	text_visible_into(line + length, sizeof line - (size_t)length - 1, message, strlen(message),
		TEXT_ONE_LINE);
	strcat(line, "\n");
	/* A full disk must not end what is being traced. */
	if (write(trace_fd, line, strlen(line)) < 0)
		errno = 0;
	errno = saved;
}
