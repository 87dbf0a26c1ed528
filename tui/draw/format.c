/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. See format.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *format_bytes(int64_t bytes, char text[FORMAT_MAX])
{
	static const char UNITS[] = "BKMGTP";
	double value = bytes < 0 ? 0 : (double)bytes;
	int unit = 0;

	while (value >= 1000 && UNITS[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(text, FORMAT_MAX, unit > 0 && value < 99.95 ? "%.1f%c" : "%.0f%c", value, UNITS[unit]);
	return text;
}

char *format_duration(int64_t ms, char text[FORMAT_MAX])
{
	ms = ms < 0 ? 0 : ms;
	if (ms < 1000)
		snprintf(text, FORMAT_MAX, "%" PRId64 "ms", ms);
	else if (ms < 60000)
		snprintf(text, FORMAT_MAX, "%.2fs", (double)(ms / 10) / 100);
	else if (ms < 3600000)
		snprintf(text, FORMAT_MAX, "%" PRId64 ":%02" PRId64, ms / 60000, ms / 1000 % 60);
	else
		snprintf(text, FORMAT_MAX, "%" PRId64 ":%02" PRId64 ":%02" PRId64, ms / 3600000, ms / 60000 % 60, ms / 1000 % 60);
	return text;
}

char *format_count(uint64_t count, char text[FORMAT_MAX])
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

static void local(int64_t time_ns, struct tm *parts)
{
	time_t seconds = (time_t)(time_ns / 1000000000);

	if (!localtime_r(&seconds, parts))
		memset(parts, 0, sizeof *parts);
}

char *format_clock(int64_t time_ns, char text[FORMAT_MAX])
{
	struct tm parts;

	local(time_ns, &parts);
	snprintf(text, FORMAT_MAX, "%02d:%02d:%02d.%03d", parts.tm_hour % 100, parts.tm_min % 100, parts.tm_sec % 100, (int)(time_ns / 1000000 % 1000));
	return text;
}

char *format_date(int64_t time_ns, char text[FORMAT_MAX])
{
	struct tm parts;

	local(time_ns, &parts);
	if (strftime(text, FORMAT_MAX, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		text[0] = '\0';
	return text;
}

char *format_since(int64_t nanoseconds, char text[FORMAT_MAX])
{
	char amount[FORMAT_MAX - 2];
	int64_t ms = (nanoseconds < 0 ? -nanoseconds : nanoseconds) / 1000000;

	if (ms < 60000)
		snprintf(amount, sizeof amount, "%" PRId64 ".%03" PRId64 "s", ms / 1000, ms % 1000);
	else
		snprintf(amount, sizeof amount, "%" PRId64 ":%02" PRId64 ".%03" PRId64, ms / 60000, ms / 1000 % 60, ms % 1000);
	snprintf(text, FORMAT_MAX, "%c%s", nanoseconds < 0 ? '-' : '+', amount);
	return text;
}
