/* SPDX-License-Identifier: Apache-2.0 */
/* Keys. See keys.h. The table is searched as it stands: it is short, and people type slowly. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tui/draw/keys.h"

#include <string.h>

#include "isolate/base/text.h"

const struct key_text key_texts[ACTION_COUNT] = {
	{ "", "", 0, "", "" },
#define KEY(id, name, keys, where, label, help) { name, keys, where, label, help },
#include "tui/draw/keys.def"
#undef KEY
};

static const struct {
	const char *name;
	uint32_t key;
} NAMES[] = {
	{ "Up", KEYS_UP },
	{ "Down", KEYS_DOWN },
	{ "Left", KEYS_LEFT },
	{ "Right", KEYS_RIGHT },
	{ "Home", KEYS_HOME },
	{ "End", KEYS_END },
	{ "PageUp", KEYS_PAGE_UP },
	{ "PageDown", KEYS_PAGE_DOWN },
	{ "Enter", KEYS_ENTER },
	{ "Esc", KEYS_ESCAPE },
	{ "Tab", KEYS_TAB },
	{ "BackTab", KEYS_BACK_TAB },
	{ "Backspace", KEYS_BACKSPACE },
	{ "Delete", KEYS_DELETE },
	{ "Space", ' ' },
	{ "F1", KEYS_F1 },
	{ "Less", '<' },
};

size_t keys_read(const char *text, uint32_t *key)
{
	const char *end = text[0] == '<' ? strchr(text, '>') : NULL;
	size_t length = end ? (size_t)(end - text) - 1 : 0;

	if (length == 3 && text[1] == 'C' && text[2] == '-' && text[3] >= 'a' && text[3] <= 'z') {
		*key = (uint32_t)(text[3] - 'a' + 1);
		return length + 2;
	}
	for (size_t i = 0; end && i < sizeof NAMES / sizeof *NAMES; i++)
		if (strlen(NAMES[i].name) == length &&
			memcmp(NAMES[i].name, text + 1, length) == 0) {
			*key = NAMES[i].key;
			return length + 2;
		}
	return text[0] ? text_decode((const unsigned char *)text, strlen(text), key, NULL) : 0;
}

enum action keys_action(uint32_t key, enum where where)
{
	for (int action = 1; action < ACTION_COUNT; action++) {
		const char *at = key_texts[action].keys;

		while (key_texts[action].where & where && *at) {
			uint32_t known = 0;
			size_t length = keys_read(at, &known);

			if (known == key && length > 0)
				return (enum action)action;
			at += length ? length : 1;
			at += strspn(at, " ");
		}
	}
	return ACTION_NONE;
}

enum action keys_named(const char *name, size_t length, enum where where)
{
	for (int action = 1; action < ACTION_COUNT; action++)
		if (key_texts[action].where & where && strlen(key_texts[action].name) == length &&
			memcmp(key_texts[action].name, name, length) == 0)
			return (enum action)action;
	return ACTION_NONE;
}
