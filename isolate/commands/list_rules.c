/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validator's rules as text or JSON. See list_rules.h.
 *
 * They are made from the very tables that the validator is made from. The text is meant for a model's prompt: what a
 * body may do, and every name that is refused, without the reasons.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/commands/list_rules.h"

#include <string.h>

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
#define SECTION(key, sentence, rows) { key, sentence, rows, sizeof rows / sizeof *rows }
	SECTION("rules", NULL, RULES),
	SECTION("names", "Builtins that are not there", NAMES),
	SECTION("attributes", NULL, ATTRIBUTES),
	SECTION("harmless", "Modules of the standard library that can be allowed; every other one needs --permit, too", HARMLESS_MODULES),
	SECTION("modules", NULL, MODULES),
	SECTION("functions", "Refused although their module is allowed", FUNCTIONS),
	SECTION("only", "Of these modules nothing but", ONLYS),
};

static const char INTRODUCTION[] =
	"The code is the body of a Python function. Its argument is the dict args; it ends with return and a value that JSON can say.\n"
	"Imports: only modules that are allowed by name; a submodule by its full name.\n"
	"Attributes: none like __x__ but __name__ and __doc__, and __init__ in super().__init__(...) or Base.__init__(self, ...);\n"
	"none of frames, tracebacks, generators and code (f_*, tb_*, gi_*, cr_*, ag_*, co_*); none that begin with _ on objects of others.\n"
	"type(x) only as type(x).__name__; super() only as super().method(...); str.format only on a template that is written out.\n"
	"No files, no programs, no input; no modules as values, no changes to what is imported, no metaclasses.\n";

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
