/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting exceptions, whatever they are.
 *
 * An exception of a body is an object of the body's own: its str() may raise, return megabytes or
 * hold line breaks, and its traceback may have thousands of frames. Everything taken from it is
 * bounded, and each step that fails is replaced by a placeholder. Tracebacks show paths as the
 * sandbox sees them, and source lines of the body only.
 */
#include "isolate/runner/failure.h"

#include "isolate/runner/validator/validate.h"
#include "isolate/runner/validator/violations.h"

#include <stdbool.h>
#include <string.h>

enum { FRAMES_FIRST = 8, LINE_MOST = 200 };

static PyObject *get(PyObject *object, const char *name)
{
	PyObject *value = object ? PyObject_GetAttrString(object, name) : NULL;

	if (!value)
		PyErr_Clear();
	return value;
}

static long get_long(PyObject *object, const char *name)
{
	PyObject *value = get(object, name);
	long number = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;

	PyErr_Clear();
	Py_XDECREF(value);
	return number;
}

/* What one traceback entry says. */
struct frame {
	PyObject *code, *file, *name; /* owned; file and name are str or NULL */
	long line, instruction;
	bool own; /* of the body's text */
};

static void frame_read(PyObject *traceback, struct frame *frame)
{
	PyObject *object = get(traceback, "tb_frame");

	frame->code = get(object, "f_code");
	frame->file = get(frame->code, "co_filename");
	frame->name = get(frame->code, "co_name");
	frame->line = get_long(traceback, "tb_lineno");
	frame->instruction = get_long(traceback, "tb_lasti");
	if (frame->file && !PyUnicode_Check(frame->file))
		Py_CLEAR(frame->file);
	if (frame->name && !PyUnicode_Check(frame->name))
		Py_CLEAR(frame->name);
	frame->own = frame->file && PyUnicode_CompareWithASCIIString(frame->file, BODY_FILE) == 0;
	Py_XDECREF(object);
}

static void frame_clear(struct frame *frame)
{
	Py_XDECREF(frame->code);
	Py_XDECREF(frame->file);
	Py_XDECREF(frame->name);
}

/*
 * The column of the instruction, counted from 1 in characters; 0 before 3.11, which does not know.
 */
static long frame_column(const struct frame *frame, const struct source *source)
{
	PyObject *positions =
		frame->code ? PyObject_CallMethod(frame->code, "co_positions", NULL) : NULL;
	PyObject *iterator = positions ? PyObject_GetIter(positions) : NULL, *item = NULL, *column;
	long result = 0;

	for (long i = 0; iterator && i <= frame->instruction / 2; i++) {
		Py_XDECREF(item);
		item = PyIter_Next(iterator);
		if (!item)
			break;
	}
	column = item && PyTuple_Check(item) && PyTuple_Size(item) == 4 ? PyTuple_GetItem(item, 2)
									: NULL;
	if (column && PyLong_Check(column))
		result = source ? source_column(source, frame->line, PyLong_AsLong(column)) : 0;
	PyErr_Clear();
	Py_XDECREF(item);
	Py_XDECREF(iterator);
	Py_XDECREF(positions);
	return result;
}

static void write_line_text(struct json_writer *w, const struct source *source, long line)
{
	size_t length = 0;
	const char *text = source ? source_line(source, line, &length) : "";

	while (length && (*text == ' ' || *text == '\t')) {
		text++;
		length--;
	}
	if (length > LINE_MOST) {
		length = LINE_MOST;
		while (length && ((unsigned char)text[length] & 0xC0) == 0x80)
			length--;
	}
	json_key(w, "text");
	if (length)
		json_bytes(w, text, length);
	else
		json_null(w);
}

static void write_frame(
	struct json_writer *w, const struct frame *frame, const struct source *source)
{
	json_open_object(w);
	json_key(w, "file");
	json_str(w, frame->file);
	json_key(w, "line");
	json_integer(w, frame->line);
	json_key(w, "name");
	json_str(w, frame->name);
	write_line_text(w, frame->own ? source : NULL, frame->line);
	json_close_object(w);
}

static PyObject *next_traceback(PyObject *traceback)
{
	PyObject *next = get(traceback, "tb_next");

	if (next == Py_None)
		Py_CLEAR(next);
	return next;
}

