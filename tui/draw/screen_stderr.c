/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error behind a screen. See screen_stderr.h. A memory file takes any amount without a
 * reader, so that no writer blocks.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/screen_stderr.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/json_write.h"
#include "isolate/base/text.h"

#define MOST 65536

static int saved = -1, kept = -1;

void screen_stderr_keep(void)
{
	kept = memfd_create("stderr", MFD_CLOEXEC);
	if (kept < 0)
		return;
	fcntl(kept, F_SETFL, O_APPEND);
	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (saved >= 0)
		dup2(kept, STDERR_FILENO);
}

void screen_stderr_release(void)
{
	_cleanup_buffer_ struct buffer visible = BUFFER_INIT;
	_cleanup_free_ char *text = malloc(MOST);
	struct stat st;
	ssize_t got = 0;

	if (saved >= 0) {
		dup2(saved, STDERR_FILENO);
		close(saved);
		if (text && fstat(kept, &st) == 0 && st.st_size > 0)
			got = pread(kept, text, MOST, st.st_size > MOST ? st.st_size - MOST : 0);
	}
	if (got > 0) {
		text_visible(&visible, text, (size_t)got, TEXT_LINES);
		if (!visible.failed)
			got = write(STDERR_FILENO, visible.data, visible.length);
	}
	if (kept >= 0)
		close(kept);
	saved = kept = -1;
}
