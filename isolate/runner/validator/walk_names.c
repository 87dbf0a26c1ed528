/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: what is read must be bound in the source or be a builtin that bodies have; and
 * assignments, which give constants to names.
 *
 * A name that a function binds is never the builtin of that name. In a class body, or for a global,
 * a read can still fall through to the builtin, so there a forbidden name stays forbidden.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "isolate/runner/validator/walk.h"

enum { NAME_MOST = 64 };

/* The Levenshtein distance of two short byte strings. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[NAME_MOST + 1];

	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

/* Keeps candidate in *best when it is nearer to wanted than what was there. */
static void consider(PyObject *wanted, PyObject *candidate, size_t *nearest, PyObject **best)
{
	PyObject *a = PyUnicode_AsUTF8String(wanted), *b = PyUnicode_AsUTF8String(candidate);
	char *x, *y;
	Py_ssize_t n, m;

	if (a && b && PyBytes_AsStringAndSize(a, &x, &n) == 0 &&
		PyBytes_AsStringAndSize(b, &y, &m) == 0 && n <= NAME_MOST && m <= NAME_MOST &&
		n > 0 && m > 0) {
		size_t found = distance(x, (size_t)n, y, (size_t)m);

		if (found < *nearest && found < (size_t)n) {
			*nearest = found;
			*best = candidate;
		}
	}
	PyErr_Clear();
	Py_XDECREF(a);
	Py_XDECREF(b);
}

/* The bound name or builtin that is most like name, or NULL. Borrowed. */
static PyObject *nearest_name(const struct walker *w, PyObject *name)
{
	size_t nearest = PyUnicode_GetLength(name) > 3 ? 3 : 2;
	PyObject *best = NULL, *key, *value;
	Py_ssize_t at = 0;

	for (int i = 0; i < w->scopes.symbol_count && i < 1000; i++) {
		if (w->scopes.symbols[i].flags & SYMBOL_BOUND)
			consider(name, w->scopes.symbols[i].name, &nearest, &best);
	}
	while (PyDict_Next(w->session->builtins, &at, &key, &value)) {
		if (PyUnicode_Check(key) && !rules_is_private(key) && !rules_find(TABLE_NAMES, key))
			consider(name, key, &nearest, &best);
	}
	return best;
}

/*
 * Every letter of a builtin's name is ASCII; a name with others can only be the body's own, and
 * fails at run time when it is not.
 */
static bool is_ascii(PyObject *name)
{
	Py_ssize_t n = PyUnicode_GetLength(name);

	for (Py_ssize_t i = 0; i < n; i++) {
		if (PyUnicode_ReadChar(name, i) > 127)
			return false;
	}
	return true;
}

static int report_undefined(struct walker *w, PyObject *node, PyObject *name)
{
	PyObject *nearest, *rewrite = NULL;
	bool module = rules_find(TABLE_STDLIB, name) != NULL;

	if (session_allows(w->session, name))
		rewrite = PyUnicode_FromFormat("add `import %U`", name);
	else if (module && !rules_find(TABLE_NEVER, name))
		rewrite = PyUnicode_FromFormat(
			"add `import %U` and allow it with --allow %U", name, name);
	else if ((nearest = nearest_name(w, name)))
		rewrite = PyUnicode_FromFormat("did you mean '%U'?", nearest);
	else
		rewrite = PyUnicode_FromString("bind it first, or take it from args");
	if (!rewrite)
		return -1;
	return walk_report(w, RULE_NAME_UNDEFINED, node, name,
		PyUnicode_FromFormat("the name '%U' is not defined", name), NULL, rewrite);
}

int walk_check_unbound(struct walker *w, PyObject *node, PyObject *name)
{
	const struct rule_row *row = rules_find(TABLE_NAMES, name);

	if (session_permits(w->session, name) &&
		PyDict_GetItemWithError(w->session->builtins, name))
		return 0;
	if (row)
		return walk_report(w, row->rule, node, name,
			PyUnicode_FromFormat("the name '%U' is not allowed: %s", name, row->why),
			row->rewrite, NULL);
	if (rules_is_dunder(name)) {
		if (rules_find(TABLE_DUNDER_READ, name) || session_permits(w->session, name))
			return 0;
		return walk_report(w, RULE_NAME_DUNDER, node, name,
			PyUnicode_FromFormat("the name '%U' is not allowed", name),
			walk_is(name, "__file__") ? "a body has no file; pass data through args"
						  : "use a name without the double underscores",
			NULL);
	}
	if (PyDict_GetItemWithError(w->session->builtins, name))
		return 0;
	row = rules_find(TABLE_ABSENT, name);
	if (row)
		return walk_report(w, row->rule, node, name,
			PyUnicode_FromFormat("the name '%U' is not available: %s", name, row->why),
			row->rewrite, NULL);
	if (w->unevaluated || w->imports_star || !is_ascii(name))
		return 0;
	return report_undefined(w, node, name);
}

