/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building and reading plans. See init_plan.h. The reader trusts nothing that it has not checked in
 * check_* below.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/init_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_MAGIC 0x434f5244u
#define PLAN_VERSION 2u
#define PLAN_LIMIT (1u << 30)

void plan_begin(struct plan_builder *b)
{
	memset(b, 0, sizeof *b);
	b->head.magic = PLAN_MAGIC;
	b->head.version = PLAN_VERSION;
	b->head.runner_fd_index = -1;
	b->head.view_fd_index = -1;
	b->head.command = b->head.directory = b->head.otherwise = b->head.workspace =
		plan_add_text(b, "", 0);
}

void plan_abandon(struct plan_builder *b)
{
	buffer_free(&b->bytes);
	buffer_free(&b->argv);
	buffer_free(&b->env);
	buffer_free(&b->binds);
	buffer_free(&b->files);
	buffer_free(&b->copies);
}

struct plan_text plan_add_text(struct plan_builder *b, const void *text, size_t length)
{
	struct plan_text where = { (uint32_t)b->bytes.length, (uint32_t)length };

	if (length > PLAN_LIMIT || b->bytes.length > PLAN_LIMIT)
		b->bytes.failed = true;
	buffer_add(&b->bytes, text, length);
	buffer_add(&b->bytes, "", 1);
	return where;
}

static void add_text_row(struct plan_builder *b, struct buffer *table, const char *text)
{
	struct plan_text row = plan_add_text(b, text, strlen(text));

	buffer_add(table, &row, sizeof row);
}

void plan_add_argument(struct plan_builder *b, const char *argument)
{
	add_text_row(b, &b->argv, argument);
}

void plan_add_environment(struct plan_builder *b, const char *assignment)
{
	add_text_row(b, &b->env, assignment);
}

void plan_add_bind(struct plan_builder *b, const char *source, const char *target, unsigned flags)
{
	struct plan_bind row = { plan_add_text(b, source, strlen(source)),
		plan_add_text(b, target, strlen(target)), flags, 0 };

	buffer_add(&b->binds, &row, sizeof row);
}

void plan_add_file(struct plan_builder *b, const char *path, const void *content, size_t length)
{
	struct plan_file row = { plan_add_text(b, path, strlen(path)),
		plan_add_text(b, content, length) };

	buffer_add(&b->files, &row, sizeof row);
}

void plan_add_copy(struct plan_builder *b, const char *name, unsigned fd_index, unsigned mode)
{
	struct plan_copy row = { plan_add_text(b, name, strlen(name)), fd_index, mode };

	buffer_add(&b->copies, &row, sizeof row);
}

/* Where a table of a given buffer will stand; advances *end. */
static struct plan_table place(const struct buffer *rows, size_t row_size, size_t *end)
{
	struct plan_table table = { (uint32_t)*end, (uint32_t)(rows->length / row_size) };

	*end += rows->length;
	return table;
}

/*
 * Texts were counted from the start of their buffer: every span moves by where that buffer ends up.
 */
static void shift(struct buffer *rows, size_t row_size, size_t texts, uint32_t by)
{
	for (size_t row = 0; row + row_size <= rows->length; row += row_size)
		for (size_t i = 0; i < texts; i++) {
			struct plan_text *text = (struct plan_text *)(void *)(rows->data + row) + i;

			text->offset += by;
		}
}

static int write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return -1;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}

