/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the scdoc source of a manual page from its template. Runs while cordon is built: man_page
 * TEMPLATE.
 *
 * A line `@NAME@` of the template stands for a table, which is printed as scdoc markup; `@VERSION@`
 * stands for the version anywhere. Text of tables passes add_text, which keeps scdoc from reading
 * it as markup. A name that is not known is an error, so a page cannot lose a table without a
 * failed build.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isolate/commands/manual_tables.h"
#include "isolate/monitor/event_table.h"
#include "isolate/options/option_table.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* A paragraph with its head; note stands behind the head in brackets. */
struct entry {
	const char *head, *note, *text;
};

static const struct entry record_fields[] = {
#define FIELD(name, type, always, meaning) { name, type, meaning },
#include "isolate/commands/record_fields.def"
}, fields_of_events[] = {
#define EVENT_FIELD(id, name, kind, meaning) { name, NULL, meaning },
#include "isolate/monitor/events.def"
#undef EVENT_FIELD
}, states[] = {
#define STATE(id, word, meaning) { word, NULL, meaning },
#include "isolate/tools/promotion.def"
#undef STATE
}, policies[] = {
#define POLICY(id, word, threshold, meaning) { word, NULL, meaning },
#include "isolate/tools/promotion.def"
#undef POLICY
}, methods[] = {
#define METHOD(id, name, params, meaning) \
	{ name, NULL, \
		sizeof(params) == 1 ? meaning \
				    : meaning \
			".\n\tParameters, those in brackets optional: " params },
#include "isolate/daemon/methods.def"
}, keys[] = {
#define KEY(id, name, keys, where, label, help) { keys, name, help },
#include "tui/draw/keys.def"
}, failures[] = {
#define FAILURE(id, name, meaning, remedy) { name, NULL, meaning ".\n\tWhat to do: " remedy },
#include "isolate/base/failures.def"
#undef FAILURE
}, differences[] = {
#define DIFFERENCE(what, inside, why) { what, NULL, inside ": " why },
#include "isolate/man/differences.def"
}, secrets[] = {
#define SECRET(id, pattern, what) { id, NULL, pattern },
#define SECRET_FILE(id, pattern, content, what) { id, "if it holds " what, pattern },
#define ORDINARY(pattern, what)
#include "fs/view/secrets.def"
};

static void add_bytes(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("\\*_+", text[i]) || (i == 0 && strchr("#-|[];", text[i])))
			putchar('\\');
		putchar(text[i]);
	}
}

static void add_text(const char *text)
{
	add_bytes(text, strlen(text));
}

/* A sentence: a capital at its start, a full stop at its end. */
static void add_sentence(const char *text)
{
	if (!isalpha((unsigned char)text[0])) {
		add_text(text);
	} else {
		putchar(toupper((unsigned char)text[0]));
		add_text(text + 1);
	}
	puts(".");
}

static void add_head(const char *text)
{
	fputs("\n*", stdout);
	add_text(text);
	puts("*");
}

static void print_synopsis(void)
{
	for (size_t i = 0; i < command_text_count; i++) {
		const char *line = command_texts[i].usage;

		for (size_t length; *line; line += length + (line[length] == '\n')) {
			length = strcspn(line, "\n");
			printf("*cordon %s* ", command_texts[i].name);
			add_bytes(line, length);
			puts("++");
		}
	}
	puts("*cordon help* \\[COMMAND]++\n*cordon --version*");
}

static void print_commands(void)
{
	for (size_t i = 0; i < command_text_count; i++) {
		const char *line = command_texts[i].description;

		add_head(command_texts[i].name);
		for (size_t length; *line; line += length + (line[length] == '\n')) {
			length = strcspn(line, "\n");
			putchar('\t');
			add_bytes(line, length);
			puts(line[length] ? "\n" : "");
		}
	}
}

static void print_default(const struct option_row *row)
{
	const char *run = row->commands & FOR_RUN ? row->default_run : NULL;
	const char *other =
		row->commands & ~(unsigned)(FOR_RUN | NOT_IN_PROFILE) ? row->default_other : NULL;
	char names[64];

	if (!run && !other)
		return;
	fputs("\tDefault: ", stdout);
	add_text(run ? run : other);
	if (run && other && strcmp(run, other) != 0) {
		fputs(" for run, ", stdout);
		add_text(other);
		printf(" for %s",
			option_commands(row->commands & ~(unsigned)FOR_RUN, names, sizeof names));
	}
	puts(".");
}

static void print_options(void)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char text[96];

		printf("\n*--%s*", row->name);
		if (row->argument) {
			putchar(' ');
			add_text(row->argument);
		}
		fputs("\n\t", stdout);
		add_sentence(row->help);
		if (option_range(row, text, sizeof text)[0]) {
			putchar('\t');
			add_sentence(text);
		}
		print_default(row);
		printf("\t(%s)\n", option_commands(row->commands, text, sizeof text));
	}
}

static void print_not_in_profile(void)
{
	for (size_t i = 0, count = 0; i < option_row_count; i++)
		if (option_rows[i].commands & NOT_IN_PROFILE)
			printf("%s*%s*", count++ ? ", " : "", option_rows[i].name);
	puts(".");
}

