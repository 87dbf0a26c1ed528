/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test program in C that speaks TAP.
 *
 *	int main(void) { plan(0); ok(1 + 1 == 2, "sums"); return done(); }
 *
 * plan(n) announces n tests, plan(0) leaves the count for done(). Every check prints one line and
 * returns whether it held; a check that fails says where it stands and what it found. done() prints
 * the count and gives main's status: 1 when a check failed or the count is not the plan's. One such
 * header in one program, so the state is static.
 */
#ifndef CORDON_TESTS_TAP_H
#define CORDON_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int planned, run, failed;
} tap_state;

/* Prints text as part of a TAP line or comment: line breaks and controls would end it. */
__attribute__((unused)) static void tap_print(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			printf("\\x%02x", (unsigned char)*text);
		else
			putchar(*text);
	}
}

__attribute__((unused, format(printf, 1, 2))) static void diag(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fputs("# ", stdout);
	tap_print(text);
	putchar('\n');
}

__attribute__((unused)) static void plan(int tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0); /* what was found before a crash must be seen */
	tap_state.planned = tests;
	if (tests > 0)
		printf("1..%d\n", tests);
}

/* The program as a whole has nothing to test here. Ends it. */
__attribute__((unused, noreturn)) static void skip_all(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	exit(0);
}

__attribute__((format(printf, 4, 0))) static bool tap_check(
	bool held, const char *file, int line, const char *format, va_list args)
{
	char name[512];

	vsnprintf(name, sizeof name, format, args);
	for (char *p = name; *p; p++) {
		if (*p == '#') /* would begin a directive */
			*p = '+';
	}
	printf("%s %d - ", held ? "ok" : "not ok", ++tap_state.run);
	tap_print(name);
	putchar('\n');
	if (!held) {
		tap_state.failed++;
		diag("at %s:%d", file, line);
	}
	return held;
}

__attribute__((unused, format(printf, 4, 5))) static bool tap_ok(
	bool held, const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tap_check(held, file, line, format, args);
	va_end(args);
	return held;
}

__attribute__((unused, format(printf, 5, 6))) static bool tap_is_str(
	const char *found, const char *wanted, const char *file, int line, const char *format, ...)
{
	bool held = found && wanted ? strcmp(found, wanted) == 0 : found == wanted;
	va_list args;

	va_start(args, format);
	tap_check(held, file, line, format, args);
	va_end(args);
	if (!held) {
		diag("  found: %s", found ? found : "(null)");
		diag(" wanted: %s", wanted ? wanted : "(null)");
	}
	return held;
}

__attribute__((unused, format(printf, 5, 6))) static bool tap_is_int(
	long long found, long long wanted, const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tap_check(found == wanted, file, line, format, args);
	va_end(args);
	if (found != wanted)
		diag("found %lld, wanted %lld", found, wanted);
	return found == wanted;
}

/* Whether found holds the text wanted. */
__attribute__((unused, format(printf, 5, 6))) static bool tap_has(
	const char *found, const char *wanted, const char *file, int line, const char *format, ...)
{
	bool held = found && strstr(found, wanted);
	va_list args;

	va_start(args, format);
	tap_check(held, file, line, format, args);
	va_end(args);
	if (!held)
		diag("\"%s\" is not in: %s", wanted, found ? found : "(null)");
	return held;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(found, wanted, ...) tap_is_str((found), (wanted), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(found, wanted, ...) \
	tap_is_int((long long)(found), (long long)(wanted), __FILE__, __LINE__, __VA_ARGS__)
#define has(found, wanted, ...) tap_has((found), (wanted), __FILE__, __LINE__, __VA_ARGS__)

/* Counts `tests` checks as skipped, and says why. */
__attribute__((unused)) static void skip(int tests, const char *reason)
{
	while (tests-- > 0)
		printf("ok %d # SKIP %s\n", ++tap_state.run, reason);
}

__attribute__((unused)) static int done(void)
{
	if (tap_state.planned == 0)
		printf("1..%d\n", tap_state.run);
	else if (tap_state.planned != tap_state.run)
		diag("planned %d tests and ran %d", tap_state.planned, tap_state.run);
	if (tap_state.failed)
		diag("%d of %d failed", tap_state.failed, tap_state.run);
	return tap_state.failed || (tap_state.planned && tap_state.planned != tap_state.run) ||
		tap_state.run == 0;
}

#endif
