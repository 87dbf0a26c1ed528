/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles, and that the schemas which are installed agree with the tables which the program is
 * made from.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <unistd.h>

#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/commands/manual_tables.h"
#include "isolate/options/option_table.h"
#include "isolate/options/options.h"
#include "tests/unit/tap.h"
#include "tests/unit/temporary.h"

static struct error err;

static int parse(struct options *o, enum command_set command, bool *help, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	memset(&err, 0, sizeof err);
	options_init(o, command);
	return options_parse(o, command, argc, argv, help, &err);
}

#define PARSE(o, command, help, ...) parse(o, command, help, (char *[]){ __VA_ARGS__, NULL })

static void profile(enum command_set command, const char *text, const char *part)
{
	struct options o;
	int result;

	options_init(&o, command);
	memset(&err, 0, sizeof err);
	result = options_profile(&o, command, "p.json", text, strlen(text), &err);
	if (part) {
		ok(result == -1 && err.code == FAILURE_BAD_OPTION, "profile %s is refused", text);
		has(err.context, part, "and the message says why");
		has(err.context, "p.json", "and which profile");
	} else if (!ok(result == 0, "profile %s is accepted", text)) {
		diag("%s", err.context);
	}
	options_free(&o);
}

static void test_profile_values(void)
{
	static const char text[] =
		"{\"tier\":\"subprocess\",\"timeout\":2.5,\"memory\":256,\"limit-address-space\":"
		"true,\"pids\":10,\"nofile\":20,\"fsize\":0.5,\"workspace-size\":8,"
		"\"output-limit\":1000,\"network\":\"allow\",\"ro\":[\"/a\",\"/b:/"
		"c\",{\"source\":\"/d:/e\",\"target\":\"/f\"},{\"source\":\"/g:/h\"}],"
		"\"env\":{\"A\":\"1\",\"B\":\"=\"},\"inherit-env\":[\"TERM\"],\"copy-in\":[\"x,y\"]"
		",\"export\":\"out\",\"allow\":[\"re\"],\"permit\":[\"type\"],"
		"\"preload\":[\"numpy\"],\"python\":\"/usr/bin/"
		"python3\",\"stdin\":true,\"tty\":true,\"wait-all\":true}";
	struct options o;

	options_init(&o, FOR_RUN);
	memset(&err, 0, sizeof err);
	ok(options_profile(&o, FOR_RUN, "p", text, sizeof text - 1, &err) == 0,
		"a profile with everything");
	diag("%s", err.context);
	is_str(o.tier, "subprocess", "tier");
	ok(o.timeout_us == 2500000 && o.memory_bytes == 256 << 20 && o.pids == 10 &&
			o.nofile == 20 && o.fsize_bytes == 1 << 19 &&
			o.workspace_bytes == 8 << 20 && o.output_limit_bytes == 1000,
		"numbers");
	ok(o.limit_address_space && o.stdin_open && o.tty && o.wait_all &&
			o.network == NETWORK_ALLOW,
		"flags and the network");
	is_int(o.ro_count, 4, "binds");
	is_str(o.ro[2].source, "/d:/e", "a source with a colon");
	is_str(o.ro[2].target, "/f", "and its target");
	is_str(o.ro[3].target, "/g:/h", "a source with a colon and without a target");
	ok(o.env.count == 2 && strcmp(o.env.items[1], "B==") == 0, "the environment");
	is_str(o.copy_in.items[0], "x,y", "a file name with a comma");
	ok(o.allow.count == 0 && o.permit.count == 0 && o.preload.count == 0,
		"what run does not have is left out");
	ok(options_profile(&o, FOR_RUN, "p", "{\"tty\":false}", 13, &err) == 0 && !o.tty,
		"a flag can be taken back");
	options_free(&o);
	options_init(&o, FOR_EXEC);
	ok(options_profile(&o, FOR_EXEC, "p", text, sizeof text - 1, &err) == 0 &&
			o.allow.count == 1 && !o.tty,
		"the same profile for exec");
	options_free(&o);
}