static void print_secrets(void)
{
	for (size_t i = 0; i < COUNT(secrets); i++) {
		bool again = i > 0 && strcmp(secrets[i].head, secrets[i - 1].head) == 0;

		if (!again) {
			fputs(i ? "\n" : "", stdout);
			add_head(secrets[i].head);
		}
		/* bold, or a dot at the start of a line is a request */
		fputs(again ? ", *" : "\t*", stdout);
		add_text(secrets[i].text);
		putchar('*');
		if (secrets[i].note)
			printf(" (%s)", secrets[i].note);
	}
	putchar('\n');
}

static void print_event_types(void)
{
	for (int i = 0; i < EVENT_TYPES; i++) {
		const struct event_field_text *field;
		const char *at = event_types[i].fields;
		int optional, count = 0;

		add_head(event_types[i].name);
		putchar('\t');
		add_sentence(event_types[i].meaning);
		fputs("\tFrom the ", stdout);
		add_text(event_types[i].emitter);
		while ((field = event_next_field(&at, &optional))) {
			fputs(count++ ? ", " : ". Fields: ", stdout);
			add_text(field->name);
			fputs(optional ? " (not always)" : "", stdout);
		}
		puts(".");
	}
}

static void print_keywords(void)
{
#define KEYWORD(name, kind, member) add_text(name), fputs(" ", stdout);
#include "isolate/tools/schema_keywords.def"
#undef KEYWORD
	putchar('\n');
}

static void print_statuses(void)
{
	for (size_t i = 0; i < status_text_count; i++) {
		const struct status_text *s = &status_texts[i];
		char names[64];

		if (i == 0 || strcmp(s->status, status_texts[i - 1].status) != 0) {
			add_head(s->status);
			putchar('\t'); /* once: behind ++ it would be part of the text */
		}
		printf("%s: ", option_commands(s->commands, names, sizeof names));
		add_text(s->meaning);
		puts(i + 1 < status_text_count && strcmp(s->status, status_texts[i + 1].status) == 0
				? ".++"
				: ".");
	}
}

static void print_examples(void)
{
	for (size_t i = 0; i < command_text_count; i++) {
		putchar('\n');
		printf("%c", toupper((unsigned char)command_texts[i].summary[0]));
		add_text(command_texts[i].summary + 1);
		fputs(":\n\n```\n", stdout);
		for (const char *at = command_texts[i].example; *at; at++)
			fputs(*at == '\\' ? "\\\\" : (char[]){ *at, '\0' }, stdout);
		puts("\n```");
	}
}

#define ENTRIES(table) NULL, table, COUNT(table)
static const struct {
	const char *name;
	void (*print)(void);
	const struct entry *entries;
	size_t count;
} tables[] = {
	{ "SYNOPSIS", print_synopsis, NULL, 0 },
	{ "COMMANDS", print_commands, NULL, 0 },
	{ "OPTIONS", print_options, NULL, 0 },
	{ "NOT_IN_PROFILE", print_not_in_profile, NULL, 0 },
	{ "SECRETS", print_secrets, NULL, 0 },
	{ "EVENT_TYPES", print_event_types, NULL, 0 },
	{ "KEYWORDS", print_keywords, NULL, 0 },
	{ "STATUSES", print_statuses, NULL, 0 },
	{ "EXAMPLES", print_examples, NULL, 0 },
	{ "RECORD", ENTRIES(record_fields) },
	{ "EVENT_FIELDS", ENTRIES(fields_of_events) },
	{ "STATES", ENTRIES(states) },
	{ "POLICIES", ENTRIES(policies) },
	{ "METHODS", ENTRIES(methods) },
	{ "KEYS", ENTRIES(keys) },
	{ "FAILURES", ENTRIES(failures) },
	{ "DIFFERENCES", ENTRIES(differences) },
};

static bool print_table(const char *name)
{
	for (size_t i = 0; i < COUNT(tables); i++) {
		if (strcmp(tables[i].name, name) != 0)
			continue;
		if (tables[i].print)
			tables[i].print();
		for (const struct entry *e = tables[i].entries;
			e && e < tables[i].entries + tables[i].count; e++) {
			fputs("\n*", stdout);
			add_text(e->head);
			if (e->note)
				printf("* (%s)\n\t", e->note);
			else
				fputs("*\n\t", stdout);
			add_sentence(e->text);
		}
		return true;
	}
	fprintf(stderr, "man_page: there is no table %s\n", name);
	return false;
}

int main(int argc, char **argv)
{
	FILE *template = argc == 2 ? fopen(argv[1], "r") : NULL;
	char line[1024];

	if (!template) {
		fprintf(stderr, "usage: man_page TEMPLATE\n");
		return 64;
	}
	while (fgets(line, sizeof line, template)) {
		size_t length = strcspn(line, "\n");
		char *version = strstr(line, "@VERSION@");

		if (version) {
			printf("%.*s" PACKAGE_VERSION "%s", (int)(version - line), line,
				version + strlen("@VERSION@"));
		} else if (length > 2 && line[0] == '@' && line[length - 1] == '@') {
			line[length - 1] = '\0';
			if (!print_table(line + 1))
				return 1;
		} else {
			fputs(line, stdout);
		}
	}
	return ferror(template) == 0 && fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
