/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks on the bytes and characters of a body.
 *
 * The interpreter is always handed the decoded str, never bytes, so an encoding declaration has no
 * effect; it is refused all the same, because another reader of the same file would obey it.
 * Everything that a viewer could show differently from what Python reads (NUL, a lone CR, controls,
 * bidirectional and invisible characters) is refused with its place, in strings and comments too:
 * there it can be written as an escape.
 */
#include "isolate/runner/validator/source.h"

#include <stdlib.h>
#include <string.h>

/*
 * Characters that are invisible or reorder what is shown. ZWJ and ZWNJ are left alone: emoji and
 * several scripts need them.
 */
static bool is_invisible(Py_UCS4 c)
{
	return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200B ||
		c == 0x200E || c == 0x200F || c == 0x061C || (c >= 0x2060 && c <= 0x2064) ||
		(c >= 0x206A && c <= 0x206F) || c == 0xFEFF || c == 0x2028 || c == 0x2029 ||
		(c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF) || c == 0x180E;
}

static bool is_control(Py_UCS4 c)
{
	return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || (c >= 0x7F && c <= 0x9F);
}

/* Where a scan stands. */
struct cursor {
	const char *kind;
	struct violations *found;
	long line, column;
};

static int report_character(const struct cursor *at, enum rule rule, Py_UCS4 c, const char *what)
{
	char code[16];

	PyOS_snprintf(code, sizeof code, "U+%04X", (unsigned)c);
	return violations_add(at->found, rule, at->line, at->column, NULL,
		PyUnicode_FromFormat("%s%s %s in the text", at->kind, what, code),
		c <= 0x9F ? "remove it; in a string write it as an escape such as \"\\x1b\""
			  : "remove it; in a string write it as an escape such as \"\\u202e\"",
		NULL);
}

static int check_characters(const Py_UCS4 *text, Py_ssize_t length, struct cursor *at)
{
	for (Py_ssize_t i = 0; i < length; i++, at->column++) {
		Py_UCS4 c = text[i];
		int status = 0;

		if (c == '\n') {
			at->line++;
			at->column = 0;
		} else if (c == '\r' && (i + 1 == length || text[i + 1] != '\n')) {
			status = violations_add(at->found, RULE_SOURCE_NEWLINE, at->line,
				at->column, NULL,
				PyUnicode_FromFormat(
					"%sa carriage return that is not followed by a newline",
					at->kind),
				"end lines with \\n or \\r\\n", NULL);
		} else if (c == '\f' || c == '\v') {
			status = report_character(at, RULE_SOURCE_CONTROL, c,
				c == '\f' ? "a form feed (it resets the indentation count)"
					  : "a vertical tab");
		} else if (is_control(c)) {
			status =
				report_character(at, RULE_SOURCE_CONTROL, c, "a control character");
		} else if (is_invisible(c)) {
			status = report_character(at, RULE_SOURCE_INVISIBLE, c,
				"an invisible or reordering character");
		}
		if (status < 0)
			return -1;
	}
	return 0;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '-' || c == '_' || c == '.';
}

/*
 * Finds `coding[:=] *NAME` in a comment line, as PEP 263 does. Returns the name's length, 0 when
 * there is none.
 */
static size_t find_cookie(const char *line, size_t length, const char **name)
{
	size_t i = 0;

	while (i < length && (line[i] == ' ' || line[i] == '\t' || line[i] == '\f'))
		i++;
	if (i == length || line[i] != '#')
		return 0;
	for (; i + 7 <= length; i++) {
		size_t j = i + 7, n = 0;

		if (memcmp(line + i, "coding", 6) != 0 ||
			(line[i + 6] != ':' && line[i + 6] != '='))
			continue;
		while (j < length && (line[j] == ' ' || line[j] == '\t'))
			j++;
		while (j + n < length && is_name_byte(line[j + n]))
			n++;
		if (n) {
			*name = line + j;
			return n;
		}
	}
	return 0;
}

static bool is_utf8_name(const char *name, size_t length)
{
	char plain[16] = "";
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		if (name[i] == '-' || name[i] == '_')
			continue;
		if (n == sizeof plain - 1)
			return false;
		plain[n++] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
	}
	return strcmp(plain, "utf8") == 0 || strcmp(plain, "utf8sig") == 0;
}

/* Is there nothing but blanks or a comment? Only then does a cookie on the second line count. */
static bool is_blank_or_comment(const char *line, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\f\r", line[i]))
		i++;
	return i == length || line[i] == '#';
}

static int check_cookie(const struct source *source, const char *kind, struct violations *found)
{
	for (long line = 1; line <= 2; line++) {
		size_t length, n;
		const char *text = source_line(source, line, &length), *name = NULL;

		n = find_cookie(text, length, &name);
		if (n && !is_utf8_name(name, n)) {
			PyObject *shown =
				PyUnicode_DecodeUTF8(name, n > 40 ? 40 : (Py_ssize_t)n, "replace");
			int status = !shown
				? -1
				: violations_add(found, RULE_SOURCE_COOKIE, line,
					  source_column(source, line, name - text), NULL,
					  PyUnicode_FromFormat(
						  "%sthe text declares the encoding '%U'", kind,
						  shown),
					  "remove the declaration; a body is UTF-8", NULL);

			Py_XDECREF(shown);
			return status;
		}
		if (!is_blank_or_comment(text, length))
			break;
	}
	return 0;
}

