/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct with tables and texts in one sealed memory file: how a plan, a body request and the
 * configuration of a view travel.
 *
 * The file holds the struct, then the rows of its tables, then the texts of both. Environment
 * values and arguments thus never stand in a command line. The writer gathers rows and texts in a
 * struct packer; the reader maps the file read-only and checks every offset once. Both sides are
 * built from the same source; the version guards against a stray binary.
 */
#ifndef CORDON_ISOLATE_WIRE_PACKED_H
#define CORDON_ISOLATE_WIRE_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "isolate/base/error.h"
#include "isolate/base/json_write.h"

struct packed_text {
	uint32_t offset, length; /* NUL-terminated; length without the NUL */
};

struct packed_table {
	uint32_t offset, count;
};

/* The first member of every packed struct; packer_finish() fills it. */
struct packed_head {
	uint32_t magic, version;
	uint32_t size; /* of the whole file */
	uint32_t reserved;
};

#define PACKED_TABLES_MAX 5

/* Where the texts and tables of one kind of struct are: members side by side. */
struct packed_layout {
	const char *name; /* for messages */
	uint32_t magic, size;
	uint32_t texts_at, text_count;
	uint32_t tables_at, table_count;
	struct {
		uint32_t size, text_count; /* a row begins with its texts */
	} rows[PACKED_TABLES_MAX];
};

struct packer {
	struct buffer texts, rows[PACKED_TABLES_MAX];
};

/* Adds a text. Its place goes into a row or the struct; until the end it counts from p->texts. */
struct packed_text packer_text(struct packer *p, const void *text, size_t length);
struct packed_text packer_string(struct packer *p, const char *text);

/* Adds a row of that size to a table, by its number in the layout. */
void packer_row(struct packer *p, unsigned table, const void *row, size_t size);

void packer_free(struct packer *p);

/*
 * Writes the struct with its tables and texts to a sealed memfd, and frees the packer. Returns the
 * descriptor, or -1 with RESOURCES_EXHAUSTED, LIMIT_DENIED (RLIMIT_FSIZE), USERNS_DENIED (a filter
 * refuses memory files) or BAD_INPUT (over 1 GiB).
 */
int packer_finish(struct packer *p, const struct packed_layout *l, void *packed, struct error *err);

/*
 * Maps and checks a file of that layout. Returns NULL with INTERNAL or RESOURCES_EXHAUSTED. The
 * mapping lives as long as the process.
 */
const void *packed_open(const struct packed_layout *l, int fd, struct error *err);

/* A text, the rows of a table, and row i of a table of texts, of a struct that was checked. */
const char *packed_string(const void *packed, struct packed_text text);
const void *packed_rows(const void *packed, struct packed_table table);
const char *packed_row_string(const void *packed, struct packed_table table, uint32_t i);

#endif