static void test_profile_refusals(void)
{
	profile(FOR_RUN, "{}", NULL);
	profile(FOR_RUN, "{\"timeout\":1e0}", NULL);
	profile(FOR_RUN, "{\"env\":[\"A=1\"]}", NULL);
	profile(FOR_RUN, "", "ends too early");
	profile(FOR_RUN, "[]", "an object was expected");
	profile(FOR_RUN, "{\"timeout\":1,}", "not accepted as JSON");
	profile(FOR_RUN, "{\"timeout\":1,\"timeout\":2}", "duplicate key");
	profile(FOR_RUN, "\xef\xbb\xbf{}", "byte order mark");
	profile(FOR_RUN, "{\"tier\":\"a\\u0000b\"}", "U+0000");
	profile(FOR_RUN, "{\"timeuot\":1}", "unknown key \"timeuot\"; did you mean \"timeout\"?");
	profile(FOR_RUN, "{\"Timeout\":1}", "unknown key \"Timeout\"");
	profile(FOR_RUN, "{\"output_limit\":1}", "did you mean \"output-limit\"?");
	profile(FOR_RUN, "{\"zzzzzzzz\":1}", "unknown key");
	profile(FOR_RUN, "{\"timeout\":\"1\"}", "\"timeout\" must be a number");
	profile(FOR_RUN, "{\"timeout\":null}", "must be a number");
	profile(FOR_RUN, "{\"timeout\":-1}", "out of range");
	profile(FOR_RUN, "{\"timeout\":1e300}", "out of range");
	profile(FOR_RUN, "{\"pids\":1.5}", "no whole number");
	profile(FOR_RUN, "{\"pids\":99999999999999999999999999}", "out of range");
	profile(FOR_RUN, "{\"tty\":1}", "must be true or false");
	profile(FOR_RUN, "{\"tier\":1}", "must be a string");
	profile(FOR_RUN, "{\"tier\":\"\"}", "an empty NAME");
	profile(FOR_RUN, "{\"network\":\"some\"}", "give none or allow");
	profile(FOR_RUN, "{\"copy-in\":\"x\"}", "must be an array of strings");
	profile(FOR_RUN, "{\"copy-in\":[1]}", "must be an array of strings");
	profile(FOR_RUN, "{\"env\":{\"A\":1}}", "must be an object of strings");
	profile(FOR_RUN, "{\"env\":{\"A=B\":\"1\"}}", "is no variable's name");
	profile(FOR_RUN, "{\"env\":\"A=1\"}", "must be an object");
	profile(FOR_RUN, "{\"ro\":[{\"source\":\"/a\",\"targt\":\"/b\"}]}",
		"must be an array whose items");
	profile(FOR_RUN, "{\"ro\":[{\"Source\":\"/a\"}]}", "must be an array whose items");
	profile(FOR_RUN, "{\"ro\":[{\"source\":\"/a\",\"target\":\"b\"}]}", "is no absolute path");
	profile(FOR_RUN, "{\"ro\":[5]}", "must be an array whose items");
	profile(FOR_RUN, "{\"script\":\"x\"}", "belongs on the command line");
	profile(FOR_RUN, "{\"json\":true}", "belongs on the command line");
	profile(FOR_RUN, "{\"profile\":\"x\"}", "belongs on the command line");
	profile(FOR_EXEC, "{\"args\":{}}", "belongs on the command line");
	profile(FOR_EXEC, "{\"allow\":[\"a,b\"]}", "each string is one name");
	profile(FOR_EXEC, "{\"allow\":[\"\"]}", "each string is one name");
	profile(FOR_RUN, "{\"allow\":\"re\"}", "must be an array of strings");
	profile(FOR_EXEC, "{\"tty\":\"yes\"}", "must be true or false");
}

static void test_profile_file(void)
{
	static const char text[] = "{\"timeout\":7,\"env\":{\"A\":\"1\"}}";
	char *path = make_file(text, sizeof text - 1);
	struct options o;
	bool help;

	is_int(PARSE(&o, FOR_RUN, &help, "run", "--timeout=1", "--profile", path, "--env", "B=2",
		       "x"),
		6, "a profile on the command line");
	ok(o.timeout_us == 7000000 && o.env.count == 2, "replaces what stands before it");
	options_free(&o);
	PARSE(&o, FOR_RUN, &help, "run", "--profile", path, "--timeout=1", "x");
	is_int(o.timeout_us, 1000000, "and is replaced by what stands after it");
	options_free(&o);
	unlink(path);
	ok(PARSE(&o, FOR_RUN, &help, "run", "--profile", path) == -1 &&
			err.code == FAILURE_PATH_MISSING,
		"a profile that is not there");
	options_free(&o);
	free(path);
}

