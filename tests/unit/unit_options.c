/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: values and their edges, the command line, and that the help agrees with the table.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "isolate/commands/manual_tables.h"
#include "isolate/commands/help.h"
#include "isolate/options/option_table.h"
#include "isolate/options/options.h"
#include "tests/unit/tap.h"
#include "tests/unit/temporary.h"

static struct error err;

/*
 * Sets one option of a fresh struct, and checks that it was refused with both parts in the message.
 */
static void refused(enum command_set command, const char *name, const char *value, const char *part)
{
	struct options o;

	options_init(&o, command);
	memset(&err, 0, sizeof err);
	ok(options_set(&o, command, name, value, &err) == -1 && err.code == FAILURE_BAD_OPTION,
		"--%s \"%.40s\" is refused", name, value ? value : "(none)");
	has(err.context, name, "and the message names the option");
	has(err.context, part, "and says what is wrong");
	options_free(&o);
}

static bool accepted(
	struct options *o, enum command_set command, const char *name, const char *value)
{
	bool good;

	memset(&err, 0, sizeof err);
	good = options_set(o, command, name, value, &err) == 0;
	ok(good, "--%s \"%.40s\" is accepted", name, value ? value : "(none)");
	if (!good)
		diag("%s", err.context);
	return good;
}

static void test_defaults(void)
{
	struct options o;

	options_init(&o, FOR_RUN);
	is_str(o.tier, "namespace", "the tier of run");
	is_int(o.timeout_us, 0, "no time limit of run");
	is_int(o.memory_bytes, INT64_C(512) << 20, "the memory of run");
	is_int(o.pids, 256, "the processes of run");
	is_int(o.nofile, 256, "the open files of run");
	is_int(o.fsize_bytes, INT64_C(1024) << 20, "the file size of run");
	is_int(o.workspace_bytes, INT64_C(1024) << 20, "the workspace of run");
	is_int(o.output_limit_bytes, 1 << 20, "the output limit of run");
	is_int(o.network, NETWORK_NONE, "the network of run");
	is_str(o.python, "python3", "the interpreter of run");
	ok(!o.stdin_open && !o.tty && !o.json && !o.wait_all && !o.limit_address_space &&
			!o.export_dir && !o.env.count && !o.ro_count,
		"and nothing else is set");
	options_free(&o);
	ok(!o.tier && !o.python, "what was freed is empty");
	options_init(&o, FOR_EXEC);
	is_int(o.timeout_us, 5000000, "the time limit of exec");
	is_int(o.memory_bytes, INT64_C(128) << 20, "the memory of exec");
	options_free(&o);
	options_init(&o, FOR_VALIDATE);
	is_int(o.timeout_us, 5000000, "the time limit of validate");
	options_free(&o);
}

static void test_numbers(void)
{
	static const char *const bad[] = { "", "-1", "-0", "+1", " 1", "1 ", "abc", "1s", "0x10",
		"1e3", "nan", "NaN", "inf", "-inf", "infinity", "1,5", "1.2.3", ".", "1_000",
		"1000001", "99999999999999999999999999", "0.0001", "\xd9\xa1" };
	static const struct {
		const char *text;
		int64_t us;
	} good[] = { { "0", 0 }, { "0.0", 0 }, { "0.5", 500000 }, { ".5", 500000 },
		{ "5.", 5000000 }, { "2.345678", 2345678 }, { "0.001", 1000 },
		{ "1000000", INT64_C(1000000000000) },
		{ "0.1000000000000000000000000000001", 100000 }, { "007", 7000000 } };
	struct options o;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refused(FOR_RUN, "timeout", bad[i],
			"give seconds from 0.001 to 1000000, or 0 for none");
	options_init(&o, FOR_RUN);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		accepted(&o, FOR_RUN, "timeout", good[i].text);
		is_int(o.timeout_us, good[i].us, "and is that many microseconds");
	}
	accepted(&o, FOR_RUN, "memory", "1.5");
	is_int(o.memory_bytes, 1572864, "fractions of a MB are kept");
	ok(options_set(&o, FOR_RUN, "memory", "nan", &err) == -1 && o.memory_bytes == 1572864,
		"a value that is refused changes nothing");
	accepted(&o, FOR_RUN, "pids", "1");
	accepted(&o, FOR_RUN, "fsize", "0");
	is_int(o.fsize_bytes, 0, "no file may be written");
	options_free(&o);
	refused(FOR_RUN, "memory", "0", "MB from 1 to 1048576");
	refused(FOR_RUN, "memory", "1048577", "out of range");
	refused(FOR_RUN, "workspace-size", "0", "out of range");
	refused(FOR_RUN, "pids", "0", "a whole number from 1 to 100000");
	refused(FOR_RUN, "pids", "1.5", "is no whole number");
	refused(FOR_RUN, "nofile", "3", "out of range");
	refused(FOR_RUN, "output-limit", "67108865", "out of range");
	refused(FOR_RUN, "pids", NULL, "a value is missing: N");
}

