/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: the table is complete and its names are fit to be compared, foreign text cannot reach a
 * terminal through a context, and what is too long is cut visibly.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <errno.h>

#include "isolate/base/error.h"
#include "tests/unit/tap.h"

static void test_table(void)
{
	for (int code = 1; code < FAILURE_COUNT; code++) {
		const char *name = failure_name((enum failure)code);
		bool fit = name[0] != '\0', once = true;

		for (const char *p = name; *p; p++)
			fit = fit && (islower((unsigned char)*p) || *p == '_');
		for (int other = 1; other < code; other++)
			once = once && strcmp(name, failure_name((enum failure)other)) != 0;
		ok(fit && once, "\"%s\" is lower case and occurs once", name);
		ok(failure_meaning((enum failure)code)[0] && failure_remedy((enum failure)code)[0],
			"\"%s\" has a meaning and a remedy", name);
	}
	is_str(failure_name(FAILURE_NONE), "none", "no failure has a name");
	is_str(failure_name(FAILURE_USERNS_DENIED), "userns_denied", "a name is the promised one");
	is_str(failure_name((enum failure)9999), "internal",
		"a code outside the table is an internal one");
	is_str(failure_name((enum failure) - 1), "internal", "a negative one too");
}

static void test_set(void)
{
	struct error err = ERROR_INIT;
	char lengthy[3000];

	is_int(error_set(&err, FAILURE_MOUNT_DENIED, EPERM, "mount of %s on %s", "proc", "/proc"),
		-1, "error_set gives -1");
	is_int(err.code, FAILURE_MOUNT_DENIED, "the code is kept");
	is_int(err.sys_errno, EPERM, "the errno is kept");
	is_str(err.context, "mount of proc on /proc", "the context is formatted");
	is_int(error_set(NULL, FAILURE_INTERNAL, 0, "%s", "nobody listens"), -1,
		"no struct is no crash");
	error_set(&err, FAILURE_PATH_MISSING, ENOENT, "cannot open \"%s\"",
		"a\x1b[2Jb\nc\xe2\x80\xae");
	is_str(err.context, "cannot open \"a<U+001B>[2Jb<U+000A>c<U+202E>\"",
		"foreign text is made visible");
	error_set(&err, FAILURE_PATH_MISSING, ENOENT, "%s", "");
	is_str(err.context, "", "an empty context is empty");
	memset(lengthy, 'x', sizeof lengthy - 1);
	lengthy[sizeof lengthy - 1] = '\0';
	error_set(&err, FAILURE_PATH_MISSING, ENOENT, "%s", lengthy);
	is_int(strlen(err.context), sizeof err.context - 1, "what is too long fills the context");
	is_str(err.context + sizeof err.context - 4, "...", "and its cut is marked");
	for (size_t length = 500; length < 530; length++) {
		/* Characters of two bytes across the cut, wherever it falls. */
		for (size_t i = 0; i + 1 < length; i += 2)
			memcpy(lengthy + i, "\xc3\xa9", 2);
		lengthy[length & ~(size_t)1] = '\0';
		error_set(&err, FAILURE_PATH_MISSING, 0, "%s%s", length & 1 ? "y" : "", lengthy);
		if (strchr(err.context, '<'))
			break;
	}
	ok(!strchr(err.context, '<'), "no character is cut in two");
}

static void test_sentence(void)
{
	struct error err = ERROR_INIT;
	char text[1024], small[20];

	error_set(&err, FAILURE_PROC_MASKED, EPERM, "mount of a private /proc");
	error_sentence(&err, text, sizeof text);
	has(text, "mount of a private /proc: a private /proc cannot be mounted",
		"a sentence begins with what was tried and what it means");
	has(text, "(EPERM: Operation not permitted)", "says what the kernel answered");
	has(text, "; run the enclosing container with an unmasked /proc",
		"and ends with what to do");
	error_set(&err, FAILURE_BAD_OPTION, 0, "--pids: \"x\" is no number");
	is_str(error_sentence(&err, text, sizeof text),
		"--pids: \"x\" is no number; see `cordon COMMAND --help`",
		"a bad option needs no general meaning");
	error_set(&err, FAILURE_BAD_INPUT, 0, "tool.py: holds a NUL byte");
	is_str(error_sentence(&err, text, sizeof text), "tool.py: holds a NUL byte",
		"bad input speaks for itself");
	error_set(&err, FAILURE_BAD_INPUT, 0, "%s", "");
	has(error_sentence(&err, text, sizeof text), "cannot be used as given",
		"unless nothing was said");
	error_set(&err, FAILURE_INTERNAL, 99999, "x");
	has(error_sentence(&err, text, sizeof text), "(E?: unknown to libc)",
		"an errno that libc does not know");
	error_sentence(&err, small, sizeof small);
	is_int(strlen(small), sizeof small - 1, "a small buffer is filled and ended");
	is_str(error_sentence(&err, small, 1), "", "a buffer of one byte is empty");
	is_str(error_errno_name(ENOSPC), "ENOSPC", "the name of an errno");
	is_str(error_errno_name(-5), "E?", "the name of what is none");
}

int main(void)
{
	plan(0);
	test_table();
	test_set();
	test_sentence();
	return done();
}
