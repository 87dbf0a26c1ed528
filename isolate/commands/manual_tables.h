/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands, exit statuses and record fields as data: what help, man page and completion have in
 * common beside the options.
 */
#ifndef CORDON_ISOLATE_COMMANDS_MANUAL_TABLES_H
#define CORDON_ISOLATE_COMMANDS_MANUAL_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "isolate/options/options.h"

enum command_words { COMMAND_LINE, FILES, TOOLS, NO_WORDS };

struct command_text {
	enum command_set bit;
	const char *name;
	enum command_words words;
	const char *usage;       /* lines without "cordon NAME ", \n between */
	const char *summary;     /* one line, lower case, no full stop */
	const char *description; /* paragraphs, \n between */
	const char *example;     /* lines, \n between */
};

struct status_text {
	const char *status;
	unsigned commands; /* enum command_set bits */
	const char *meaning;
};

struct field_text {
	const char *name, *type;
	bool always; /* in every record */
	const char *meaning;
};

extern const struct command_text command_texts[];
extern const size_t command_text_count;
extern const struct status_text status_texts[];
extern const size_t status_text_count;
extern const struct field_text field_texts[];
extern const size_t field_text_count;

/* Whether some command has this name as the first of its two words. */
bool command_has_subcommands(const char *name);

/* The command of that name, or NULL. */
const struct command_text *command_find(const char *name);

#endif
