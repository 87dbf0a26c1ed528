/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, actions, and the table that joins them. */
#ifndef CORDON_TUI_DRAW_KEYS_H
#define CORDON_TUI_DRAW_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a key works: a bit for each view. */
enum where {
	IN_RUNS = 1,
	IN_EVENTS = 2,
	IN_OUTPUT = 4,
	IN_DETAIL = 8,
	IN_RECORD = 16,
	IN_HELP = 32,
	IN_PENDING = 64,
	IN_TOOLS = 128,
	IN_TOOL = 256
};
#define LISTS (IN_RUNS | IN_EVENTS | IN_PENDING | IN_TOOLS)
#define PAGES (IN_OUTPUT | IN_DETAIL | IN_RECORD | IN_HELP | IN_TOOL)
#define OF_RUN (IN_RUNS | IN_EVENTS | IN_OUTPUT | IN_DETAIL)
#define EVERYWHERE (LISTS | PAGES)

/* A key: a character's code point (control keys are 1 to 26), or one of these. */
enum {
	KEY_NONE_HERE = 0,
	KEYS_SPECIAL = 0x200000,
	KEYS_UP,
	KEYS_DOWN,
	KEYS_LEFT,
	KEYS_RIGHT,
	KEYS_HOME,
	KEYS_END,
	KEYS_PAGE_UP,
	KEYS_PAGE_DOWN,
	KEYS_BACK_TAB,
	KEYS_DELETE,
	KEYS_F1,
	KEYS_ENTER = '\r',
	KEYS_ESCAPE = 27,
	KEYS_TAB = '\t',
	KEYS_BACKSPACE = 127
};

enum action {
	ACTION_NONE,
#define KEY(id, name, keys, where, label, help) ACTION_##id,
#include "tui/draw/keys.def"
#undef KEY
	ACTION_COUNT
};

struct key_text {
	const char *name, *keys;
	unsigned where;
	const char *label, *help;
};

/* By action; the first is empty. */
extern const struct key_text key_texts[ACTION_COUNT];

/* What a key does in a view. */
enum action keys_action(uint32_t key, enum where where);

/* The action of a name that works in a view, or ACTION_NONE. */
enum action keys_named(const char *name, size_t length, enum where where);

/*
 * Reads one key as the table and scripts write it: a character, or <Name>. Returns its length in
 * bytes, 0 when it is no key.
 */
size_t keys_read(const char *text, uint32_t *key);

#endif
