/* SPDX-License-Identifier: Apache-2.0 */
/* What a request asks to run. See job.h. What is cut is cut in front of a character. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/daemon/job.h"

#include <stdio.h>
#include <string.h>

#include "isolate/base/cleanup.h"

#define WORD_MOST 4096 /* bytes of a word in JSON; a longer one is named by dots */

/* Appends a JSON string, as far as there is room for it. */
static void append(char *out, size_t size, struct json_slice value)
{
	_cleanup_free_ char *string = value.length <= WORD_MOST ? json_dup(value) : NULL;
	const char *text = value.length > WORD_MOST ? "..." : string;
	size_t used = strlen(out), length = text ? strlen(text) : 0;

	if (length > size - 1 - used) {
		length = size - 1 - used;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	if (length > 0)
		memcpy(out + used, text, length);
	out[used + length] = '\0';
}

void job_program_take(struct job_program *p, const char *method, struct json_slice params)
{
	struct json_slice program = json_get(params, "program"), words, word;
	size_t at = 0, count = 0;

	*p = (struct job_program){ .name = "" };
	snprintf(p->kind, sizeof p->kind, "%s", method);
	if (json_kind(program) != JSON_OBJECT) {
		append(p->name, sizeof p->name, json_get(params, "name"));
		return;
	}
	json_copy(json_get(program, "kind"), p->kind, sizeof p->kind);
	append(p->name, sizeof p->name, json_get(program, "name"));
	snprintf(p->command, sizeof p->command, "%s", p->name);
	words = json_get(program, "argv");
	for (; strlen(p->command) < sizeof p->command - 1 && json_item(words, &at, &word);
		count++) {
		if (count == 0 && !p->name[0])
			append(p->name, sizeof p->name, word);
		if (p->command[0])
			append(p->command, sizeof p->command, json_slice("\" \"", 3));
		append(p->command, sizeof p->command, word);
	}
	if (strcmp(p->command, p->name) == 0)
		p->command[0] = '\0';
}

void job_program_write(const struct job_program *p, struct json_writer *w)
{
	const struct {
		const char *key, *text;
	} rows[] = { { "program", p->kind }, { "name", p->name }, { "command", p->command } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].text[0]) {
			json_key(w, rows[i].key);
			json_bytes(w, rows[i].text, strlen(rows[i].text));
		}
}