static int check_read(struct walker *w, PyObject *node, PyObject *name)
{
	const struct symbol *symbol = scopes_resolve(&w->scopes, w->scope, name);

	if (!symbol)
		return walk_check_unbound(w, node, name);
	if (rules_is_dunder(name) && !rules_find(TABLE_DUNDER_READ, name) &&
		!rules_find(TABLE_MODULE_TEXT, name) &&
		!(symbol->scope == w->scope && rules_find(TABLE_CLASS_METHODS, name)))
		return walk_check_unbound(w, node, name);
	if (scopes_may_fall_through(&w->scopes, symbol) && rules_find(TABLE_NAMES, name) &&
		walk_check_unbound(w, node, name) < 0)
		return -1;
	return symbol->origins ? walk_import_value(w, symbol, node) : 0;
}

int walk_name(struct walker *w, PyObject *node)
{
	PyObject *name = tree_get(node, FIELD_id), *context = tree_get(node, FIELD_ctx);
	int status = -1;

	if (!name || !context)
		goto out;
	if (tree_kind(context) != NODE_Load)
		status = walk_bind(w, node, name, SYMBOL_OTHER);
	else
		status = w->pass == PASS_JUDGE ? check_read(w, node, name)
					       : PySet_Add(w->read, name);
out:
	Py_XDECREF(name);
	Py_XDECREF(context);
	return status;
}

/* Remembers the text that a name is bound to, until it is bound again. */
static int note_constant(struct walker *w, PyObject *name, PyObject *text)
{
	struct symbol *symbol = scopes_symbol(&w->scopes, w->scope, name);

	if (!symbol)
		return -1;
	if (symbol->binds == 1 && !symbol->constant)
		symbol->constant = reference(text);
	return 0;
}

/* Is value a written-out collection of plain public names? */
static bool names_plain_attributes(PyObject *value)
{
	enum node_kind kind = tree_kind(value);
	PyObject *items, *text = tree_constant_text(value);
	bool plain = true;

	if (text) {
		plain = !rules_is_dunder(text) && !walk_is(text, "format") &&
			!walk_is(text, "format_map") && !rules_attribute(text);
		Py_DECREF(text);
		return plain;
	}
	if (kind != NODE_Tuple && kind != NODE_List)
		return false;
	items = tree_get(value, FIELD_elts);
	for (Py_ssize_t i = 0; plain && items && i < PyList_Size(items); i++) {
		PyObject *item = PyList_GetItem(items, i);

		plain = tree_kind(item) == NODE_Constant && names_plain_attributes(item);
	}
	PyErr_Clear();
	Py_XDECREF(items);
	return plain;
}

/* `__slots__ = ...` and `__match_args__ = ...` in a class body. */
static int check_class_names(struct walker *w, PyObject *target, PyObject *name, PyObject *value)
{
	if (w->scopes.scopes[w->scope].kind != SCOPE_CLASS ||
		(!walk_is(name, "__slots__") && !walk_is(name, "__match_args__")))
		return 0;
	w->vetted = target;
	if (value != Py_None && names_plain_attributes(value))
		return 0;
	return walk_report(w, RULE_CLASS_NAMES, target, name,
		PyUnicode_FromFormat("'%U' must be a literal tuple of plain attribute names", name),
		"write the names out, without double underscores", NULL);
}

/* One target that may be a plain name, with what it is bound to. */
static int assign_one(struct walker *w, PyObject *target, PyObject *value)
{
	PyObject *name, *text;
	int status;

	if (tree_kind(target) != NODE_Name)
		return walk_value(w, target);
	name = tree_get(target, FIELD_id);
	status = name ? check_class_names(w, target, name, value) : -1;
	if (status == 0)
		status = walk_value(w, target);
	w->vetted = NULL;
	if (status == 0 && w->pass == PASS_BIND && tree_kind(value) == NODE_Constant &&
		(text = tree_constant_text(value))) {
		status = note_constant(w, name, text);
		Py_DECREF(text);
	}
	Py_XDECREF(name);
	return status;
}

