/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable, bounded byte buffer and a JSON writer on top of it.
 *
 * The buffer remembers the first failure (out of memory, over its cap) and ignores what follows, so
 * callers write a whole document and look at `failed` once at its end. Strings of any bytes can be
 * written: what is not UTF-8 becomes U+FFFD, and characters that act on a terminal or hide in it
 * are written as \uXXXX, which reads back as the same character. Needs text.c beside it.
 */
#ifndef CORDON_ISOLATE_BASE_JSON_WRITE_H
#define CORDON_ISOLATE_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	char *data;    /* NUL-terminated whenever length > 0; owned */
	size_t length; /* bytes, without the NUL */
	size_t capacity;
	size_t cap; /* most bytes it may hold; 0 = 1 GiB */
	bool failed;
};

#define BUFFER_INIT \
	{ \
		NULL, 0, 0, 0, false \
	}

/* Frees what the buffer holds and makes it empty again. */
void buffer_free(struct buffer *b);
/* Appends bytes. */
void buffer_add(struct buffer *b, const void *bytes, size_t length);
void buffer_add_text(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The JSON writer. It places commas by itself: json_key or a value after an earlier one puts the
 * comma in. Depth is bounded at 32 levels, which is deeper than any document of cordon's own.
 */
struct json_writer {
	struct buffer *out;
	unsigned depth;
	uint32_t has_item; /* bit n: level n already holds an item */
	bool after_key;
};

void json_begin(struct json_writer *w, struct buffer *out);
void json_open_object(struct json_writer *w);
void json_close_object(struct json_writer *w);
void json_open_array(struct json_writer *w);
void json_close_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_string(struct json_writer *w, const char *text); /* NULL writes null */
void json_bytes(struct json_writer *w, const void *bytes, size_t length);
void json_integer(struct json_writer *w, int64_t value);
void json_real(struct json_writer *w, double value, int decimals);
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);
/* JSON text already checked by the gate */
void json_raw(struct json_writer *w, const void *bytes, size_t length);

/*
 * Appends one line of JSON with every character that acts on a terminal or hides in it as \uXXXX:
 * the same value, fit for a file that is shown on a terminal.
 */
void json_add_visible(struct buffer *out, const char *json, size_t length);

#endif
