/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the console writes.
 *
 * Only new ones: no name that is there already is opened, so nothing is overwritten and no link
 * followed. What goes in is what was on the screen: visible text, and events as JSON whose strings
 * hide nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/base/text.h"
#include "tui/model/console.h"
#include "isolate/base/json_read.h"

static bool write_file(struct console *c, const char *path, const struct buffer *text, int flags)
{
	int fd = text->failed
		? -1
		: open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0600);
	char shown[160];
	bool good;

	text_visible_into(shown, sizeof shown, path, strlen(path), TEXT_ONE_LINE);
	if (fd < 0) {
		console_say(c, STYLE_DENY,
			errno == EEXIST ? "%s is there already; it stays as it is" : "%s: %s",
			shown, error_errno_name(errno));
		return false;
	}
	good = write_all(fd, text->data, text->length) == 0;
	if (close(fd) != 0 || !good) {
		console_say(c, STYLE_DENY, "%s: %s", shown, error_errno_name(errno));
		return false;
	}
	console_say(c, STYLE_GOOD, "written: %s", shown);
	return true;
}

static void add_event(struct console *c, const struct log_entry *e, struct buffer *out)
{
	json_add_visible(out, log_event(c->log, e).text, e->length);
	buffer_add(out, "\n", 1);
}

static void add_marked(struct console *c, struct buffer *out)
{
	struct log_entry *cursor = log_entry(c->log, c->stream.cursor);

	for (uint64_t serial = log_first(c->log); serial < log_next(c->log); serial++)
		if (log_entry(c->log, serial)->marked)
			add_event(c, log_entry(c->log, serial), out);
	if (out->length == 0 && cursor)
		add_event(c, cursor, out);
}

void files_write(struct console *c, const char *path)
{
	struct buffer text = BUFFER_INIT;
	const struct log_entry *e;

	if (!*path)
		return;
	switch (console_view(c)) {
	case VIEW_EVENTS:
		add_marked(c, &text);
		break;
	case VIEW_OUTPUT:
		page_write(&c->output.page, &text);
		break;
	case VIEW_DETAIL:
		page_write(&c->detail.page, &text);
		break;
	case VIEW_TOOL:
		page_write(&c->tool.page, &text);
		break;
	case VIEW_RECORD:
		e = log_entry(c->log, c->record.serial);
		if (e)
			add_event(c, e, &text);
		break;
	default:
		console_say(c, STYLE_WARN, "there is nothing to write in this view");
		return;
	}
	write_file(c, path, &text, O_EXCL);
	buffer_free(&text);
}

bool files_save_display(struct console *c, const char *path)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	bool good;

	cells_write(&c->cells, &text);
	good = write_file(c, path, &text, O_TRUNC);
	return good;
}
