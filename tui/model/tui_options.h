/* SPDX-License-Identifier: Apache-2.0 */
/* What the console is started with. Everything is borrowed while it runs. */
#ifndef CORDON_TUI_MODEL_TUI_OPTIONS_H
#define CORDON_TUI_MODEL_TUI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/base/json_read.h"
#include "tui/draw/screen.h"

struct tui_options {
	const char *socket; /* of the daemon; NULL with fd */
	/* a connection that is there already, which becomes the console's; -1: none */
	int fd;
	/*
	 * with fd: the line of the one request whose answer is wanted; its first member must not be
	 * an id
	 */
	const char *request;
	size_t request_length;
	/* or NULL: gets every event, too */
	void (*on_event)(void *argument, struct json_slice event);
	void *on_event_argument;
	bool plain;
	const char *script; /* path, or NULL */
	int rows, columns;  /* of the picture, for a script */
	enum theme theme;
	bool quiet; /* never ring */
};

#endif
