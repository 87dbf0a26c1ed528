/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specifications of tools, the schemas in them, and what both stand on: the nodes of a
 * document.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/json_gate.h"
#include "isolate/base/json_read.h"
#include "isolate/tools/spec.h"
#include "tests/unit/tap.h"

static const char DOI[] = "{\"name\":\"extract_dois\",\"description\":\"Extract DOIs from a text "
			  "blob.\",\"parameters\":{\"text\":{\"type\":\"string\"}},"
			  "\"implementation\":\"import re\\nreturn {'dois': "
			  "re.findall(r'10\\\\.\\\\d{4,}/[\\\\w.\\\\-/]+', "
			  "args['text'])}\\n\",\"allowed_imports\":[\"re\"],\"timeout_s\":2.0}";

static char *canonical(const char *text, bool normal)
{
	struct buffer out = BUFFER_INIT;
	struct json_tree tree;

	if (json_tree_read(&tree, text, strlen(text)) < 0)
		return NULL;
	(normal ? json_tree_normal : json_tree_canonical)(&tree, 0, &out);
	json_tree_free(&tree);
	return out.data;
}

static void test_tree(void)
{
	static const struct {
		const char *text, *wanted;
	} CASES[] = {
		{ " { \"b\" : 1 , \"a\" : [ true , null , { } , [ ] ] } ",
			"{\"a\":[true,null,{},[]],\"b\":1}" },
		{ "\"\\u0041\\/\\n\\ud83d\\ude00\\u0000\\u001f\"",
			"\"A/\\n\xf0\x9f\x98\x80\\u0000\\u001f\"" },
		{ "{\"\\u0062\":1,\"a\":2.50}", "{\"a\":2.50,\"b\":1}" },
		{ "[12345678901234567890,1E2]", "[12345678901234567890,1E2]" },
	};
	struct json_tree tree;
	char *one, *two;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		char *found = canonical(CASES[i].text, false);

		is_str(found, CASES[i].wanted, "canonical form of %s", CASES[i].text);
		free(found);
	}
	one = canonical("[1.0,1e1,{\"a\":-0}]", true);
	two = canonical("[10e-1,10,{\"a\":0.0}]", true);
	is_str(one, two, "equal numbers have one normal form");
	free(one);
	free(two);
	ok(json_tree_read(&tree, "{\"a\":{\"b\":[1,2]},\"c\":\"x\\\"y\"}", 28) == 0 &&
			tree.nodes[0].count == 2,
		"an object is read");
	ok(json_tree_is(&tree, json_tree_member(&tree, 0, "c"), "x\"y") &&
			json_tree_member(&tree, 0, "b") == 0 &&
			tree.nodes[json_tree_member(&tree, 0, "a")].count == 1,
		"members");
	json_tree_free(&tree);
}

/* What a schema says of a document: "valid", "invalid", or the error that it is refused with. */
static const char *judge(const char *schema, const char *document, struct buffer *why)
{
	static struct error err;
	struct json_tree tree, value;
	struct schema_set *set;
	int status = -1;

	buffer_free(why);
	if (json_tree_read(&tree, schema, strlen(schema)) < 0)
		return "no tree";
	err = (struct error)ERROR_INIT;
	set = schema_read(&tree, 0, "parameters", &err);
	if (set && json_tree_read(&value, document, strlen(document)) == 0) {
		status = schema_check(set, &value, 5, why);
		json_tree_free(&value);
	}
	schema_free(set);
	json_tree_free(&tree);
	return !set ? err.context : status == 0 ? "valid" : status == 1 ? "invalid" : "no memory";
}

/*
 * What the keywords mean, and where it is easily got wrong. The official suite is in
 * schema_suite.t.
 */
