/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error type at module edges.
 *
 * Inside a module a function returns 0 or -1; at its edge it fills a struct error: a code from the
 * closed table in failures.def, the errno that the kernel gave (0 when the kernel had no part in
 * it), and one sentence of context that names the object. The struct is a plain value without
 * allocations, so filling it cannot fail and copying it is free.
 */
#ifndef CORDON_ISOLATE_BASE_ERROR_H
#define CORDON_ISOLATE_BASE_ERROR_H

#include <stddef.h>

enum failure {
	FAILURE_NONE = 0,
#define FAILURE(id, name, meaning, remedy) FAILURE_##id,
#include "isolate/base/failures.def"
#undef FAILURE
	FAILURE_COUNT
};

struct error {
	enum failure code;
	int sys_errno;     /* what the kernel said, or 0 */
	char context[512]; /* what was tried, on what; UTF-8, one line */
};

#define ERROR_INIT \
	{ \
		FAILURE_NONE, 0, "" \
	}

/*
 * Fills *err (which may be NULL) and returns -1, so that a failing function can end with `return
 * error_set(...)`. format and what follows are printf(3)'s; the text is cut to fit and control
 * characters in it are made visible.
 */
int error_set(struct error *err, enum failure code, int sys_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The short name of a code ("userns_denied"), its meaning, and what to do about it. Static strings,
 * never NULL.
 */
const char *failure_name(enum failure code);
const char *failure_meaning(enum failure code);
const char *failure_remedy(enum failure code);

/*
 * The symbolic name of an errno ("EPERM"), or "E?" for one that libc does not know. Static string.
 */
const char *error_errno_name(int sys_errno);

/*
 * One sentence for a person: context, meaning, the kernel's word, the remedy. Always
 * NUL-terminated. Returns buffer.
 */
const char *error_sentence(const struct error *err, char *buffer, size_t size);

#endif
