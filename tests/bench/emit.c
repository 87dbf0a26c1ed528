/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many events a second one producer emits: fs.denied with a path of ordinary length, written to
 * /dev/null in the emitter's own batches. Prints events a second and nanoseconds an event.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "isolate/monitor/emitter.h"

#define EVENTS 2000000

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
	static const char path[] =
		"/home/somebody/project/src/module/configuration/settings.local.json";
	const char *flags[] = { "read" };
	struct emitter *e = emitter_new(open("/dev/null", O_WRONLY | O_CLOEXEC),
		"0123456789abcdef0123456789abcdef", EMITTER_DROPS);
	double started, seconds;

	if (!e)
		return 1;
	started = now_s();
	for (int i = 0; i < EVENTS; i++) {
		emit_begin(e, EVENT_TYPE_FS_DENIED, 0);
		emit_bytes(e, EVENT_FIELD_PATH, path, strlen(path));
		emit_text(e, EVENT_FIELD_DECISION, "deny");
		emit_text(e, EVENT_FIELD_RULE, "secret:env");
		emit_number(e, EVENT_FIELD_PID, 12345);
		emit_bytes(e, EVENT_FIELD_COMM, "python3", 7);
		emit_words(e, EVENT_FIELD_FLAGS, flags, 1);
		emit_number(e, EVENT_FIELD_COUNT, 1);
		emit_end(e);
	}
	emit_flush(e);
	seconds = now_s() - started;
	printf("%.0f %.0f %llu\n", EVENTS / seconds, seconds / EVENTS * 1e9,
		(unsigned long long)emitter_lost(e));
	emitter_close(e, NULL);
	return 0;
}