static const struct {
	const char *schema, *valid, *invalid; /* documents, with | between */
} CASES[] = {
	{ "{\"type\":\"integer\"}", "1|1.0|-5|12345678901234567890123|1e2",
		"1.5|\"1\"|true|null|[]|{}|1e-1" },
	{ "{\"type\":[\"string\",\"null\"]}", "\"\"|null", "0|false" },
	{ "{\"type\":\"boolean\"}", "true|false", "0|\"true\"|null" },
	{ "{\"enum\":[1,\"a\",null,[1,{\"b\":2}]]}", "1.0|\"a\"|null|[1e0,{\"b\":2.0}]",
		"2|\"b\"|false|[1,{\"b\":3}]" },
	{ "{\"enum\":[0,false]}", "0|false|-0.0", "\"\"|null|[]|1|true" },
	{ "{\"const\":9007199254740993}", "9007199254740993",
		"9007199254740992|9007199254740993.5" },
	{ "{\"const\":\"a\\u0000b\"}", "\"a\\u0000b\"", "\"a\"|\"ab\"" },
	{ "{\"minimum\":9007199254740993,\"maximum\":9007199254740995}",
		"9007199254740993|9007199254740995|\"x\"", "9007199254740992|9007199254740996" },
	{ "{\"exclusiveMinimum\":0,\"exclusiveMaximum\":1}", "0.5|1e-300", "0|1|-1|1.0" },
	{ "{\"multipleOf\":0.0001}", "0.0075|0", "0.00751" },
	{ "{\"multipleOf\":0.5}", "1e308|4.5|-35", "4.25" },
	{ "{\"multipleOf\":3}", "9007199254740993|-21|0", "9007199254740992|10|0.1" },
	{ "{\"minimum\":-9007199254740993}", "-9007199254740993|99.9|1e308", "-9007199254740994" },
	{ "{\"multipleOf\":0.01}", "0|19.99|1e5|\"x\"", "0.001|19.995" },
	{ "{\"minLength\":2,\"maxLength\":3.0}", "\"ab\"|\"\\ud83d\\ude00\\u00e9z\"|5",
		"\"a\"|\"abcd\"|\"\\ud83d\\ude00\"" },
	{ "{\"pattern\":\"^[a-z]+$\"}", "\"abc\"|7", "\"abc\\n\"|\"\"|\"aBc\"" },
	{ "{\"pattern\":\"\\\\d\\\\u0041\\\\p{L}\"}", "\"x1A\\u00e9y\"",
		"\"\\u0661A\\u00e9\"|\"1A1\"" },
	{ "{\"minItems\":1,\"maxItems\":2,\"uniqueItems\":true}", "[1]|[1,\"1\"]|[[1],[2]]",
		"[]|[1,2,3]|[1,1.0]|[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]" },
	{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"number\"}}",
		"[]|[\"a\"]|[\"a\",1,2]", "[1]|[\"a\",\"b\"]" },
	{ "{\"prefixItems\":[true],\"items\":false}", "[]|[1]", "[1,2]" },
	{ "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":false},\"required\":[\"a\"],"
	  "\"additionalProperties\":{\"type\":\"number\"}}",
		"{\"a\":\"x\"}|{\"a\":\"\",\"c\":1}|5",
		"{}|{\"a\":1}|{\"a\":\"x\",\"b\":1}|{\"a\":\"x\",\"c\":\"y\"}" },
	{ "{\"properties\":{\"__proto__\":{\"type\":\"number\"},\"constructor\":{\"type\":"
	  "\"number\"}},\"additionalProperties\":false}",
		"{\"__proto__\":1}|{\"constructor\":1}|{}",
		"{\"__proto__\":\"x\"}|{\"toString\":1}" },
	{ "{\"properties\":{\"\\u0442\\u0435\\u043a\\u0441\\u0442\":{\"type\":\"string\"}},"
	  "\"required\":[\"\\u0442\\u0435\\u043a\\u0441\\u0442\"]}",
		"{\"\xd1\x82\xd0\xb5\xd0\xba\xd1\x81\xd1\x82\":\"\"}", "{}" },
	{ "{\"minProperties\":1,\"maxProperties\":2}", "{\"a\":1}|{\"a\":1,\"b\":2}|[]",
		"{}|{\"a\":1,\"b\":2,\"c\":3}" },
	{ "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "\"x\"|3|null", "2" },
	{ "{\"oneOf\":[{\"multipleOf\":2},{\"multipleOf\":3}]}", "4|9", "6|1|\"x\"" },
	{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":2}],\"not\":{\"const\":1.5}}", "1|2|1.6",
		"0|3|1.5" },
	{ "{\"not\":{}}", "", "1|null|{}" },
	{ "{\"$ref\":\"#/$defs/"
	  "tree\",\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{\"kids\":{\"type\":"
	  "\"array\",\"items\":{\"$ref\":\"#/$defs/tree\"}}},\"additionalProperties\":false}}}",
		"{}|{\"kids\":[{},{\"kids\":[]}]}", "{\"kids\":[{\"kids\":[1]}]}|{\"x\":1}|1" },
	{ "{\"$ref\":\"#/$defs/a~1b%25~0\",\"$defs\":{\"a/b%~\":{\"type\":\"null\"}}}", "null",
		"1" },
	{ "{\"properties\":{\"me\":{\"$ref\":\"#\"}},\"additionalProperties\":false}",
		"{\"me\":{\"me\":{}}}", "{\"me\":{\"you\":1}}" },
	{ "{\"format\":\"date-time\",\"title\":\"t\",\"description\":\"d\",\"default\":1,"
	  "\"examples\":[1],\"deprecated\":true,\"$comment\":\"c\"}",
		"\"no date\"|1", "" },
	{ "{\"type\":\"object\",\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"}",
		"{}", "1" },
	{ "true", "1|{}", "" },
	{ "false", "", "1|{}" },
};