static void test_lists(void)
{
	struct options o;

	options_init(&o, FOR_EXEC);
	accepted(&o, FOR_EXEC, "allow", "json, re");
	accepted(&o, FOR_EXEC, "allow", "xml.etree.ElementTree");
	accepted(&o, FOR_EXEC, "allow", "");
	accepted(&o, FOR_EXEC, "allow", "  ");
	ok(o.allow.count == 3 && strcmp(o.allow.items[0], "json") == 0 &&
			strcmp(o.allow.items[1], "re") == 0 &&
			strcmp(o.allow.items[2], "xml.etree.ElementTree") == 0,
		"lists split at commas and add up");
	ok(options_set(&o, FOR_EXEC, "allow", "a,b,,c", &err) == -1 && o.allow.count == 3,
		"a list that is refused adds nothing");
	accepted(&o, FOR_EXEC, "permit", "__init__,type,na\xc3\xafve");
	is_int(o.permit.count, 3, "names that are not ASCII too");
	options_free(&o);
	refused(FOR_EXEC, "allow", "a,,b", "an empty name");
	refused(FOR_EXEC, "allow", ",", "an empty name");
	refused(FOR_EXEC, "allow", "a b", "is no name");
	refused(FOR_EXEC, "allow", "os;import sys", "is no name");
	refused(FOR_EXEC, "allow", "a\nb", "<U+000A>");
	refused(FOR_EXEC, "allow", "json=x", "is no name");
	options_init(&o, FOR_RUN);
	for (int i = 0; i < 1024; i++)
		options_set(&o, FOR_RUN, "copy-in", "f", NULL);
	is_int(o.copy_in.count, 1024, "a list may have 1,024 items");
	ok(options_set(&o, FOR_RUN, "copy-in", "f", &err) == -1 && o.copy_in.count == 1024,
		"and no more");
	options_free(&o);
	refused(FOR_RUN, "copy-in", "", "an empty FILE");
}

static void test_environment(void)
{
	static const char *const bad[] = { "", "=", "=x", "1A=x", "A B=x", "A-B=x", "a.b=x",
		"\xc3\xa9=x", "A\n=x" };
	struct options o;

	options_init(&o, FOR_RUN);
	accepted(&o, FOR_RUN, "env", "A=1");
	accepted(&o, FOR_RUN, "env", "_b9=x=y");
	accepted(&o, FOR_RUN, "env", "EMPTY=");
	accepted(&o, FOR_RUN, "env", "LD_PRELOAD=/x.so");
	accepted(&o, FOR_RUN, "env", "A=2");
	is_int(o.env.count, 4, "a name given again is replaced");
	is_str(o.env.items[0], "A=2", "by its later value");
	accepted(&o, FOR_RUN, "inherit-env", "TERM");
	is_str(o.inherit_env.items[0], "TERM", "a name to inherit");
	options_free(&o);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		refused(FOR_RUN, "env", bad[i], i == 0 ? "has no =" : "is no variable's name");
	refused(FOR_RUN, "env", "A", "--inherit-env");
	refused(FOR_RUN, "inherit-env", "A=1", "is no variable's name");
	refused(FOR_RUN, "inherit-env", "", "is no variable's name");
}