/* The number of entries, and where the innermost one of the body stands. */
static long measure(PyObject *traceback, const struct source *source, long *line, long *column)
{
	PyObject *at = traceback ? reference(traceback) : NULL;
	long count = 0;

	while (at) {
		struct frame frame;
		PyObject *next = next_traceback(at);

		frame_read(at, &frame);
		if (frame.own) {
			*line = frame.line;
			*column = frame_column(&frame, source);
		}
		frame_clear(&frame);
		Py_DECREF(at);
		at = next;
		count++;
	}
	return count;
}

/* The first and the last entries; a gap in between is one entry without a file. */
static void write_traceback(
	struct json_writer *w, PyObject *traceback, long count, const struct source *source)
{
	PyObject *at = traceback ? reference(traceback) : NULL;
	long skip_from = count > FAILURE_FRAMES_MOST ? FRAMES_FIRST : count,
	     skip_to = count - (FAILURE_FRAMES_MOST - FRAMES_FIRST);

	for (long i = 0; at; i++) {
		PyObject *next = next_traceback(at);
		struct frame frame;

		if (i < skip_from || i >= skip_to) {
			frame_read(at, &frame);
			write_frame(w, &frame, source);
			frame_clear(&frame);
		} else if (i == skip_from) {
			json_open_object(w);
			json_key(w, "file");
			json_null(w);
			json_key(w, "line");
			json_null(w);
			json_key(w, "name");
			json_null(w);
			json_key(w, "text");
			json_string(w, "(frames in between are left out)");
			json_close_object(w);
		}
		Py_DECREF(at);
		at = next;
	}
	Py_XDECREF(at);
}

static void write_place(struct json_writer *w, const char *key, long value)
{
	json_key(w, key);
	if (value > 0)
		json_integer(w, value);
	else
		json_null(w);
}

static void write_all(const char *stage, PyObject *type, PyObject *message, PyObject *traceback,
	const struct source *source, struct buffer *error, struct buffer *detail)
{
	struct json_writer w;
	long line = 0, column = 0, count = measure(traceback, source, &line, &column);

	buffer_add_str(error, type, true);
	if (message && PyUnicode_GetLength(message) > 0) {
		buffer_add_text(error, ": ");
		buffer_add_str(error, message, true);
	}
	json_begin(&w, detail);
	json_open_object(&w);
	json_key(&w, "stage");
	json_string(&w, stage);
	json_key(&w, "type");
	json_str(&w, type);
	json_key(&w, "message");
	json_str(&w, message);
	write_place(&w, "line", line);
	write_place(&w, "column", column);
	json_key(&w, "traceback");
	json_open_array(&w);
	write_traceback(&w, traceback, count, source);
	json_close_array(&w);
	json_close_object(&w);
}

/* str(value), cut; a placeholder when that raises. */
static PyObject *message_of(PyObject *value)
{
	PyObject *text = value ? PyObject_Str(value) : NULL, *cut;

	if (!text) {
		PyErr_Clear();
		return PyUnicode_FromString("(str() of the exception failed)");
	}
	if (PyUnicode_GetLength(text) <= FAILURE_MESSAGE_MOST)
		return text;
	cut = PyUnicode_Substring(text, 0, FAILURE_MESSAGE_MOST - 3);
	Py_DECREF(text);
	text = cut ? PyUnicode_FromFormat("%U...", cut) : NULL;
	PyErr_Clear();
	Py_XDECREF(cut);
	return text;
}

void failure_take(
	const char *stage, const struct source *source, struct buffer *error, struct buffer *detail)
{
	PyObject *type, *value, *traceback, *name, *message;

	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	name = get(type, "__name__");
	if (name && !PyUnicode_CheckExact(name))
		Py_CLEAR(name);
	if (!name)
		name = PyUnicode_FromString("Exception");
	message = message_of(value);
	write_all(stage, name, message, traceback, source, error, detail);
	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(message);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
}

void failure_write(const char *stage, const char *type, PyObject *message, struct buffer *error,
	struct buffer *detail)
{
	PyObject *name = PyUnicode_FromString(type);

	write_all(stage, name, message, NULL, NULL, error, detail);
	PyErr_Clear();
	Py_XDECREF(name);
}