static void test_schemas(void)
{
	struct buffer why = BUFFER_INIT;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
		for (int good = 1; good >= 0; good--) {
			char *documents = strdup(good ? CASES[i].valid : CASES[i].invalid),
			     *rest = documents, *document;

			while (documents[0] && (document = strsep(&rest, "|")))
				is_str(judge(CASES[i].schema, document, &why),
					good ? "valid" : "invalid", "%s with %s", CASES[i].schema,
					document);
			free(documents);
		}
	buffer_free(&why);
}

static void test_schema_errors(void)
{
	static const struct {
		const char *schema, *words;
	} BAD[] = {
		{ "{\"properties\":{\"a\":{\"if\":true}}}",
			"parameters/properties/a/if: this keyword is none that cordon knows" },
		{ "{\"type\":\"text\"}", "parameters/type: a type is one of" },
		{ "{\"type\":[]}", "at least one type" },
		{ "{\"type\":5}", "parameters/type" },
		{ "{\"minLength\":-1}", "parameters/minLength: must be a whole number" },
		{ "{\"minLength\":1.5}", "parameters/minLength" },
		{ "{\"minimum\":\"1\"}", "must be a number" },
		{ "{\"multipleOf\":0}", "greater than 0" },
		{ "{\"pattern\":\"(\"}", "parameters/pattern: no regular expression" },
		{ "{\"pattern\":\"\\\\C\"}", "parameters/pattern" },
		{ "{\"pattern\":[]}", "must be a string" },
		{ "{\"items\":[true]}", "parameters/items: a schema is an object" },
		{ "{\"prefixItems\":[]}", "at least one" },
		{ "{\"anyOf\":[{\"items\":1}]}", "parameters/anyOf/0/items" },
		{ "{\"required\":[\"a\",\"a\"]}", "stands twice" },
		{ "{\"required\":\"a\"}", "array of names" },
		{ "{\"enum\":1}", "array of values" },
		{ "{\"uniqueItems\":1}", "true or false" },
		{ "{\"properties\":[]}", "object of schemas" },
		{ "{\"$ref\":\"#/$defs/x\"}", "leads nowhere" },
		{ "{\"$ref\":\"http://x/\"}", "and nowhere else" },
		{ "{\"$ref\":\"#/properties/a\"}", "and nowhere else" },
		{ "{\"properties\":{\"a\":{\"$defs\":{}}}}", "at the root" },
		{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "2020-12" },
		{ "{\"patternProperties\":{}}", "none that cordon knows" },
	};
	static const char LOOP[] = "{\"$ref\":\"#\"}";
	static const char BUSY[] =
		"{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/"
		"a\"},\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"},{\"$ref\":\"#/$defs/"
		"b\"}]},"
		"\"b\":{\"anyOf\":[{\"$ref\":\"#/$defs/c\"},{\"$ref\":\"#/$defs/"
		"c\"}]},\"c\":{\"anyOf\":[{\"$ref\":\"#/$defs/d\"},{\"$ref\":\"#/$defs/"
		"d\"}]},\"d\":{\"allOf\":[{\"$ref\":\"#/$defs/e\"},"
		"{\"$ref\":\"#/$defs/e\"}],\"type\":\"string\"},\"e\":{\"oneOf\":[{\"$ref\":\"#/"
		"$defs/e\"},{\"$ref\":\"#/$defs/e\"}]}}}";
	struct buffer why = BUFFER_INIT;

	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
		has(judge(BAD[i].schema, "1", &why), BAD[i].words, "%s is refused", BAD[i].schema);
	is_str(judge(LOOP, "1", &why), "invalid", "a schema that refers to itself ends");
	has(why.data, "takes too long", "and says so");
	is_str(judge(BUSY, "[\"x\"]", &why), "invalid", "a schema that branches without end ends");
	has(why.data, "takes too long", "and says so");
	is_str(judge("{\"not\":{\"$ref\":\"#\"}}", "1", &why), "invalid",
		"no answer is never taken for yes, below not either");
	is_str(judge("{\"pattern\":\"^(a+)+$\"}",
		       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", &why),
		"invalid", "a pattern that backtracks without end ends");
	has(why.data, "takes too long", "and says so");
	is_str(judge("{\"not\":{\"pattern\":\"^(a+)+$\"}}",
		       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", &why),
		"invalid", "and is no match below not");
	judge("{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}},\"required\":[\"b\"]}",
		"{\"a\":[\"x\",5]}", &why);
	has(why.data, "/a/1: is of type number and must be of type string",
		"a violation says where");
	has(why.data, "the whole: \"b\" is required and missing", "and there may be several");
	buffer_free(&why);
}

static int read_text(struct spec *spec, const char *text, struct error *err)
{
	return spec_read(spec, text, strlen(text), err);
}

static int read_spec(const char *text, struct error *err, char *hash)
{
	struct spec spec;
	int status;

	*err = (struct error)ERROR_INIT;
	status = spec_read(&spec, text, strlen(text), err);
	if (status == 0 && hash)
		memcpy(hash, spec.hash, sizeof spec.hash);
	if (status == 0)
		spec_free(&spec);
	return status;
}

static void test_spec(void)
{
	static const char LONG_FORM[] =
		"{ \"timeout_s\": 9, \"parameters\": "
		"{\"type\":\"object\",\"required\":[\"text\"],\"properties\":{\"text\":{\"type\":"
		"\"str\\u0069ng\"}},\"additionalProperties\":false},"
		"\"name\":\"other\", \"description\":\"d\", \"allowed_imports\":[\"re\",\"re\"], "
		"\"implementation\":\"import re\\nreturn {'dois': "
		"re.findall(r'10\\\\.\\\\d{4,}/[\\\\w.\\\\-/]+', args['text'])}\\n\"}";
	char hash[SPEC_HASH_ROOM], other[SPEC_HASH_ROOM];
	struct error err;
	struct spec spec, again;

	ok(spec_read(&spec, DOI, sizeof DOI - 1, &err) == 0, "the DOI extractor is read");
	is_str(spec.name, "extract_dois", "name");
	ok(spec.timeout_s == 2 && spec.memory_mb == 128 && spec.import_count == 1 &&
			spec_lines(&spec) == 2,
		"limits, imports, lines");
	is_str(spec.parameters.data,
		"{\"additionalProperties\":false,\"properties\":{\"text\":{\"type\":\"string\"}},"
		"\"required\":[\"text\"],\"type\":\"object\"}",
		"the short form written out");
	ok(spec_read(&again, spec.canonical.data, spec.canonical.length, &err) == 0 &&
			strcmp(again.canonical.data, spec.canonical.data) == 0 &&
			strcmp(again.hash, spec.hash) == 0,
		"the canonical form reads back to itself");
	spec_free(&again);
	ok(read_spec(LONG_FORM, &err, other) == 0 && strcmp(other, spec.hash) == 0,
		"the hash is over code, imports and parameters, however they are spelt: %s",
		err.context);
	is_int(spec_check_arguments(&spec, "{\"text\":\"x\"}", 12, &err), 0, "good arguments");
	is_int(spec_check_arguments(&spec, "{\"text\":1}", 10, &err), -1, "bad arguments");
	has(err.context, "/text: is of type number", "say where");
	ok(spec_check_arguments(&spec, "{\"text\":\"\",\"more\":1}", 20, &err) < 0 &&
			strstr(err.context, "/more: there is no such parameter"),
		"an unknown one");
	spec_free(&spec);
	read_spec("{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "\"return 1\"}",
		&err, hash);
	read_spec("{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "\"return 2\"}",
		&err, other);
	ok(strcmp(hash, other) != 0, "another implementation has another hash");
	read_spec("{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "\"return 1\",\"allowed_imports\":[\"re\"]}",
		&err, other);
	ok(strcmp(hash, other) != 0, "other imports, too");
	ok(read_text(&spec,
		   "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":{\"type\":"
		   "\"integer\",\"default\":1},\"type\":{\"type\":\"string\"}},\"implementation\":"
		   "\"x\"}",
		   &err) == 0 &&
			strstr(spec.parameters.data, "\"required\":[\"type\"]"),
		"a parameter with a default may be left out, and one may be called type");
	spec_free(&spec);
}

#define SPEC_WITH(more) \
	"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":\"return " \
	"1\"" more "}"

static void test_spec_errors(void)
{
	static const struct {
		const char *text, *words;
	} BAD[] = {
		{ "", "not accepted as JSON" },
		{ "[]", "not accepted as JSON" },
		{ "{}", "name: is missing" },
		{ SPEC_WITH(",\"color\":1"), "unknown key \"color\"" },
		{ SPEC_WITH(",\"name\":\"u\""), "duplicate key" },
		{ SPEC_WITH(",\"n\\u0061me\":\"u\""), "duplicate key" },
		{ SPEC_WITH(",\"timeout_s\":0"), "timeout_s: must be a number from" },
		{ SPEC_WITH(",\"timeout_s\":\"5\""), "timeout_s" },
		{ SPEC_WITH(",\"memory_mb\":0.5"), "memory_mb" },
		{ SPEC_WITH(",\"memory_mb\":9007199254740993"), "memory_mb" },
		{ SPEC_WITH(",\"allowed_imports\":\"re\""), "allowed_imports" },
		{ SPEC_WITH(",\"allowed_imports\":[\"re,os\"]"), "allowed_imports/0" },
		{ SPEC_WITH(",\"allowed_imports\":[\"a\",\"\\u0440e\"]"), "allowed_imports/1" },
		{ SPEC_WITH(",\"allowed_imports\":[\"a..b\"]"), "allowed_imports/0" },
		{ SPEC_WITH(",\"__proto__\":{}"), "unknown key \"__proto__\"" },
		{ SPEC_WITH(",\"x\":\"\\u0000\""), "not accepted as JSON" },
		{ SPEC_WITH("} {"), "not accepted as JSON" },
		{ "{\"name\":\"\\u0442\\u0435st\",\"description\":\"d\",\"parameters\":{},"
		  "\"implementation\":\"x\"}",
			"the tool's name" },
		{ "{\"name\":\"../"
		  "x\",\"description\":\"d\",\"parameters\":{},\"implementation\":\"x\"}",
			"the tool's name" },
		{ "{\"name\":\"\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "\"x\"}",
			"the tool's name" },
		{ "{\"name\":\"t\",\"description\":\"\",\"parameters\":{},\"implementation\":"
		  "\"x\"}",
			"description" },
		{ "{\"name\":\"t\",\"description\":\"d\",\"parameters\":[],\"implementation\":"
		  "\"x\"}",
			"parameters: must be an object" },
		{ "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":\"array\"},"
		  "\"implementation\":\"x\"}",
			"parameters/type: must be \"object\"" },
		{ "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":{\"type\":"
		  "\"strnig\"}},\"implementation\":\"x\"}",
			"parameters/properties/a/type" },
		{ "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "\"\"}",
			"implementation: must be a string of 1 to" },
		{ "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":"
		  "null}",
			"implementation" },
	};
	struct error err;

	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
		ok(read_spec(BAD[i].text, &err, NULL) < 0, "refused: %.80s", BAD[i].text);
		has(err.context, BAD[i].words, "and says why");
	}
}

/* Appends length times one byte. */
static void fill(struct buffer *b, char c, size_t length)
{
	while (length-- > 0)
		buffer_add(b, &c, 1);
}

static void test_sizes(void)
{
	static const char HEAD[] =
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{},\"implementation\":\"";
	struct buffer text = BUFFER_INIT;
	struct error err;
	struct spec spec;

	for (size_t over = 0; over < 2; over++) {
		buffer_add_text(&text, HEAD);
		fill(&text, 'x', SPEC_IMPLEMENTATION_MAX + over);
		buffer_add_text(&text, "\"}");
		is_int(read_spec(text.data, &err, NULL), over ? -1 : 0,
			"an implementation of 1 MiB%s", over ? " and a byte" : "");
		buffer_free(&text);
	}
	buffer_add_text(&text,
		"{\"name\":\"t\",\"description\":\"d\",\"implementation\":\"return "
		"1\",\"parameters\":{");
	for (int i = 0; i < 5000; i++)
		buffer_printf(&text, "%s\"p%d\":{\"type\":\"integer\"}", i ? "," : "", i);
	buffer_add_text(&text, "}}");
	ok(spec_read(&spec, text.data, text.length, &err) == 0, "5000 parameters: %s", err.context);
	buffer_free(&text);
	for (int missing = 0; missing < 2; missing++) {
		buffer_add_text(&text, "{\"p0\":12345678901234567890");
		for (int i = 1; i < 5000 - missing; i++)
			buffer_printf(&text, ",\"p%d\":%d", i, i);
		buffer_add_text(&text, "}");
		is_int(spec_check_arguments(&spec, text.data, text.length, &err), missing ? -1 : 0,
			"5000 arguments%s", missing ? " but one" : "");
		buffer_free(&text);
	}
	has(err.context, "\"p4999\" is required and missing", "the missing one is named");
	spec_free(&spec);
	buffer_add_text(&text,
		"{\"name\":\"t\",\"description\":\"d\",\"implementation\":\"return "
		"1\",\"parameters\":{\"a\":");
	for (int i = 0; i < 2000; i++)
		buffer_add_text(&text, "{\"items\":");
	buffer_add_text(&text, "true");
	fill(&text, '}', 2002);
	ok(read_spec(text.data, &err, NULL) < 0 && strstr(err.context, "not accepted as JSON"),
		"a depth of 2000 is refused: %s", err.context);
	buffer_free(&text);
	ok(read_text(&spec,
		   "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":{\"maximum\":"
		   "9007199254740993}},\"implementation\":\"x\"}",
		   &err) == 0 &&
			strstr(spec.parameters.data, "9007199254740993"),
		"a number beyond 2^53 stays what it is");
	ok(spec_check_arguments(&spec, "{\"a\":9007199254740993}", 22, &err) == 0 &&
			spec_check_arguments(&spec, "{\"a\":9007199254740994}", 22, &err) < 0,
		"and decides exactly");
	spec_free(&spec);
}

static char *read_file(const char *name, size_t *length)
{
	const char *source = getenv("CORDON_SOURCE");
	char path[500], *text = malloc(1 << 16);
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", source ? source : ".", name);
	file = fopen(path, "re");
	*length = file && text ? fread(text, 1, 1 << 16, file) : 0;
	if (file)
		fclose(file);
	return text;
}

/* The schema that is installed says what the reader does, in the words that it knows itself. */
static void test_installed_schema(void)
{
	static const char *const KEYWORDS[] = {
#define KEYWORD(name, kind, member) name,
#include "isolate/tools/schema_keywords.def"
#undef KEYWORD
	};
	/*
	 * What a schema cannot say: that a key stands twice, what is no JSON, where a pattern is no
	 * pattern.
	 */
	static const char *const AGREED[] = {
		DOI,
		"{}",
		SPEC_WITH(""),
		SPEC_WITH(",\"color\":1"),
		SPEC_WITH(",\"timeout_s\":0"),
		SPEC_WITH(",\"timeout_s\":0.5"),
		SPEC_WITH(",\"timeout_s\":\"5\""),
		SPEC_WITH(",\"memory_mb\":0.5"),
		SPEC_WITH(",\"memory_mb\":1048577"),
		SPEC_WITH(",\"allowed_imports\":\"re\""),
		SPEC_WITH(",\"allowed_imports\":[\"re\",\"os.path\"]"),
		SPEC_WITH(",\"allowed_imports\":[\"a..b\"]"),
		SPEC_WITH(",\"allowed_imports\":[\"re,os\"]"),
		"{\"name\":\"../"
		"x\",\"description\":\"d\",\"parameters\":{},\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"\",\"parameters\":{},\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":[],\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":\"array\"},"
		"\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":\"object\","
		"\"properties\":{\"a\":{\"minLength\":1}}},\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":\"object\","
		"\"properties\":{\"a\":{\"minLength\":-1}}},\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":{\"if\":true}},"
		"\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":true},"
		"\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":{\"anyOf\":[]}},"
		"\"implementation\":\"x\"}",
		"{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"a\":5},\"implementation\":"
		"\"x\"}",
	};
	size_t length;
	char *text = read_file("isolate/schemas/tool.schema.json", &length);
	struct schema_set *set = NULL;
	struct json_tree tree, value;
	struct error err = ERROR_INIT;
	uint32_t known;

	if (length == 0) {
		skip(1, "CORDON_SOURCE names no source tree");
		free(text);
		return;
	}
	if (json_tree_read(&tree, text, length) == 0)
		set = schema_read(&tree, 0, "tool.schema.json", &err);
	ok(set != NULL, "the installed schema is of the kind that it describes: %s", err.context);
	known = json_tree_member(&tree, json_tree_member(&tree, 0, "$defs"), "schema");
	known = json_tree_member(
		&tree, tree.nodes[json_tree_member(&tree, known, "anyOf") + 1].end, "properties");
	is_int(tree.nodes[known].count, sizeof KEYWORDS / sizeof *KEYWORDS,
		"it names as many keywords as there are");
	for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
		ok(json_tree_member(&tree, known, KEYWORDS[i]) != 0, "it knows %s", KEYWORDS[i]);
	for (size_t i = 0; set && i < sizeof AGREED / sizeof *AGREED; i++) {
		struct buffer why = BUFFER_INIT;

		if (json_tree_read(&value, AGREED[i], strlen(AGREED[i])) == 0) {
			ok((schema_check(set, &value, 5, &why) == 0) ==
					(read_spec(AGREED[i], &err, NULL) == 0),
				"schema and reader agree on %.90s", AGREED[i]);
			json_tree_free(&value);
		}
		buffer_free(&why);
	}
	schema_free(set);
	json_tree_free(&tree);
	free(text);
}

static void test_identities(void)
{
	static const char *const GOOD[] = { "alice", "0", "A-b_c",
		"a234567890123456789012345678901234567890123456789012345678901234" };
	static const char *const BAD[] = { "", ".", "..", "../escape", "_x", "-x", "a/b", "a b",
		"\xd0\xb0lice", "a\n",
		"a2345678901234567890123456789012345678901234567890123456789012345" };
	struct error err;

	for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
		ok(identity_check("the user", GOOD[i], strlen(GOOD[i]), &err) == 0, "an id: %s",
			GOOD[i]);
	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
		ok(identity_check("the user", BAD[i], strlen(BAD[i]), &err) < 0 &&
				err.code == FAILURE_IDENTITY_REFUSED,
			"no id: %s", err.context);
	ok(identity_check("the user", "a\0b", 3, &err) < 0, "no id: one with a NUL in it");
}

int main(void)
{
	plan(0);
	test_tree();
	test_schemas();
	test_schema_errors();
	test_spec();
	test_spec_errors();
	test_sizes();
	test_installed_schema();
	test_identities();
	return done();
}