static void test_binds(void)
{
	static const struct {
		const char *value, *source, *target;
	} good[] = {
		{ "/data", "/data", "/data" },
		{ "/data:/in", "/data", "/in" },
		{ "data:/in", "data", "/in" },
		{ "/a//b/./c/", "/a//b/./c/", "/a/b/c" },
		{ "/x:/a/../b/../../c", "/x", "/c" },
		{ "/x:y:/z", "/x:y", "/z" },
		{ "/x:/y:/z", "/x:/y", "/z" },
		{ "/x:/..a/b..", "/x", "/..a/b.." },
	};
	char cwd[4096], wanted[4200];
	struct options o;

	options_init(&o, FOR_RUN);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		if (!accepted(&o, FOR_RUN, "ro", good[i].value))
			continue;
		is_str(o.ro[o.ro_count - 1].source, good[i].source, "the source as it was given");
		is_str(o.ro[o.ro_count - 1].target, good[i].target, "the place inside, normalised");
	}
	if (accepted(&o, FOR_RUN, "ro", "some/./dir/../file") && getcwd(cwd, sizeof cwd)) {
		snprintf(wanted, sizeof wanted, "%s/some/file", cwd);
		is_str(o.ro[o.ro_count - 1].target, wanted,
			"a relative source is shown at its absolute place");
	}
	options_free(&o);
	refused(FOR_RUN, "ro", "", "an empty source");
	refused(FOR_RUN, "ro", ":/x", "an empty source");
	refused(FOR_RUN, "ro", "/x:", "is no absolute path");
	refused(FOR_RUN, "ro", "/x:y", "is no absolute path");
	refused(FOR_RUN, "ro", "/", "cover the whole sandbox");
	refused(FOR_RUN, "ro", "/x:/a/..", "cover the whole sandbox");
	refused(FOR_RUN, "ro", "/x:/../..", "cover the whole sandbox");
}

static void test_texts(void)
{
	struct options o;

	options_init(&o, FOR_RUN);
	accepted(&o, FOR_RUN, "tier", "subprocess");
	accepted(&o, FOR_RUN, "tier", "one of a third party");
	is_str(o.tier, "one of a third party", "the last value of a text counts");
	accepted(&o, FOR_RUN, "network", "allow");
	is_int(o.network, NETWORK_ALLOW, "the network is allowed");
	accepted(&o, FOR_RUN, "tty", NULL);
	ok(o.tty, "a flag is set");
	options_free(&o);
	refused(FOR_RUN, "tier", "", "an empty NAME");
	refused(FOR_RUN, "network", "yes", "give none or allow");
	refused(FOR_RUN, "network", "", "give none or allow");
	refused(FOR_RUN, "tty", "yes", "takes no value");
	refused(FOR_RUN, "allow", "re",
		"is an option of cordon exec and validate, not of cordon run");
	refused(FOR_EXEC, "code", "x", "is an option of cordon run, not of cordon exec");
	refused(FOR_RUN, "timeuot", "1", "did you mean --timeout?");
	refused(FOR_RUN, "inherit_env", "A", "did you mean --inherit-env?");
	refused(FOR_RUN, "xyzzy", "1", "has no option --xyzzy");
	ok(!strstr(err.context, "did you mean"),
		"and nothing is guessed for a name that is like no other");
	refused(FOR_RUN, "help", NULL, "command line only");
}