int walk_assign(struct walker *w, PyObject *node)
{
	PyObject *targets = tree_get(node, FIELD_targets), *value = tree_get(node, FIELD_value);
	int status = targets && value ? walk_value(w, value) : -1;

	for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(targets); i++)
		status = assign_one(w, PyList_GetItem(targets, i), value);
	Py_XDECREF(targets);
	Py_XDECREF(value);
	return status;
}

/*
 * A name that the wrapped body declares global may not be annotated there. Its annotation would not
 * be evaluated in a function anyway, so the statement is turned into the form that may (as if the
 * name stood in parentheses).
 */
static int loosen_annotation(struct walker *w, PyObject *node, PyObject *target)
{
	PyObject *name, *zero;
	const struct symbol *symbol;
	int status = 0;

	if (w->pass == PASS_BIND || w->scope != SCOPE_BODY || tree_kind(target) != NODE_Name)
		return 0;
	name = tree_get(target, FIELD_id);
	symbol = name ? scopes_resolve(&w->scopes, w->scope, name) : NULL;
	if (symbol && symbol->scope == SCOPE_GLOBAL) {
		zero = PyLong_FromLong(0);
		status = zero ? tree_set(node, FIELD_simple, zero) : -1;
		Py_XDECREF(zero);
	}
	Py_XDECREF(name);
	return status;
}

int walk_annotated(struct walker *w, PyObject *node)
{
	PyObject *target = tree_get(node, FIELD_target), *value = tree_get(node, FIELD_value);
	bool evaluated = w->scopes.scopes[w->scope].kind == SCOPE_CLASS && !w->future_annotations;
	int status = target && value ? walk_value(w, value) : -1;

	if (status == 0)
		status = assign_one(w, target, value);
	if (status == 0)
		status = loosen_annotation(w, node, target);
	if (status == 0) {
		w->unevaluated += !evaluated;
		status = walk_field(w, node, FIELD_annotation);
		w->unevaluated -= !evaluated;
	}
	Py_XDECREF(target);
	Py_XDECREF(value);
	return status;
}

/* ---- walk format ---- */

/*
 * str.format, which reads attributes whose names are text.
 *
 * A template that is written out is read here field by field. A template that is computed cannot
 * be, so `.format` on anything but a literal (or a name that only ever stands for one) is refused,
 * all but on objects of the body's own that have such an attribute; there the value is passed
 * through a guard at run time that lets everything pass but strings.
 */

/* Where the reading of a template stands. */
struct template_reader {
	const Py_UCS4 *text;
	Py_ssize_t length, at;
};

static PyObject *slice_text(const struct template_reader *t, Py_ssize_t start, Py_ssize_t end)
{
	PyObject *list = PyList_New(0), *empty = NULL, *text = NULL;

	/*
	 * The stable ABI cannot make a str from code points, so it is joined from single
	 * characters.
	 */
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
	if (!is_key && rules_is_private(name) && !rules_is_dunder(name) &&
		!rules_find(TABLE_PUBLIC_UNDERSCORE, name) && !walk_contains(w->own, name))
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
		bool ends = is_key
			? c == ']' || t->at >= t->length
			: c == '.' || c == '[' || c == '!' || c == ':' || c == '}' || c == '{';

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
	struct template_reader t = { NULL, PyUnicode_GetLength(template), 0 };
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

/*
 * The text of a template that is written out: a literal, a sum of literals, or a name that is bound
 * once and to a literal. A new reference.
 */
static PyObject *written_template(const struct walker *w, PyObject *value)
{
	PyObject *text = tree_constant_text(value), *name;
	const struct symbol *symbol;

	if (text || tree_kind(value) != NODE_Name)
		return text;
	name = tree_get(value, FIELD_id);
	symbol = name ? scopes_resolve(&w->scopes, w->scope, name) : NULL;
	if (symbol && symbol->constant && symbol->binds == 1 &&
		!walk_contains(w->scopes.declared, name))
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

	if (load &&
		(keywords = Py_BuildValue("{s:s,s:O}", "id", BUILTIN_FORMAT_GUARD, "ctx", load)))
		name = tree_make(NODE_Name, keywords);
	Py_XDECREF(keywords);
	keywords = name ? Py_BuildValue("{s:O,s:[O],s:[]}", "func", name, "args", value, "keywords")
			: NULL;
	if (keywords && (call = tree_make(NODE_Call, keywords)) &&
		tree_copy_place(call, value) == 0 && tree_copy_place(name, value) == 0)
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
		"use an f-string, or write the template where it is formatted: "
		"\"...{}...\".format(x)",
		NULL);
}
