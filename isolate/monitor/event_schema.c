/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the JSON Schema of events from their table. Runs while cordon is built, so the schema that
 * is installed cannot differ from what the emitter writes.
 *
 * data of each type is closed: a field that the table does not name for it is refused. A field of
 * bytes may have a second one beside it, in base64.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "isolate/monitor/event_table.h"

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

static void print_kind(enum event_field_kind kind)
{
	static const char *const KINDS[] = {
		[EVENT_KIND_TEXT] = "\"type\": \"string\"",
		[EVENT_KIND_BYTES] = "\"type\": \"string\"",
		[EVENT_KIND_NUMBER] = "\"type\": \"integer\"",
		[EVENT_KIND_DURATION] = "\"type\": \"number\", \"minimum\": 0",
		[EVENT_KIND_TRUTH] = "\"type\": \"boolean\"",
		[EVENT_KIND_WORDS] = "\"type\": \"array\", \"items\": { \"type\": \"string\" }",
		[EVENT_KIND_OBJECT] = "\"type\": \"object\"",
	};

	printf("%s", KINDS[kind]);
}

static void print_field(const struct event_field_text *field, int first)
{
	printf("%s\n        \"%s\": { ", first ? "" : ",", field->name);
	print_kind(field->kind);
	printf(", \"description\": ");
	print_string(field->meaning);
	printf(" }");
	if (field->kind == EVENT_KIND_BYTES)
		printf(",\n        \"%s_b64\": { \"type\": \"string\", \"contentEncoding\": "
		       "\"base64\", \"description\": \"the bytes of %s, where they are no UTF-8\" "
		       "}",
			field->name, field->name);
}

static int print_type(const struct event_type_text *type, int first)
{
	const struct event_field_text *field;
	const char *at = type->fields;
	int optional, count = 0;

	printf("%s\n    { \"if\": { \"properties\": { \"type\": { \"const\": \"%s\" } } },\n      "
	       "\"then\": { \"properties\": { \"data\": { \"description\": ",
		first ? "" : ",", type->name);
	print_string(type->meaning);
	printf(", \"additionalProperties\": false,\n        \"properties\": {");
	while ((field = event_next_field(&at, &optional)))
		print_field(field, count++ == 0);
	if (*at)
		return -1; /* a name in events.def that is no field */
	printf(" },\n        \"required\": [");
	at = type->fields;
	count = 0;
	while ((field = event_next_field(&at, &optional)))
		if (!optional)
			printf("%s\"%s\"", count++ ? ", " : "", field->name);
	printf("] } } } }");
	return 0;
}

int main(void)
{
	printf("{ \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": "
	       "\"An event of cordon (CloudEvents 1.0), schema %d\",\n  \"type\": \"object\",\n"
	       "  \"additionalProperties\": false,\n"
	       "  \"required\": [\"sequence\", \"specversion\", \"id\", \"source\", \"type\", "
	       "\"subject\", \"data\"],\n  \"properties\": {\n"
	       "    \"sequence\": { \"type\": \"integer\", \"minimum\": 0, \"description\": "
	       "\"counts up by one; a gap is what was dropped\" },\n"
	       "    \"specversion\": { \"const\": \"1.0\" },\n    \"id\": { \"type\": \"string\" "
	       "},\n    \"source\": { \"type\": \"string\" },\n"
	       "    \"subject\": { \"type\": \"string\", \"description\": \"the id of the "
	       "execution, or tool:USER/NAME\" },\n"
	       "    \"time\": { \"type\": \"string\", \"format\": \"date-time\" },\n    \"data\": "
	       "{ \"type\": \"object\" },\n    \"type\": { \"enum\": [",
		EVENTS_SCHEMA);
	for (int i = 0; i < EVENT_TYPES; i++)
		printf("%s\"%s\"", i ? ", " : "", event_types[i].name);
	printf("] } },\n  \"allOf\": [");
	for (int i = 0; i < EVENT_TYPES; i++)
		if (print_type(&event_types[i], i == 0) < 0) {
			fprintf(stderr, "schema: %s names a field that does not exist\n",
				event_types[i].name);
			return 1;
		}
	printf("\n  ] }\n");
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
