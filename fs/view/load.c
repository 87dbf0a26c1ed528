/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/loadavg says. See load.h. It is kept open and read from its start each time. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fs/view/load.h"

#include <fcntl.h>
#include <unistd.h>

#include "isolate/base/proc_file.h"

struct load load_here(void)
{
	return (struct load){ .fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC) };
}

static bool read_load(int fd, int *running, pid_t *newest)
{
	char text[128];
	ssize_t length = pread(fd, text, sizeof text - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return proc_loadavg(text, running, newest);
}

bool load_is_crowded(struct load *l, int room, int64_t age_ns, int64_t now_ns)
{
	if (now_ns - l->sampled_ns >= age_ns) {
		int running;
		pid_t newest;

		l->crowded = !read_load(l->fd, &running, &newest) || running > room;
		l->sampled_ns = now_ns;
	}
	return l->crowded;
}