int plan_finish(struct plan_builder *b, struct error *err)
{
	struct buffer *tables[] = { &b->argv, &b->env, &b->binds, &b->files, &b->copies,
		&b->bytes };
	struct plan_text *texts[] = { &b->head.command, &b->head.directory, &b->head.otherwise,
		&b->head.workspace };
	const size_t count = sizeof tables / sizeof *tables;
	size_t end = sizeof b->head;
	int fd = -1;

	for (size_t i = 0; i < count; i++)
		if (tables[i]->failed) {
			error_set(err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM,
				"building the plan of the sandbox");
			goto out;
		}
	b->head.argv = place(&b->argv, sizeof(struct plan_text), &end);
	b->head.env = place(&b->env, sizeof(struct plan_text), &end);
	b->head.binds = place(&b->binds, sizeof(struct plan_bind), &end);
	b->head.files = place(&b->files, sizeof(struct plan_file), &end);
	b->head.copies = place(&b->copies, sizeof(struct plan_copy), &end);
	if (end + b->bytes.length > PLAN_LIMIT) {
		error_set(err, FAILURE_BAD_INPUT, E2BIG,
			"the program, its arguments and files come to over 1 GiB");
		goto out;
	}
	shift(&b->argv, sizeof(struct plan_text), 1, (uint32_t)end);
	shift(&b->env, sizeof(struct plan_text), 1, (uint32_t)end);
	shift(&b->binds, sizeof(struct plan_bind), 2, (uint32_t)end);
	shift(&b->files, sizeof(struct plan_file), 2, (uint32_t)end);
	shift(&b->copies, sizeof(struct plan_copy), 1, (uint32_t)end);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		texts[i]->offset += (uint32_t)end;
	b->head.size = (uint32_t)(end + b->bytes.length);

	fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 && errno == EPERM) {
		error_set(err, FAILURE_USERNS_DENIED, errno, "making a memory file");
		goto out;
	}
	if (fd < 0) {
		error_set(err, FAILURE_RESOURCES_EXHAUSTED, errno,
			"making the memory file of the plan");
		goto out;
	}
	if (write_all(fd, &b->head, sizeof b->head) < 0)
		goto fail;
	for (size_t i = 0; i < count; i++)
		if (tables[i]->length > 0 && write_all(fd, tables[i]->data, tables[i]->length) < 0)
			goto fail;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		goto out;
fail:
	error_set(err, errno == EFBIG ? FAILURE_LIMIT_DENIED : FAILURE_RESOURCES_EXHAUSTED, errno,
		"writing the plan of the sandbox%s",
		errno == EFBIG ? ": the caller's RLIMIT_FSIZE (ulimit -f) is too low for it" : "");
	close(fd);
	fd = -1;
out:
	plan_abandon(b);
	return fd;
}

static bool check_table(const struct plan *p, struct plan_table t, size_t row_size)
{
	return t.offset % 4 == 0 && t.offset <= p->size &&
		t.count <= (p->size - t.offset) / row_size;
}

static bool check_text(const struct plan *p, struct plan_text t)
{
	return t.offset < p->size && t.length < p->size - t.offset &&
		((const char *)p)[t.offset + t.length] == '\0';
}

static bool check_texts(const struct plan *p, struct plan_table t, size_t row_size, size_t texts)
{
	if (!check_table(p, t, row_size))
		return false;
	for (uint32_t row = 0; row < t.count; row++)
		for (size_t i = 0; i < texts; i++)
			if (!check_text(p,
				    ((const struct plan_text *)(const void *)((const char *)p +
					    t.offset + row * row_size))[i]))
				return false;
	return true;
}

const struct plan *plan_open(int fd, struct error *err)
{
	const struct plan *p;
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof *p || st.st_size > PLAN_LIMIT) {
		error_set(err, FAILURE_INTERNAL, errno, "reading the plan of the sandbox");
		return NULL;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		error_set(
			err, FAILURE_RESOURCES_EXHAUSTED, errno, "mapping the plan of the sandbox");
		return NULL;
	}
	if (p->magic != PLAN_MAGIC || p->version != PLAN_VERSION ||
		p->size != (uint64_t)st.st_size || !check_text(p, p->command) ||
		!check_text(p, p->directory) || !check_text(p, p->otherwise) ||
		!check_text(p, p->workspace) ||
		!check_texts(p, p->argv, sizeof(struct plan_text), 1) ||
		!check_texts(p, p->env, sizeof(struct plan_text), 1) ||
		!check_texts(p, p->binds, sizeof(struct plan_bind), 2) ||
		!check_texts(p, p->files, sizeof(struct plan_file), 2) ||
		!check_texts(p, p->copies, sizeof(struct plan_copy), 1)) {
		error_set(err, FAILURE_INTERNAL, 0,
			"the plan of the sandbox is damaged, or cordon and cordon-init are of "
			"different versions");
		return NULL;
	}
	return p;
}

const char *plan_string(const struct plan *p, struct plan_text text)
{
	return (const char *)p + text.offset;
}

const char *plan_row_text(const struct plan *p, struct plan_table table, uint32_t i)
{
	const struct plan_text *rows =
		(const struct plan_text *)(const void *)((const char *)p + table.offset);

	return plan_string(p, rows[i]);
}

const struct plan_bind *plan_binds(const struct plan *p)
{
	return (const struct plan_bind *)(const void *)((const char *)p + p->binds.offset);
}

const struct plan_file *plan_files(const struct plan *p)
{
	return (const struct plan_file *)(const void *)((const char *)p + p->files.offset);
}

const struct plan_copy *plan_copies(const struct plan *p)
{
	return (const struct plan_copy *)(const void *)((const char *)p + p->copies.offset);
}
