/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope of an event's line. See line.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/line.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct cursor {
	const char *at, *end;
};

static bool skip(struct cursor *c, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0)
		return false;
	c->at += length;
	return true;
}

/* The inside of a string without escapes, and its closing quote. */
static bool take(struct cursor *c, const char **text, size_t *length)
{
	const char *quote = memchr(c->at, '"', (size_t)(c->end - c->at));

	if (!quote || memchr(c->at, '\\', (size_t)(quote - c->at)))
		return false;
	*text = c->at;
	*length = (size_t)(quote - c->at);
	c->at = quote + 1;
	return true;
}

bool event_line_read(const char *line, size_t length, struct event_line *out)
{
	struct cursor c = { line, line + length };
	const char *ignored;
	size_t digits = 0, ignored_length;

	if (!skip(&c, "{\"sequence\":"))
		return false;
	for (out->sequence = 0; c.at < c.end && *c.at >= '0' && *c.at <= '9' && digits < 19;
		c.at++, digits++)
		out->sequence = out->sequence * 10 + (uint64_t)(*c.at - '0');
	out->after_sequence = (size_t)(c.at - line);
	return digits > 0 && skip(&c, ",\"specversion\":\"1.0\",\"id\":\"") &&
		take(&c, &ignored, &ignored_length) && skip(&c, ",\"source\":\"") &&
		take(&c, &ignored, &ignored_length) && skip(&c, ",\"type\":\"") &&
		take(&c, &out->type, &out->type_length) && skip(&c, ",\"subject\":\"") &&
		take(&c, &out->subject, &out->subject_length) && line[length - 1] == '}';
}

bool event_filter_wants(const struct event_filter *f, const struct event_line *line)
{
	char type[64];

	if (f->subject[0] &&
		(strlen(f->subject) != line->subject_length ||
			memcmp(f->subject, line->subject, line->subject_length) != 0))
		return false;
	if (!f->type[0])
		return true;
	snprintf(type, sizeof type, "%.*s", (int)line->type_length, line->type);
	return fnmatch(f->type, type, 0) == 0;
}

size_t dropped_line(char *out, size_t size, uint64_t first, uint64_t count)
{
	unsigned long long last = first + count - 1;
	struct timespec now;
	char stamp[24] = "";
	struct tm utc;
	int length;

	clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &utc) &&
		strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
		stamp[0] = '\0';
	length = snprintf(out, size,
		"{\"sequence\":%llu,\"specversion\":\"1.0\",\"id\":\"dropped-%llu\",\"source\":\"/"
		"cordon/daemon\",\"type\":\"events.dropped\",\"subject\":\"daemon\","
		"\"time\":\"%s.%06ldZ\",\"data\":{\"count\":%llu,\"since\":%llu}}",
		last, last, stamp, now.tv_nsec / 1000, (unsigned long long)count,
		(unsigned long long)first - 1);
	return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}