static int index_lines(struct source *source)
{
	size_t lines = 1, n = 0;

	for (size_t i = 0; i < source->length; i++)
		lines += source->bytes[i] == '\n';
	source->line_starts = malloc(lines * sizeof *source->line_starts);
	if (!source->line_starts) {
		PyErr_NoMemory();
		return -1;
	}
	source->line_starts[n++] = 0;
	for (size_t i = 0; i < source->length; i++) {
		if (source->bytes[i] == '\n')
			source->line_starts[n++] = i + 1;
	}
	/* the end of the last line does not begin another one */
	source->lines = lines - (source->length == 0 || source->bytes[source->length - 1] == '\n');
	return 0;
}

static void place_of(const struct source *source, size_t offset, long *line, long *column)
{
	size_t n = source->lines;

	while (n > 1 && source->line_starts[n - 1] > offset)
		n--;
	*line = (long)n;
	*column = source_column(source, (long)n, (long)(offset - source->line_starts[n - 1]));
}

/* Turns the UnicodeDecodeError that is set into a violation. */
static int report_encoding(const struct source *source, const char *kind, struct violations *found)
{
	PyObject *type, *value, *traceback, *start = NULL;
	long line = 0, column = 0;
	size_t offset = 0;
	int status = -1;

	if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
		return -1;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	start = value ? PyObject_GetAttrString(value, "start") : NULL;
	offset = start ? PyLong_AsSize_t(start) : 0;
	PyErr_Clear();
	if (offset < source->length) {
		place_of(source, offset, &line, &column);
		status = violations_add(found, RULE_SOURCE_ENCODING, line, column, NULL,
			PyUnicode_FromFormat("%sthe text is not UTF-8: byte 0x%x at offset %zu",
				kind, (int)(unsigned char)source->bytes[offset], offset),
			"save it as UTF-8", NULL);
	}
	Py_XDECREF(start);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	return status;
}

static int check_nul(const struct source *source, const char *kind, struct violations *found)
{
	const char *nul = memchr(source->bytes, '\0', source->length);
	long line, column;

	if (!nul)
		return 0;
	place_of(source, (size_t)(nul - source->bytes), &line, &column);
	return violations_add(found, RULE_SOURCE_NUL, line, column, NULL,
		PyUnicode_FromFormat("%sa NUL byte in the text", kind),
		"remove it; in a string write it as \"\\0\"", NULL);
}

static int check_decoded(struct source *source, const char *kind, struct violations *found)
{
	struct cursor at = { kind, found, 1, 1 };
	Py_UCS4 *characters = PyUnicode_AsUCS4Copy(source->text);
	int status;

	if (!characters)
		return -1;
	status = check_characters(characters, PyUnicode_GetLength(source->text), &at);
	PyMem_Free(characters);
	return status;
}

int source_load(
	struct source *source, struct span bytes, const char *kind, struct violations *found)
{
	*source = (struct source){ NULL, bytes.bytes ? bytes.bytes : "", bytes.length, NULL, 0 };
	if (source->length >= 3 && memcmp(source->bytes, "\xEF\xBB\xBF", 3) == 0) {
		source->bytes += 3;
		source->length -= 3;
	}
	if (source->length > SOURCE_BYTES_MOST)
		return violations_add(found, RULE_SOURCE_SIZE, 0, 0, NULL,
			PyUnicode_FromFormat("%sthe text has %zu bytes; %d is the most", kind,
				source->length, (int)SOURCE_BYTES_MOST),
			"pass data through args instead of writing it into the code", NULL);
	if (index_lines(source) < 0 || check_nul(source, kind, found) < 0)
		return -1;
	source->text = PyUnicode_DecodeUTF8(source->bytes, (Py_ssize_t)source->length, "strict");
	if (!source->text)
		return report_encoding(source, kind, found);
	if (check_cookie(source, kind, found) < 0)
		return -1;
	return check_decoded(source, kind, found);
}

void source_free(struct source *source)
{
	Py_CLEAR(source->text);
	free(source->line_starts);
	source->line_starts = NULL;
	source->lines = 0;
}

const char *source_line(const struct source *source, long line, size_t *length)
{
	size_t start, end;

	*length = 0;
	if (line < 1 || (size_t)line > source->lines)
		return "";
	start = source->line_starts[line - 1];
	end = (size_t)line < source->lines ? source->line_starts[line] - 1 : source->length;
	if (end > start && source->bytes[end - 1] == '\n')
		end--;
	if (end > start && source->bytes[end - 1] == '\r')
		end--;
	*length = end - start;
	return source->bytes + start;
}

long source_column(const struct source *source, long line, long byte_offset)
{
	size_t length;
	const char *text = source_line(source, line, &length);
	long column = 1;

	if (line < 1 || (size_t)line > source->lines || byte_offset < 0)
		return 0;
	for (size_t i = 0; i < length && i < (size_t)byte_offset; i++)
		column += ((unsigned char)text[i] & 0xC0) != 0x80;
	return column;
}