static void test_args(void)
{
	static const char text[] = "{\"id\":9007199254740993,\"s\":\"a\\u0000b\"}";
	char *path = make_file(text, sizeof text - 1), *at = NULL, *big;
	struct options o;

	options_init(&o, FOR_EXEC);
	accepted(&o, FOR_EXEC, "args", text);
	is_str(o.args_json, text, "arguments are kept as they were written");
	if (asprintf(&at, "@%s", path) > 0) {
		accepted(&o, FOR_EXEC, "args", at);
		is_str(o.args_json, text, "those of a file too");
	}
	unlink(path);
	ok(options_set(&o, FOR_EXEC, "args", at, &err) == -1 && err.code == FAILURE_PATH_MISSING &&
			err.sys_errno == ENOENT,
		"a file that is not there is path_missing");
	ok(options_set(&o, FOR_EXEC, "args", "@/", &err) == -1 &&
			err.code == FAILURE_PATH_MISSING && err.sys_errno == EISDIR,
		"so is a directory");
	is_str(o.args_json, text, "and the arguments are as before");
	free(at);
	free(path);
	big = malloc((17 << 20) + 1);
	if (big) {
		memset(big, ' ', 17 << 20);
		memcpy(big, "{}", 2);
		path = make_file(big, 16 << 20);
		if (asprintf(&at, "@%s", path) > 0) {
			accepted(&o, FOR_EXEC, "args", at);
			free(at);
		}
		unlink(path);
		free(path);
		path = make_file(big, (16 << 20) + 1);
		if (asprintf(&at, "@%s", path) > 0) {
			ok(options_set(&o, FOR_EXEC, "args", at, &err) == -1 &&
					err.code == FAILURE_BAD_OPTION,
				"a file of 16 MiB and a byte is refused");
			has(err.context, "longer than 16777216 bytes", "and the bound is named");
			free(at);
		}
		unlink(path);
		free(path);
		big[17 << 20] = '\0';
		ok(options_set(&o, FOR_EXEC, "args", big, &err) == -1 &&
				err.code == FAILURE_BAD_OPTION,
			"so is a text of 17 MiB");
		free(big);
	}
	options_free(&o);
	refused(FOR_EXEC, "args", "", "not accepted as JSON: the text ends too early");
	refused(FOR_EXEC, "args", "{", "the text ends too early");
	refused(FOR_EXEC, "args", "[1]", "an object was expected");
	refused(FOR_EXEC, "args", "{\"a\":1,\"a\":2}", "duplicate key \"a\"");
	refused(FOR_EXEC, "args", "{\"a\":NaN}", "a value was expected");
}

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

static void bad_line(const char *part, enum command_set command, char **argv)
{
	struct options o;
	bool help;

	is_int(parse(&o, command, &help, argv), -1, "a command line with %s is refused", argv[1]);
	is_int(err.code, FAILURE_BAD_OPTION, "as a bad option");
	has(err.context, part, "and the message says why");
	options_free(&o);
}

#define BAD_LINE(part, command, ...) bad_line(part, command, (char *[]){ "x", __VA_ARGS__, NULL })

