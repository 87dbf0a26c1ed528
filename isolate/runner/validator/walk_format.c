/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.format, which reads attributes whose names are text.
 *
 * A template that is written out is read here field by field. A template that is computed cannot be, so `.format` on anything but a literal
 * (or a name that only ever stands for one) is refused, all but on objects of the body's own that have such an attribute; there the value
 * is passed through a guard at run time that lets everything pass but strings.
 */
#include "isolate/runner/validator/walk.h"

/* Where the reading of a template stands. */
struct template_reader {
	const Py_UCS4 *text;
	Py_ssize_t length, at;
};

static PyObject *slice_text(const struct template_reader *t, Py_ssize_t start, Py_ssize_t end)
{
	PyObject *list = PyList_New(0), *empty = NULL, *text = NULL;

	/* The stable ABI cannot make a str from code points, so it is joined from single characters. */
	for (Py_ssize_t i = start; list && i < end; i++) {
		PyObject *character = PyUnicode_FromOrdinal((int)t->text[i]);
		int status = character ? PyList_Append(list, character) : -1;

		Py_XDECREF(character);
		if (status < 0)
			Py_CLEAR(list);
	}
	empty = PyUnicode_FromString("");
	if (list && empty)
		text = PyUnicode_Join(empty, list);
	Py_XDECREF(list);
	Py_XDECREF(empty);
	return text;
}

static int report_field(struct walker *w, PyObject *node, PyObject *name, const char *rewrite)
{
	return walk_report(w, RULE_FORMAT_FIELD, node, name,
		PyUnicode_FromFormat("a replacement field reads '%U', which is not allowed", name),
		rewrite ? rewrite : "format the value itself", NULL);
}

/* One step of a field name: .name, or [key]. */
static int check_step(struct walker *w, PyObject *node, PyObject *name, bool is_key)
{
	const struct rule_row *row = rules_attribute(name);

	if (session_permits(w->session, name))
		return 0;
	if (row && (!is_key || row->as_key))
		return report_field(w, node, name, row->rewrite);
	if (!is_key && rules_is_private(name) && !rules_is_dunder(name) && !rules_find(TABLE_PUBLIC_UNDERSCORE, name) &&
		!walk_contains(w->own, name))
		return report_field(w, node, name, "format a public attribute");
	return 0;
}

/* Reads the field name that starts at t->at, up to its conversion, its specification or its end. */
static int check_field_name(struct walker *w, PyObject *node, struct template_reader *t)
{
	Py_ssize_t start = t->at;
	bool step = false, is_key = false;

	for (;; t->at++) {
		Py_UCS4 c = t->at < t->length ? t->text[t->at] : '}';
		bool ends = is_key ? c == ']' || t->at >= t->length : c == '.' || c == '[' || c == '!' || c == ':' || c == '}' || c == '{';

		if (!ends)
			continue;
		if (step && t->at > start) {
			PyObject *name = slice_text(t, start, t->at);
			int status = name ? check_step(w, node, name, is_key) : -1;

			Py_XDECREF(name);
			if (status < 0)
				return -1;
		}
		if (t->at >= t->length || (!is_key && c != '.' && c != '['))
			return 0;
		step = c != ']';
		is_key = c == '[';
		start = t->at + 1;
	}
}

int walk_check_format(struct walker *w, PyObject *node, PyObject *template)
{
	struct template_reader t = {NULL, PyUnicode_GetLength(template), 0};
	Py_UCS4 *text = PyUnicode_AsUCS4Copy(template);
	int depth = 0, status = text ? 0 : -1;

	t.text = text;
	while (status == 0 && t.at < t.length) {
		Py_UCS4 c = t.text[t.at++];

		if (c == '{' && depth == 0 && t.at < t.length && t.text[t.at] == '{') {
			t.at++;
		} else if (c == '{') {
			depth++;
			status = check_field_name(w, node, &t);
		} else if (c == '}' && depth > 0) {
			depth--;
		}
	}
	PyMem_Free(text);
	return status;
}

/* The text of a template that is written out: a literal, a sum of literals, or a name that is bound once and to a literal. A new reference.
 */
static PyObject *written_template(const struct walker *w, PyObject *value)
{
	PyObject *text = tree_constant_text(value), *name;
	const struct symbol *symbol;

	if (text || tree_kind(value) != NODE_Name)
		return text;
	name = tree_get(value, FIELD_id);
	symbol = name ? scopes_resolve(&w->scopes, w->scope, name) : NULL;
	if (symbol && symbol->constant && symbol->binds == 1 && !walk_contains(w->scopes.declared, name))
		text = reference(symbol->constant);
	PyErr_Clear();
	Py_XDECREF(name);
	return text;
}

/* Replaces value in `value.format` by guard(value). */
static int wrap_in_guard(PyObject *node, PyObject *value)
{
	PyObject *load = tree_make(NODE_Load, NULL), *name = NULL, *call = NULL, *keywords = NULL;
	int status = -1;

	if (load && (keywords = Py_BuildValue("{s:s,s:O}", "id", BUILTIN_FORMAT_GUARD, "ctx", load)))
		name = tree_make(NODE_Name, keywords);
	Py_XDECREF(keywords);
	keywords = name ? Py_BuildValue("{s:O,s:[O],s:[]}", "func", name, "args", value, "keywords") : NULL;
	if (keywords && (call = tree_make(NODE_Call, keywords)) && tree_copy_place(call, value) == 0 && tree_copy_place(name, value) == 0)
		status = tree_set(node, FIELD_value, call);
	Py_XDECREF(load);
	Py_XDECREF(name);
	Py_XDECREF(call);
	Py_XDECREF(keywords);
	return status;
}

int walk_check_format_use(struct walker *w, PyObject *node, PyObject *name, PyObject *value)
{
	PyObject *template = value ? written_template(w, value) : NULL, *context;
	bool loads;
	int status;

	if (template) {
		status = walk_check_format(w, node, template);
		Py_DECREF(template);
		return status;
	}
	if (value && walk_contains(w->own, name) && tree_kind(node) == NODE_Attribute) {
		context = tree_get(node, FIELD_ctx);
		loads = context && tree_kind(context) == NODE_Load;
		Py_XDECREF(context);
		return loads ? wrap_in_guard(node, value) : 0;
	}
	return walk_report(w, RULE_FORMAT_DYNAMIC, node, name,
		PyUnicode_FromFormat("'%U' on something that is not a literal template", name),
		"use an f-string, or write the template where it is formatted: \"...{}...\".format(x)", NULL);
}
