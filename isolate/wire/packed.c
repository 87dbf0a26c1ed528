/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading packed structs. See packed.h. The reader uses no offset that packed_open() has
 * not checked.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/packed.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/base/io.h"
#include "isolate/base/cleanup.h"

#define PACKED_VERSION 3u
#define PACKED_LIMIT (1u << 30)

struct packed_text packer_text(struct packer *p, const void *text, size_t length)
{
	struct packed_text place = { (uint32_t)p->texts.length, (uint32_t)length };

	if (length > PACKED_LIMIT || p->texts.length > PACKED_LIMIT)
		p->texts.failed = true;
	buffer_add(&p->texts, text, length);
	buffer_add(&p->texts, "", 1);
	return place;
}

struct packed_text packer_string(struct packer *p, const char *text)
{
	return packer_text(p, text, strlen(text));
}

void packer_row(struct packer *p, unsigned table, const void *row, size_t size)
{
	assert(table < PACKED_TABLES_MAX);
	buffer_add(&p->rows[table], row, size);
}

void packer_free(struct packer *p)
{
	buffer_free(&p->texts);
	for (size_t i = 0; i < PACKED_TABLES_MAX; i++)
		buffer_free(&p->rows[i]);
}

/* The texts stand behind the tables: their offsets grow by where they begin. */
static void move_texts(void *at, size_t count, size_t by)
{
	struct packed_text *texts = at;

	for (size_t i = 0; i < count; i++)
		texts[i].offset += (uint32_t)by;
}

static int write_sealed(const struct packer *p, const struct packed_layout *l, const void *packed,
	struct error *err)
{
	_cleanup_close_ int fd = memfd_create("packed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool written;

	if (fd < 0)
		return error_set(err,
			errno == EPERM ? FAILURE_USERNS_DENIED : FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the memory file of %s", l->name);
	written = write_all(fd, packed, l->size) == 0;
	for (size_t i = 0; written && i < l->table_count; i++)
		written = write_all(fd, p->rows[i].data, p->rows[i].length) == 0;
	if (written && write_all(fd, p->texts.data, p->texts.length) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
			0)
		return steal_fd(&fd);
	return error_set(err, errno == EFBIG ? FAILURE_LIMIT_DENIED : FAILURE_RESOURCES_EXHAUSTED,
		errno, "writing %s%s", l->name,
		errno == EFBIG ? ": the caller's RLIMIT_FSIZE (ulimit -f) is too low for it" : "");
}

int packer_finish(struct packer *p, const struct packed_layout *l, void *packed, struct error *err)
{
	struct packed_table *tables = (void *)((char *)packed + l->tables_at);
	bool failed = p->texts.failed;
	size_t end = l->size;
	int fd = -1;

	for (size_t i = 0; i < l->table_count; i++) {
		size_t count = p->rows[i].length / l->rows[i].size;

		assert(count * l->rows[i].size == p->rows[i].length);
		tables[i] = (struct packed_table){ (uint32_t)end, (uint32_t)count };
		end += p->rows[i].length;
		failed |= p->rows[i].failed;
	}
	if (failed) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "building %s", l->name);
	} else if (end + p->texts.length > PACKED_LIMIT) {
		error_set(err, FAILURE_BAD_INPUT, E2BIG,
			"the program, its arguments and files come to over 1 GiB");
	} else {
		for (size_t i = 0; i < l->table_count; i++)
			for (uint32_t row = 0; row < tables[i].count; row++)
				move_texts(p->rows[i].data + row * l->rows[i].size,
					l->rows[i].text_count, end);
		move_texts((char *)packed + l->texts_at, l->text_count, end);
		*(struct packed_head *)packed = (struct packed_head){ .magic = l->magic,
			.version = PACKED_VERSION,
			.size = (uint32_t)(end + p->texts.length) };
		fd = write_sealed(p, l, packed, err);
	}
	packer_free(p);
	return fd;
}

static bool check_texts(const struct packed_head *h, const void *at, size_t count)
{
	const struct packed_text *texts = at;

	for (size_t i = 0; i < count; i++)
		if (texts[i].offset >= h->size || texts[i].length >= h->size - texts[i].offset ||
			packed_string(h, texts[i])[texts[i].length] != '\0')
			return false;
	return true;
}

static bool check_table(
	const struct packed_head *h, struct packed_table t, uint32_t row_size, uint32_t text_count)
{
	const char *rows = (const char *)h + t.offset;

	if (t.offset % 4 != 0 || t.offset > h->size || t.count > (h->size - t.offset) / row_size)
		return false;
	for (uint32_t row = 0; row < t.count; row++)
		if (!check_texts(h, rows + row * row_size, text_count))
			return false;
	return true;
}

static bool check(const struct packed_layout *l, const struct packed_head *h, off_t size)
{
	const struct packed_table *tables = (const void *)((const char *)h + l->tables_at);

	if (h->magic != l->magic || h->version != PACKED_VERSION || h->size != size ||
		!check_texts(h, (const char *)h + l->texts_at, l->text_count))
		return false;
	for (size_t i = 0; i < l->table_count; i++)
		if (!check_table(h, tables[i], l->rows[i].size, l->rows[i].text_count))
			return false;
	return true;
}

const void *packed_open(const struct packed_layout *l, int fd, struct error *err)
{
	const struct packed_head *h;
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size < (off_t)l->size || st.st_size > PACKED_LIMIT) {
		error_set(err, FAILURE_INTERNAL, errno, "reading %s", l->name);
		return NULL;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (h == MAP_FAILED) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno, "mapping %s", l->name);
		return NULL;
	}
	if (!check(l, h, st.st_size)) {
		error_set(err, FAILURE_INTERNAL, 0,
			"%s is damaged, or programs of cordon are of different versions", l->name);
		return NULL;
	}
	return h;
}

const char *packed_string(const void *packed, struct packed_text text)
{
	return (const char *)packed + text.offset;
}

const void *packed_rows(const void *packed, struct packed_table table)
{
	return (const char *)packed + table.offset;
}

const char *packed_row_string(const void *packed, struct packed_table table, uint32_t i)
{
	const struct packed_text *rows = packed_rows(packed, table);

	return packed_string(packed, rows[i]);
}