static void test_command_line(void)
{
	struct options o;
	bool help;

	is_int(PARSE(&o, FOR_RUN, &help, "run", "--timeout", "2", "--json", "ls", "--json", "-l"),
		4, "options end at the first other word");
	ok(o.timeout_us == 2000000 && o.json && !help, "and are set");
	options_free(&o);
	is_int(PARSE(&o, FOR_RUN, &help, "run", "--timeout=0.5", "--", "--weird"), 3,
		"-- ends them too");
	is_int(o.timeout_us, 500000, "a value after =");
	options_free(&o);
	is_int(PARSE(&o, FOR_RUN, &help, "run", "--time", "3", "--mem=64", "true"), 4,
		"options may be shortened");
	ok(o.timeout_us == 3000000 && o.memory_bytes == 64 << 20, "and are understood");
	options_free(&o);
	is_int(PARSE(&o, FOR_EXEC, &help, "exec", "--allow", "a,b", "--allow", "c", "-"), 5,
		"a lone dash is a word");
	is_int(o.allow.count, 3, "lists add up");
	options_free(&o);
	is_int(PARSE(&o, FOR_RUN, &help, "run"), 1, "no words at all");
	options_free(&o);
	is_int(PARSE(&o, FOR_RUN, &help, "run", "--env", "A=--json", "--env", "B=", "x"), 5,
		"a value may look like an option");
	is_str(o.env.items[0], "A=--json", "and is taken");
	options_free(&o);
	ok(PARSE(&o, FOR_RUN, &help, "run", "--help", "--no-such-thing") > 0 && help,
		"--help wins over what follows");
	options_free(&o);
	ok(PARSE(&o, FOR_EXEC, &help, "exec", "-h") > 0 && help, "-h is help");
	options_free(&o);
	BAD_LINE("did you mean --timeout?", FOR_RUN, "--timeot", "2");
	BAD_LINE("has no option --frobnicate", FOR_RUN, "--frobnicate=3");
	BAD_LINE("has no option -x", FOR_RUN, "-x");
	BAD_LINE("has no option -xyz", FOR_RUN, "-xyz", "ls");
	BAD_LINE("a value is missing: S", FOR_RUN, "--timeout");
	BAD_LINE("--json: takes no value", FOR_RUN, "--json=yes");
	BAD_LINE("could be any of --tier, --timeout, --tty", FOR_RUN, "--t");
	BAD_LINE("is an option of cordon exec and validate, not of cordon run", FOR_RUN, "--allow",
		"re");
	BAD_LINE("is an option of cordon run, not of cordon exec", FOR_EXEC, "--tty");
	BAD_LINE("--timeout: \"soon\" is no number", FOR_RUN, "--timeout=soon");
	BAD_LINE("<U+001B>", FOR_RUN, "--\x1b[2J");
	is_int(PARSE(&o, FOR_RUN, &help, "run", "--json"), 2, "parsing starts afresh each time");
	options_free(&o);
}

static void test_table(void)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		size_t same = 0;

		for (size_t j = 0; j < option_row_count; j++)
			same += strcmp(option_rows[j].name, row->name) == 0;
		ok(same == 1 && row->help[0] && row->help[strlen(row->help) - 1] != '.',
			"--%s occurs once and has a help text", row->name);
	}
}

static void test_help(void)
{
	for (size_t c = 0; c < command_text_count; c++) {
		struct buffer out = BUFFER_INIT;
		size_t column = 0, widest = 0;
		char example[256];

		help_of_command(&out, command_texts[c].bit);
		for (size_t i = 0; i < out.length; i++) {
			column = out.data[i] == '\n' ? 0 : column + 1;
			widest = column > widest ? column : widest;
		}
		ok(widest <= 80, "the help of %s keeps to 80 columns", command_texts[c].name);
		for (size_t i = 0; i < option_row_count; i++) {
			char name[64];

			snprintf(name, sizeof name, "\n  --%s", option_rows[i].name);
			if (option_rows[i].commands & command_texts[c].bit)
				has(out.data, name, "and lists --%s", option_rows[i].name);
			else
				ok(!strstr(out.data, name), "and does not list --%s",
					option_rows[i].name);
		}
		has(out.data, "Usage: cordon ", "and begins with the usage");
		has(out.data, "Exit status:", "and tells the exit statuses");
		snprintf(example, sizeof example, "Example:\n  %.*s\n",
			(int)strcspn(command_texts[c].example, "\n"), command_texts[c].example);
		has(out.data, example, "and shows the example");
		buffer_free(&out);
	}
}

int main(void)
{
	plan(0);
	test_defaults();
	test_numbers();
	test_lists();
	test_environment();
	test_binds();
	test_texts();
	test_args();
	test_command_line();
	test_table();
	test_help();
	return done();
}