/* Reads a schema as JSON: of the source tree, or one that the build made. */
static struct json_slice read_schema(const char *variable, const char *name)
{
	static const struct json_gate_rules RULES = { .max_depth = 32, .must_be_object = true };
	static char text[32768];
	const char *source = getenv(variable);
	char path[4096], reason[240];
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof path, "%s/isolate/schemas/%s", source ? source : ".", name);
	file = fopen(path, "re");
	if (file) {
		length = fread(text, 1, sizeof text, file);
		fclose(file);
	}
	ok(length < sizeof text && json_gate_check(&RULES, text, length, reason, sizeof reason),
		"%s is JSON", name);
	return json_slice(text, length);
}

static int count_members(struct json_slice object)
{
	struct json_slice key, value;
	int count = 0;

	for (size_t at = 0; json_next(object, &at, &key, &value);)
		count++;
	return count;
}

/* The word that the schema must use for an option of this kind. */
static const char *schema_type(const struct option_row *row)
{
	static const char *const types[] = {
		[OPTION_FLAG] = "boolean",
		[OPTION_TEXT] = "string",
		[OPTION_SECONDS] = "number",
		[OPTION_MEGABYTES] = "number",
		[OPTION_COUNT] = "integer",
		[OPTION_NETWORK] = "string",
		[OPTION_NAMES] = "array",
		[OPTION_LIST] = "array",
		[OPTION_VARIABLE] = "array",
		[OPTION_BIND] = "array",
		[OPTION_SCRATCH] = "array",
		[OPTION_VIEW] = "string",
	};

	return types[row->kind];
}

static void check_range(const struct option_row *row, struct json_slice property)
{
	struct json_slice bounds = property, either = json_get(property, "anyOf");
	double low, high;
	size_t at = 0;

	if (row->kind == OPTION_SECONDS) /* zero, or within the bounds */
		for (int i = 0; i < 2; i++)
			json_item(either, &at, &bounds);
	low = json_double(json_get(bounds, "minimum"), -1);
	high = json_double(json_get(bounds, "maximum"), -1);
	ok(low >= row->low && low <= row->low && high >= row->high && high <= row->high,
		"the schema has the range of %s", row->name);
}

static void test_profile_schema(void)
{
	struct json_slice schema = read_schema("CORDON_BUILD", "profile.schema.json"),
			  properties = json_get(schema, "properties"), property;
	int known = 0;

	ok(json_kind(json_get(schema, "additionalProperties")) == JSON_FALSE,
		"the schema refuses unknown keys");
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const char *type;

		property = json_get(properties, row->name);
		if (row->commands & NOT_IN_PROFILE) {
			ok(!property.text, "the schema leaves %s out", row->name);
			continue;
		}
		if (!ok(property.text != NULL, "the schema has %s", row->name))
			continue;
		known++;
		type = schema_type(row);
		if (type) /* env has two forms */
			ok(json_is(json_get(property, "type"), type), "and its type");
		if (strcmp(type ? type : "", "number") == 0 ||
			strcmp(type ? type : "", "integer") == 0)
			check_range(row, property);
	}
	is_int(count_members(properties), known, "and nothing else");
}

static void test_record_schema(void)
{
	struct json_slice schema = read_schema("CORDON_SOURCE", "record.schema.json"),
			  properties = json_get(schema, "properties"),
			  required = json_get(schema, "required"), key, value;
	size_t at = 0, in = 0;

	is_int(count_members(properties), field_text_count,
		"the record schema has as many fields as the manual");
	for (size_t i = 0; i < field_text_count; i++) {
		ok(json_next(properties, &at, &key, &value) &&
				json_key_is(key, field_texts[i].name),
			"in the same order: %s", field_texts[i].name);
		if (field_texts[i].always)
			ok(json_item(required, &in, &value) && json_is(value, field_texts[i].name),
				"the required ones too");
	}
	ok(!json_item(required, &in, &value), "and nothing else is required");
}

int main(void)
{
	plan(0);
	test_profile_values();
	test_profile_refusals();
	test_profile_file();
	test_profile_schema();
	test_record_schema();
	return done();
}
