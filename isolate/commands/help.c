/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help, from the tables that the parser and the man page are made from.
 *
 * Text is laid out into a buffer first and written in one go, so a full disk or a closed pipe is
 * noticed and is an error. All of it is ASCII from our own tables: a byte is a column.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "isolate/base/io.h"
#include "isolate/base/error.h"
#include "isolate/base/text.h"
#include "isolate/commands/manual_tables.h"
#include "isolate/options/option_table.h"

enum {
	WIDTH = 80,
	OPTION_INDENT = 2,
	HELP_COLUMN = 26, /* where the words about an option begin */
	STATUS_COLUMN = 10,
	STATUS_USAGE = 64,
	STATUS_FAILED = 125,
};

static void add_spaces(struct buffer *out, size_t count)
{
	while (count-- > 0)
		buffer_add(out, " ", 1);
}

/*
 * Appends one paragraph, broken between words; lines after the first start at column indent. at is
 * the column where the first line stands already. Ends with a newline.
 */
static void add_wrapped(
	struct buffer *out, size_t at, size_t indent, const char *text, size_t length)
{
	size_t column = at;

	if (column < indent) {
		add_spaces(out, indent - column);
		column = indent;
	}
	for (size_t i = 0; i < length;) {
		size_t word = 0;

		while (i < length && text[i] == ' ')
			i++;
		while (i + word < length && text[i + word] != ' ')
			word++;
		if (word == 0)
			break;
		if (column > indent && column + 1 + word > WIDTH) {
			buffer_add(out, "\n", 1);
			add_spaces(out, indent);
			column = indent;
		} else if (column > indent) {
			buffer_add(out, " ", 1);
			column++;
		}
		buffer_add(out, text + i, word);
		column += word;
		i += word;
	}
	buffer_add(out, "\n", 1);
}

/*
 * Calls add_wrapped for each paragraph of a text with \n between them, and puts an empty line
 * between two.
 */
static void add_paragraphs(struct buffer *out, const char *text)
{
	for (;;) {
		size_t length = strcspn(text, "\n");

		add_wrapped(out, 0, 0, text, length);
		if (text[length] == '\0')
			return;
		buffer_add(out, "\n", 1);
		text += length + 1;
	}
}

/* Appends "Usage: cordon NAME ..." with one wrapped entry for each line of usage. */
static void add_usage(struct buffer *out, const struct command_text *text)
{
	const char *lead = "Usage:", *line = text->usage;

	for (;;) {
		size_t start = out->length, length = strcspn(line, "\n"), column;

		buffer_printf(out, "%-6s cordon %s ", lead, text->name);
		column = out->length - start;
		add_wrapped(out, column, column, line, length);
		if (line[length] == '\0')
			return;
		line += length + 1;
		lead = "";
	}
}

/* Appends the lines of an example, those after the first a little further in. */
static void add_example(struct buffer *out, const char *text)
{
	for (const char *lead = "  ";; lead = "    ") {
		size_t length = strcspn(text, "\n");

		buffer_printf(out, "%s%.*s\n", lead, (int)length, text);
		if (text[length] == '\0')
			return;
		text += length + 1;
	}
}

