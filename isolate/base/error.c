/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as plain values, and the words for them.
 *
 * All text comes from the one table in failures.def, so that the command line, `--json`, the
 * library, `doctor` and the man page cannot disagree. What a caller puts into the context (file
 * names above all) is foreign text: it passes the sanitiser on its way in, once, so nothing that
 * reads the struct later has to think of it. Nothing here allocates, and nothing here uses a buffer
 * that threads share: strerrorname_np(3) and strerrordesc_np(3) return constants.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isolate/base/text.h"
#include "isolate/base/trace.h"

static const struct words {
	const char *name, *meaning, *remedy;
} words[FAILURE_COUNT] = {
	[FAILURE_NONE] = { "none", "no failure", "" },
#define FAILURE(id, name, meaning, remedy) [FAILURE_##id] = { name, meaning, remedy },
#include "isolate/base/failures.def"
#undef FAILURE
};

static const struct words *words_of(enum failure code)
{
	if ((unsigned)code >= FAILURE_COUNT)
		code = FAILURE_INTERNAL;
	return &words[code];
}

int error_set(struct error *err, enum failure code, int sys_errno, const char *format, ...)
{
	/*
	 * Twice as long as the context, so that what is cut here lies beyond the place where the
	 * sanitiser cuts and marks.
	 */
	char text[2 * sizeof err->context];
	va_list args;
	int length;

	if (!err)
		return -1;
	err->code = code;
	err->sys_errno = sys_errno;
	va_start(args, format);
	length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof text)
		length = length < 0 ? 0 : (int)sizeof text - 1;
	text_visible_into(err->context, sizeof err->context, text, (size_t)length, TEXT_ONE_LINE);
	trace("error", "%s: %s", failure_name(code), err->context);
	return -1;
}

const char *failure_name(enum failure code)
{
	return words_of(code)->name;
}

const char *failure_meaning(enum failure code)
{
	return words_of(code)->meaning;
}

const char *failure_remedy(enum failure code)
{
	return words_of(code)->remedy;
}

const char *error_errno_name(int sys_errno)
{
	const char *name = strerrorname_np(sys_errno);

	return name ? name : "E?";
}

/*
 * Whether the context of this code is a whole sentence already, to which the general meaning would
 * add nothing.
 */
static bool speaks_for_itself(enum failure code)
{
	return code == FAILURE_BAD_OPTION || code == FAILURE_BAD_INPUT;
}

const char *error_sentence(const struct error *err, char *buffer, size_t size)
{
	bool alone = err->context[0] && speaks_for_itself(err->code);
	const char *meaning = alone ? "" : failure_meaning(err->code);
	const char *remedy = err->code == FAILURE_BAD_INPUT ? "" : failure_remedy(err->code);
	const char *description = strerrordesc_np(err->sys_errno);
	char kernel[160] = "";

	if (size == 0)
		return buffer;
	if (err->sys_errno != 0)
		snprintf(kernel, sizeof kernel, " (%s: %s)", error_errno_name(err->sys_errno),
			description ? description : "unknown to libc");
	snprintf(buffer, size, "%s%s%s%s%s%s", err->context,
		err->context[0] && meaning[0] ? ": " : "", meaning, kernel, remedy[0] ? "; " : "",
		remedy);
	return buffer;
}
