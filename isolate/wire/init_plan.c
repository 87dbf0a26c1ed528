/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of cordon-init as packed structs. See init_plan.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/wire/init_plan.h"

#include <string.h>

enum { TABLE_ARGV, TABLE_ENV, TABLE_BINDS, TABLE_FILES, TABLE_COPIES, TABLES };

static const struct packed_layout LAYOUT = {
	.name = "the plan of the sandbox",
	.magic = 0x434f5244u,
	.size = sizeof(struct plan),
	.texts_at = offsetof(struct plan, command),
	.text_count = 4,
	.tables_at = offsetof(struct plan, argv),
	.table_count = TABLES,
	.rows = { { sizeof(struct packed_text), 1 }, { sizeof(struct packed_text), 1 },
		{ sizeof(struct plan_bind), 2 }, { sizeof(struct plan_file), 2 },
		{ sizeof(struct plan_copy), 1 } },
};

_Static_assert(offsetof(struct plan, argv) - offsetof(struct plan, command) ==
		4 * sizeof(struct packed_text),
	"the texts are side by side");
_Static_assert(offsetof(struct plan, view_fd_index) - offsetof(struct plan, argv) ==
		TABLES * sizeof(struct packed_table),
	"the tables are side by side");

void plan_begin(struct plan_builder *b)
{
	memset(b, 0, sizeof *b);
	b->plan.runner_fd_index = -1;
	b->plan.view_fd_index = -1;
	b->plan.command = b->plan.directory = b->plan.otherwise = b->plan.workspace =
		packer_string(&b->packer, "");
}

void plan_add_argument(struct plan_builder *b, const char *argument)
{
	struct packed_text row = packer_string(&b->packer, argument);

	packer_row(&b->packer, TABLE_ARGV, &row, sizeof row);
}

void plan_add_environment(struct plan_builder *b, const char *assignment)
{
	struct packed_text row = packer_string(&b->packer, assignment);

	packer_row(&b->packer, TABLE_ENV, &row, sizeof row);
}

void plan_add_bind(struct plan_builder *b, const char *source, const char *target, unsigned flags)
{
	struct plan_bind row = { .source = packer_string(&b->packer, source),
		.target = packer_string(&b->packer, target),
		.flags = flags };

	packer_row(&b->packer, TABLE_BINDS, &row, sizeof row);
}

void plan_add_file(struct plan_builder *b, const char *path, const void *content, size_t length)
{
	struct plan_file row = { .path = packer_string(&b->packer, path),
		.content = packer_text(&b->packer, content, length) };

	packer_row(&b->packer, TABLE_FILES, &row, sizeof row);
}

void plan_add_copy(struct plan_builder *b, const char *name, unsigned fd_index, unsigned mode)
{
	struct plan_copy row = { packer_string(&b->packer, name), fd_index, mode };

	packer_row(&b->packer, TABLE_COPIES, &row, sizeof row);
}

bool plan_has_failed(const struct plan_builder *b)
{
	return b->packer.rows[TABLE_BINDS].failed || b->packer.texts.failed;
}

struct plan_bind *plan_binds_of(const struct plan_builder *b, size_t *count)
{
	*count = b->packer.rows[TABLE_BINDS].length / sizeof(struct plan_bind);
	return (struct plan_bind *)(void *)b->packer.rows[TABLE_BINDS].data;
}

const char *plan_text_of(const struct plan_builder *b, struct packed_text text)
{
	return b->packer.texts.data + text.offset;
}

int plan_finish(struct plan_builder *b, struct error *err)
{
	return packer_finish(&b->packer, &LAYOUT, &b->plan, err);
}

const struct plan *plan_open(int fd, struct error *err)
{
	return packed_open(&LAYOUT, fd, err);
}