static void add_option(struct buffer *out, const struct option_row *row, enum command_set command)
{
	_cleanup_buffer_ struct buffer words = BUFFER_INIT;
	const char *value = option_default(row, command);
	size_t start = out->length, at;
	char range[96];

	buffer_printf(out, "%*s--%s%s%s", OPTION_INDENT, "", row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
	at = out->length - start;
	if (at + 1 >= HELP_COLUMN) {
		buffer_add(out, "\n", 1);
		at = 0;
	}
	buffer_add_text(&words, row->help);
	if (option_range(row, range, sizeof range)[0])
		buffer_printf(&words, " (%s)", range);
	if (value)
		buffer_printf(&words, " [default: %s]", value);
	if (words.failed)
		out->failed = true;
	else
		add_wrapped(out, at, HELP_COLUMN, words.data, words.length);
}

void help_of_command(struct buffer *out, enum command_set command)
{
	const struct command_text *text = NULL;

	for (size_t i = 0; i < command_text_count; i++) {
		if (command_texts[i].bit == command)
			text = &command_texts[i];
	}
	if (!text)
		return;
	add_usage(out, text);
	buffer_add_text(out, "\n");
	add_paragraphs(out, text->description);
	buffer_add_text(out, "\nOptions:\n");
	for (size_t i = 0; i < option_row_count; i++) {
		if (option_rows[i].commands & command)
			add_option(out, &option_rows[i], command);
	}
	buffer_add_text(out,
		"\nOptions may be shortened as long as they stay distinct. The first word that is\n"
		"no option ends them, and so does --.\n\nExit status:\n");
	for (size_t i = 0; i < status_text_count; i++) {
		const struct status_text *status = &status_texts[i];

		if (!(status->commands & command))
			continue;
		buffer_printf(out, "  %s", status->status);
		add_wrapped(out, 2 + strlen(status->status), STATUS_COLUMN, status->meaning,
			strlen(status->meaning));
	}
	buffer_add_text(out, "\nExample:\n");
	add_example(out, text->example);
}

void help_overview(struct buffer *out)
{
	buffer_add_text(out,
		"Usage: cordon COMMAND [OPTIONS] ...\n"
		"       cordon help COMMAND\n\n"
		"Validates and runs code that a model wrote, inside Linux namespaces that an\n"
		"ordinary user can make, and answers with one honest record.\n\n"
		"Commands:\n");
	for (size_t i = 0; i < command_text_count; i++) {
		const struct command_text *text = &command_texts[i];

		buffer_printf(out, "  %s", text->name);
		add_wrapped(out, 2 + strlen(text->name), 15, text->summary, strlen(text->summary));
	}
	buffer_add_text(out,
		"  help         show the help of a command\n\n"
		"Options:\n"
		"  -h, --help       show this help and end\n"
		"  --version        show the version and end\n\n"
		"Example:\n");
	add_example(out, command_texts[0].example);
	buffer_add_text(out, "\nThe manual is cordon(1).\n");
}

void help_subcommands(struct buffer *out, const char *name)
{
	size_t length = strlen(name);

	buffer_printf(out,
		"Usage: cordon %s COMMAND [OPTIONS] ...\n       cordon %s COMMAND "
		"--help\n\nCommands:\n",
		name, name);
	for (size_t i = 0; i < command_text_count; i++) {
		const struct command_text *text = &command_texts[i];

		if (strncmp(text->name, name, length) != 0 || text->name[length] != ' ')
			continue;
		buffer_printf(out, "  %s", text->name + length + 1);
		add_wrapped(out, 2 + strlen(text->name + length + 1), 13, text->summary,
			strlen(text->summary));
	}
}

void help_version(struct buffer *out)
{
	buffer_add_text(out, "cordon " PACKAGE_VERSION "\n");
}

/* Writes the text to standard output and frees it. Returns the exit status. */
static int print(struct buffer *text)
{
	int status = STATUS_FAILED;

	if (text->failed) {
		fputs("cordon: no memory for the help\n", stderr);
		goto out;
	}
	if (write_all(STDOUT_FILENO, text->data, text->length) == 0)
		status = 0;
	else
		fprintf(stderr, "cordon: standard output cannot be written: %s\n",
			error_errno_name(errno));
out:
	buffer_free(text);
	return status;
}

int print_command_help(enum command_set command)
{
	struct buffer text = BUFFER_INIT;

	help_of_command(&text, command);
	return print(&text);
}

int print_subcommands(const char *name)
{
	struct buffer text = BUFFER_INIT;

	help_subcommands(&text, name);
	return print(&text);
}

int print_overview(void)
{
	struct buffer text = BUFFER_INIT;

	help_overview(&text);
	return print(&text);
}

int print_version(void)
{
	struct buffer text = BUFFER_INIT;

	help_version(&text);
	return print(&text);
}

int command_help(int argc, char **argv)
{
	const struct command_text *command;
	char shown[80];

	if (argc < 2)
		return print_overview();
	if (argc == 3) /* a command of two words */
		snprintf(shown, sizeof shown, "%.38s %.38s", argv[1], argv[2]);
	command = argc == 2 ? command_find(argv[1]) : argc == 3 ? command_find(shown) : NULL;
	if (command)
		return print_command_help(command->bit);
	if (argc == 2 && command_has_subcommands(argv[1]))
		return print_subcommands(argv[1]);
	if (argc == 2 &&
		(strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
			strcmp(argv[1], "-h") == 0))
		return print_overview();
	if (argc > 2)
		fputs("cordon help: one command at a time\n", stderr);
	else
		fprintf(stderr, "cordon help: there is no command \"%s\"; see `cordon --help`\n",
			text_visible_into(
				shown, sizeof shown, argv[1], strlen(argv[1]), TEXT_ONE_LINE));
	return STATUS_USAGE;
}

/* ---- list rules ---- */

/*
 * The validator's rules as text or JSON.
 *
 * They are made from the very tables that the validator is made from. The text is meant for a
 * model's prompt: what a body may do, and every name that is refused, without the reasons.
 */

struct row {
	const char *name, *why, *instead; /* the last two may be NULL */
};

static const struct row RULES[] = {
#define RULE(id, name, reason) { name, reason, NULL },
#include "isolate/runner/validator/rules.def"
#undef RULE
};

static const struct row NAMES[] = {
#define NAME(name, why, rewrite) { name, why, rewrite },
#include "isolate/runner/validator/rules_names.def"
#undef NAME
#define BUILTIN(name)
#define ABSENT(name, why, rewrite) { name, why, rewrite },
#include "isolate/runner/validator/builtins.def"
#undef BUILTIN
#undef ABSENT
};

static const struct row ATTRIBUTES[] = {
#define ATTRIBUTE(name, rule, as_key, rewrite) { name, NULL, rewrite },
#include "isolate/runner/validator/rules_attributes.def"
#undef ATTRIBUTE
};

#define HARMLESS(module)
#define ALONG(package, sub)
#define OPEN(module, name)
#define NEEDED(module)
static const struct row MODULES[] = {
#define NEVER(module, why) { module, why, NULL },
#define ONLY(module, name)
#define GADGET(module, name, why, rewrite)
#include "isolate/runner/validator/rules_modules.def"
#undef NEVER
#undef GADGET
};

static const struct row FUNCTIONS[] = {
#define NEVER(module, why)
#define GADGET(module, name, why, rewrite) { module "." name, why, rewrite },
#include "isolate/runner/validator/rules_modules.def"
#undef ONLY
#undef GADGET
};

static const struct row ONLYS[] = {
#define ONLY(module, name) { module "." name, NULL, NULL },
#define GADGET(module, name, why, rewrite)
#include "isolate/runner/validator/rules_modules.def"
};

static const struct row HARMLESS_MODULES[] = {
#undef HARMLESS
#define HARMLESS(module) { module, NULL, NULL },
#undef ONLY
#define ONLY(module, name)
#include "isolate/runner/validator/rules_modules.def"
};

static const struct section {
	const char *key, *sentence; /* the sentence is NULL for what the text leaves out */
	const struct row *rows;
	size_t count;
} SECTIONS[] = {
#define SECTION(key, sentence, rows) \
	{ \
		key, sentence, rows, sizeof rows / sizeof *rows \
	}
	SECTION("rules", NULL, RULES),
	SECTION("names", "Builtins that are not there", NAMES),
	SECTION("attributes", NULL, ATTRIBUTES),
	SECTION("harmless",
		"Modules of the standard library that can be allowed; every other one needs "
		"--permit, too",
		HARMLESS_MODULES),
	SECTION("modules", NULL, MODULES),
	SECTION("functions", "Refused although their module is allowed", FUNCTIONS),
	SECTION("only", "Of these modules nothing but", ONLYS),
};

static const char INTRODUCTION[] =
	"The code is the body of a Python function. Its argument is the dict args; it ends with "
	"return and a value that JSON can say.\n"
	"Imports: only modules that are allowed by name; a submodule by its full name.\n"
	"Attributes: none like __x__ but __name__ and __doc__, and __init__ in "
	"super().__init__(...) or Base.__init__(self, ...);\n"
	"none of frames, tracebacks, generators and code (f_*, tb_*, gi_*, cr_*, ag_*, co_*); none "
	"that begin with _ on objects of others.\n"
	"type(x) only as type(x).__name__; super() only as super().method(...); str.format only on "
	"a template that is written out.\n"
	"No files, no programs, no input; no modules as values, no changes to what is imported, no "
	"metaclasses.\n";

static void write_text(const struct section *s, struct buffer *out)
{
	buffer_printf(out, "%s:", s->sentence);
	for (size_t i = 0; i < s->count; i++)
		buffer_printf(out, "%s %s", i ? "," : "", s->rows[i].name);
	buffer_add_text(out, ".\n");
}

static void write_rows(struct json_writer *w, const struct section *s)
{
	json_key(w, s->key);
	json_open_array(w);
	for (size_t i = 0; i < s->count; i++) {
		json_open_object(w);
		json_key(w, "name");
		json_string(w, s->rows[i].name);
		json_key(w, "why");
		json_string(w, s->rows[i].why);
		json_key(w, "instead");
		json_string(w, s->rows[i].instead);
		json_close_object(w);
	}
	json_close_array(w);
}

void list_rules(bool json, struct buffer *out)
{
	struct json_writer w;

	if (!json)
		buffer_add_text(out, INTRODUCTION);
	json_begin(&w, out);
	if (json)
		json_open_object(&w);
	for (size_t i = 0; i < sizeof SECTIONS / sizeof *SECTIONS; i++) {
		if (json)
			write_rows(&w, &SECTIONS[i]);
		else if (SECTIONS[i].sentence)
			write_text(&SECTIONS[i], out);
	}
	if (json)
		json_close_object(&w);
	else if (out->length > 0)
		out->length--; /* the printer of answers ends the line */
}
