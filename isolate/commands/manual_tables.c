/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptive tables, made from their .def files. Like the option table this needs nothing but
 * the C library, so that the generators which run at build time stay small.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/manual_tables.h"

#include <string.h>

const struct command_text command_texts[] = {
#define COMMAND(bit, name, words, usage, summary, description, example) \
	{ bit, name, words, usage, summary, description, example },
#include "isolate/commands/commands.def"
#undef COMMAND
};
const size_t command_text_count = sizeof command_texts / sizeof command_texts[0];

const struct status_text status_texts[] = {
#define STATUS(status, commands, meaning) { status, commands, meaning },
#include "isolate/commands/statuses.def"
#undef STATUS
};
const size_t status_text_count = sizeof status_texts / sizeof status_texts[0];

const struct field_text field_texts[] = {
#define FIELD(name, type, always, meaning) { name, type, always, meaning },
#include "isolate/commands/record_fields.def"
#undef FIELD
};
const size_t field_text_count = sizeof field_texts / sizeof field_texts[0];

const struct command_text *command_find(const char *name)
{
	for (size_t i = 0; i < command_text_count; i++) {
		if (strcmp(command_texts[i].name, name) == 0)
			return &command_texts[i];
	}
	return NULL;
}

bool command_has_subcommands(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < command_text_count; i++)
		if (strncmp(command_texts[i].name, name, length) == 0 &&
			command_texts[i].name[length] == ' ')
			return true;
	return false;
}
