/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the JSON Schema of profiles from the table of options. Runs while cordon is built, so the
 * schema that is installed has the options, ranges and words that the program has.
 *
 * A kind of option is a fragment of schema; FRAGMENTS has one for each.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "isolate/options/option_table.h"

#define ITEMS "\"type\": \"array\", \"maxItems\": 1024, \"items\": "
#define PAIRS(names, items) \
	"\"oneOf\": [ { \"type\": \"object\", \"maxProperties\": 1024, " names \
	"\"additionalProperties\": { \"type\": \"string\" } },\n      { " ITEMS \
	"{ \"type\": \"string\", \"pattern\": \"" items "\" } } ]"
#define BINDS ITEMS "{ \"$ref\": \"#/$defs/bind\" }"

_Static_assert(OPTION_ITEMS_MAX == 1024, "maxItems and maxProperties are written out");

/* Those without a fragment have a range. */
static const char *const FRAGMENTS[] = {
	[OPTION_FLAG] = "\"type\": \"boolean\"",
	[OPTION_TEXT] = "\"type\": \"string\", \"minLength\": 1",
	[OPTION_NETWORK] = "\"type\": \"string\", \"enum\": [ \"none\", \"allow\" ]",
	[OPTION_VIEW] = "\"type\": \"string\", \"enum\": [ \"mixed\", \"fuse\", \"bind\" ]",
	[OPTION_NAMES] = ITEMS "{ \"$ref\": \"#/$defs/name\" }",
	[OPTION_LIST] = ITEMS "{ \"type\": \"string\", \"minLength\": 1 }",
	[OPTION_VARIABLE] = ITEMS "{ \"$ref\": \"#/$defs/variable\" }",
	[OPTION_ENV] = PAIRS("\"propertyNames\": { \"$ref\": \"#/$defs/variable\" }, ",
		"^[A-Za-z_][A-Za-z0-9_]*="),
	[OPTION_MASK] = PAIRS("", "^[^=]+="),
	[OPTION_BIND] = BINDS,
	[OPTION_SCRATCH] = BINDS,
	[OPTION_HELP] = NULL,
};

static const char DEFINITIONS[] =
	"  \"$defs\": {\n"
	"    \"variable\": { \"type\": \"string\", \"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\", "
	"\"maxLength\": 256 },\n"
	"    \"name\": { \"type\": \"string\", \"maxLength\": 256,\n"
	"      \"pattern\": \"^[^\\\\u0000- \\\\u007f\\\"'`;:=,()\\\\[\\\\]{}<>/\\\\\\\\]+$\" },\n"
	"    \"bind\": { \"oneOf\": [ { \"type\": \"string\", \"minLength\": 1, \"description\": "
	"\"SRC or SRC:DST\" },\n"
	"      { \"type\": \"object\", \"required\": [ \"source\" ], \"additionalProperties\": "
	"false, \"properties\": {\n"
	"        \"source\": { \"type\": \"string\", \"minLength\": 1 },\n"
	"        \"target\": { \"type\": \"string\", \"pattern\": \"^/\" } } } ] }\n"
	"  }\n}\n";

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_range(const struct option_row *row)
{
	if (row->kind == OPTION_SECONDS)
		printf("\"type\": \"number\", \"anyOf\": [ { \"const\": 0 }, { \"minimum\": %g, "
		       "\"maximum\": %.0f } ]",
			row->low, row->high);
	else
		printf("\"type\": \"%s\", \"minimum\": %g, \"maximum\": %.0f",
			row->kind == OPTION_COUNT ? "integer" : "number", row->low, row->high);
}

static void print_option(const struct option_row *row, int first)
{
	printf("%s\n    ", first ? "" : ",");
	print_string(row->name);
	printf(": { ");
	if (FRAGMENTS[row->kind])
		printf("%s", FRAGMENTS[row->kind]);
	else
		print_range(row);
	printf(",\n      \"description\": ");
	print_string(row->help);
	printf(" }");
}

int main(void)
{
	int count = 0;

	printf("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	       "  \"$id\": \"urn:cordon:profile\",\n  \"title\": \"cordon profile\",\n"
	       "  \"description\": \"Options of an execution, for --profile. Keys are the long "
	       "names of options; an"
	       " option that a command does not have is checked and left out.\",\n"
	       "  \"type\": \"object\",\n  \"additionalProperties\": false,\n  \"properties\": {");
	for (size_t i = 0; i < option_row_count; i++)
		if (!(option_rows[i].commands & NOT_IN_PROFILE))
			print_option(&option_rows[i], count++ == 0);
	printf("\n  },\n%s", DEFINITIONS);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
