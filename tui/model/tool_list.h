/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated tools that the console knows of: two lists as the daemon gave them last, what waits
 * for a decision and what is current.
 *
 * A version is meant by its user, name, number and hash together, and by nothing less: a decision
 * that was prepared for one never reaches another. What was read to its end in this console, and
 * what was marked, is remembered by the same.
 */
#ifndef CORDON_TUI_MODEL_TOOL_LIST_H
#define CORDON_TUI_MODEL_TOOL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/base/json_read.h"
#include "isolate/base/json_write.h"

#define TOOL_KEY_MAX 400
#define TOOL_HASH_MAX 72

struct tool {
	char name[96], user[96], hash[TOOL_HASH_MAX], state[24], policy[24]; /* visible */
	/*
	 * user, name, version and hash as JSON members, as they came: {"name":..., "user":...,
	 * "hash":...} without the braces
	 */
	char key[TOOL_KEY_MAX];
	int64_t version, successes, failures, threshold;
	int64_t created_ns, due_ns, decided_ns;
	char decided_by[96], reason[240], description[400];
	bool marked;
};

struct tool_list {
	struct tool *at; /* owned */
	size_t count;
	bool known;       /* the daemon has answered */
	char notice[400]; /* why there is no list, or what is missing in it; visible */
};

struct tools {
	struct tool_list pending, current;
	struct tool_intake {            /* a list that is being taken */
		struct tool_list *into; /* NULL: none is */
		struct buffer items;    /* owned: the array */
		size_t at, capacity;
		struct tool_list fresh;
	} intake;
	char (*read)[TOOL_KEY_MAX]; /* owned: the keys that were read to their end */
	size_t read_count;
};

void tools_free(struct tools *t);

/* Takes the items of an array into one of the lists. Marks stay with what they were put on. */
void tools_take(struct tools *t, struct tool_list *l, struct json_slice items);

/*
 * The same in slices: begins, and takes items of about so many bytes at a time; the list stays as
 * it was until tools_step returns true, for the last ones.
 */
void tools_begin(struct tools *t, struct tool_list *l, struct json_slice items);
bool tools_step(struct tools *t, size_t bytes);
bool tools_is_taking(const struct tools *t);

/* One item. Returns false when it has no name, user or hash that could be sent back. */
bool tool_take(struct tool *t, struct json_slice item);

/* The item of a key, or NULL. */
struct tool *tools_find(const struct tool_list *l, const char *key);

size_t tools_marked(const struct tool_list *l);
bool tools_is_read(const struct tools *t, const char *key);
void tools_set_read(struct tools *t, const char *key);

#endif
