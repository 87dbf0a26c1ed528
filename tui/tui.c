/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the console. See tui.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/tui.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tui/model/console.h"

int tui_run(const struct tui_options *options, struct buffer *answer, struct error *err)
{
	struct console *c = calloc(1, sizeof *c);
	int status = -1;

	/*
	 * Only how characters are written and how wide they are: numbers and messages stay as they
	 * are.
	 */
	setlocale(LC_CTYPE, "");
	if (!c || !console_new(c, options, answer)) {
		error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "keeping events for the console");
		goto out;
	}
	c->cells.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (options->fd >= 0)
		link_adopt(&c->link, options->fd);
	else if (link_open(&c->link, options->socket, err) < 0)
		goto out;
	if (options->script)
		status = loop_script(c, err);
	else if (options->plain || !screen_is_possible())
		status = loop_plain(c, err);
	else
		status = loop_screen(c, err);
out:
	if (c)
		console_free(c);
	free(c);
	return status;
}
