/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validator: text checks, the interpreter's own parser, two walks over its tree, and its own
 * compiler.
 *
 * There is no second grammar that could disagree with the first. The parser may raise or even crash
 * on hostile text, so this runs only in a process that is confined already. The tree that was
 * judged is the very tree that is wrapped and compiled: a body becomes a function by being put
 * under a FunctionDef node, so its text, its line numbers and its multi-line strings stay as they
 * were.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "isolate/runner/validator/validate.h"

#include <stdlib.h>
#include <string.h>

#include "isolate/runner/validator/walk.h"

static const char *text_hint(const struct source *source);

/*
 * Turns an exception of the parser or compiler into a violation. Returns -1 when it is not one of
 * theirs.
 */
static int report_syntax(
	const struct program *program, const char *kind, long line_offset, struct violations *found)
{
	PyObject *type, *value, *traceback, *message = NULL, *line = NULL, *column = NULL;
	bool deep,
		refused = PyErr_ExceptionMatches(PyExc_SyntaxError) ||
		PyErr_ExceptionMatches(PyExc_ValueError) ||
		PyErr_ExceptionMatches(PyExc_OverflowError) ||
		PyErr_ExceptionMatches(PyExc_TypeError) ||
		PyErr_ExceptionMatches(PyExc_SystemError);
	long at = 0, offset = 0;
	int status = -1;

	deep = PyErr_ExceptionMatches(PyExc_RecursionError) ||
		PyErr_ExceptionMatches(PyExc_MemoryError);
	if (!refused && !deep)
		return -1;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	if (deep) {
		status = violations_add(found, RULE_TREE_DEPTH, 0, 0, NULL,
			PyUnicode_FromFormat("%snested too deeply to be parsed", kind),
			"use intermediate variables, sum() or str.join()", NULL);
		goto out;
	}
	message = value ? PyObject_GetAttrString(value, "msg") : NULL;
	line = message ? PyObject_GetAttrString(value, "lineno") : NULL;
	column = line ? PyObject_GetAttrString(value, "offset") : NULL;
	PyErr_Clear();
	if (!message || !PyUnicode_Check(message)) {
		Py_XDECREF(message);
		message = value ? PyObject_Str(value) : NULL;
	}
	at = line && PyLong_Check(line) ? PyLong_AsLong(line) + line_offset : 0;
	offset = column && PyLong_Check(column) ? PyLong_AsLong(column) : 0;
	PyErr_Clear();
	if (at > (long)program->source.lines + (long)program->expression.lines + 1)
		at = 0;
	if (message)
		status =
			violations_add(found, RULE_SYNTAX, at > 0 ? at : 0, offset > 0 ? offset : 0,
				NULL, PyUnicode_FromFormat("%ssyntax error: %U", kind, message),
				text_hint(&program->source), NULL);
out:
	Py_XDECREF(message);
	Py_XDECREF(line);
	Py_XDECREF(column);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	return status;
}

/* What is wrong with a text that is no body as a whole, or NULL. */
static const char *text_hint(const struct source *source)
{
	for (long line = 1; line <= (long)source->lines; line++) {
		size_t length, blanks = 0;
		const char *text = source_line(source, line, &length);

		while (blanks < length && (text[blanks] == ' ' || text[blanks] == '\t'))
			blanks++;
		if (length - blanks >= 3 && strncmp(text + blanks, "```", 3) == 0)
			return "strip the lines of three backquotes around the code, or use "
			       "--dedent";
		if (blanks < length && text[blanks] != '#')
			return blanks > 0 ? "strip the blanks before every line: the text is "
					    "indented as a whole; or use --dedent"
					  : NULL;
	}
	return NULL;
}

static bool is_future(PyObject *statement)
{
	PyObject *module =
		tree_kind(statement) == NODE_ImportFrom ? tree_get(statement, FIELD_module) : NULL;
	bool future = module && PyUnicode_Check(module) && walk_is(module, "__future__");

	PyErr_Clear();
	Py_XDECREF(module);
	return future;
}

static bool is_docstring(PyObject *statement)
{
	PyObject *value = tree_kind(statement) == NODE_Expr ? tree_get(statement, FIELD_value)
							    : NULL,
		 *text = NULL;
	bool docstring =
		value && tree_kind(value) == NODE_Constant && (text = tree_constant_text(value));

	PyErr_Clear();
	Py_XDECREF(value);
	Py_XDECREF(text);
	return docstring;
}

/* Takes the leading `from __future__` statements out of body. A new list, or NULL. */
static PyObject *take_futures(PyObject *body)
{
	Py_ssize_t start = PyList_Size(body) > 0 && is_docstring(PyList_GetItem(body, 0)),
		   end = start;
	PyObject *futures;

	while (end < PyList_Size(body) && is_future(PyList_GetItem(body, end)))
		end++;
	futures = PyList_GetSlice(body, start, end);
	if (futures && PyList_SetSlice(body, start, end, NULL) < 0)
		Py_CLEAR(futures);
	return futures;
}

/* Puts one node made of keywords (taken over) into list, at its start or end. */
static int place_node(PyObject *list, enum node_kind kind, PyObject *keywords, bool first)
{
	PyObject *node = keywords ? tree_make(kind, keywords) : NULL;
	int status = !node ? -1 : first ? PyList_Insert(list, 0, node) : PyList_Append(list, node);

	Py_XDECREF(keywords);
	Py_XDECREF(node);
	return status;
}

static PyObject *make_arguments(void)
{
	PyObject *keywords = Py_BuildValue("{s:s,s:O}", "arg", "args", "annotation", Py_None),
		 *parameter = NULL, *arguments = NULL;

	if (keywords)
		parameter = tree_make_named("arg", keywords);
	Py_XDECREF(keywords);
	keywords = parameter ? Py_BuildValue("{s:[],s:[],s:O,s:[],s:[],s:O,s:[]}", "posonlyargs",
				       "args", "vararg", Py_None, "kwonlyargs", "kw_defaults",
				       "kwarg", parameter, "defaults")
			     : NULL;
	if (keywords)
		arguments = tree_make_named("arguments", keywords);
	Py_XDECREF(keywords);
	Py_XDECREF(parameter);
	return arguments;
}

/* Makes `def <body>(**args): body` and, before it, the hoisted directives: a Module, or NULL. */
static PyObject *wrap(PyObject *body, PyObject *promoted)
{
	PyObject *statements = take_futures(body), *arguments = make_arguments(), *keywords,
		 *module = NULL;
	int status = statements && arguments ? 0 : -1;

	if (status == 0 && PyList_Size(promoted) > 0)
		status = place_node(
			body, NODE_Global, Py_BuildValue("{s:O}", "names", promoted), true);
	if (status == 0 && PyList_Size(body) == 0)
		status = place_node(body, NODE_Pass, PyDict_New(), true);
	if (status == 0)
		status = place_node(statements, NODE_FunctionDef,
			Py_BuildValue("{s:s,s:O,s:O,s:[],s:O,s:O,s:[]}", "name", BODY_FUNCTION,
				"args", arguments, "body", body, "decorator_list", "returns",
				Py_None, "type_comment", Py_None, "type_params"),
			false);
	if (status == 0 &&
		(keywords = Py_BuildValue("{s:O,s:[]}", "body", statements, "type_ignores"))) {
		module = tree_make(NODE_Module, keywords);
		Py_DECREF(keywords);
	}
	Py_XDECREF(statements);
	Py_XDECREF(arguments);
	return module;
}

/* Appends `return expression` to the body, on the lines that follow it. */
static int append_return(struct program *program, PyObject *body, struct violations *found)
{
	PyObject *tree = tree_parse(program->expression.text, "<return>", "eval"), *value = NULL,
		 *keywords = NULL, *node = NULL;
	int status = -1;

	if (!tree)
		return report_syntax(program, "--return: ", (long)program->source.lines, found);
	value = tree_get(tree, FIELD_body);
	if (value && tree_move_down(value, (long)program->source.lines, WALK_DEPTH_MOST + 2) == 0)
		keywords = Py_BuildValue("{s:O}", "value", value);
	if (keywords && (node = tree_make(NODE_Return, keywords)) &&
		tree_copy_place(node, value) == 0)
		status = PyList_Append(body, node);
	Py_XDECREF(tree);
	Py_XDECREF(value);
	Py_XDECREF(keywords);
	Py_XDECREF(node);
	return status;
}

/* Is name bound anywhere in the source? */
static bool is_bound(const struct scopes *scopes, PyObject *name)
{
	bool bound = false;

	for (int i = 0; i < scopes->symbol_count && !bound; i++)
		bound = (scopes->symbols[i].flags & SYMBOL_BOUND) &&
			PyUnicode_Compare(scopes->symbols[i].name, name) == 0;
	return bound;
}

/* Puts `import dotted` where imports stand: behind the docstring and the directives. */
static int insert_import(PyObject *body, PyObject *dotted)
{
	PyObject *text = PyUnicode_FromFormat("import %U", dotted),
		 *tree = text ? tree_parse(text, BODY_FILE, "exec") : NULL;
	PyObject *statements = tree ? tree_get(tree, FIELD_body) : NULL;
	Py_ssize_t at = PyList_Size(body) > 0 && is_docstring(PyList_GetItem(body, 0));
	int status = statements ? 0 : -1;

	while (at < PyList_Size(body) && is_future(PyList_GetItem(body, at)))
		at++;
	if (status == 0 && PyList_Size(statements) == 1)
		status = PyList_Insert(body, at, PyList_GetItem(statements, 0));
	Py_XDECREF(text);
	Py_XDECREF(tree);
	Py_XDECREF(statements);
	return status;
}

/* An allowed module that is used without its import line gets one. Returns how many, or -1. */
static int add_imports(const struct walker *w, PyObject *body)
{
	PyObject *iterator = PyObject_GetIter(w->session->allow), *dotted;
	const struct rule_row *row;
	int added = iterator ? 0 : -1;

	while (added >= 0 && (dotted = PyIter_Next(iterator))) {
		Py_ssize_t length = PyUnicode_GetLength(dotted),
			   dot = PyUnicode_FindChar(dotted, '.', 0, length, 1);
		PyObject *root = PyUnicode_Substring(dotted, 0, dot < 0 ? length : dot);

		if (!root)
			added = -1;
		else if (walk_contains(w->read, root) && !is_bound(&w->scopes, root) &&
			!PyDict_GetItemWithError(w->session->builtins, root) &&
			policy_import(w->session, dotted, &row) == IMPORT_ALLOWED)
			added = insert_import(body, dotted) < 0 ? -1 : added + 1;
		Py_XDECREF(root);
		Py_DECREF(dotted);
	}
	Py_XDECREF(iterator);
	return PyErr_Occurred() ? -1 : added;
}

static int bind_names(struct walker *w, PyObject *body)
{
	PyObject *args = PyUnicode_FromString("args");
	int status = -1;

	scopes_free(&w->scopes);
	w->scope = SCOPE_BODY;
	w->next_scope = SCOPE_BODY + 1;
	w->nodes = 0;
	if (args && scopes_begin(&w->scopes) == 0 &&
		scopes_bind(&w->scopes, SCOPE_BODY, args, SYMBOL_PARAMETER | SYMBOL_OTHER))
		status = walk_value(w, body);
	Py_XDECREF(args);
	return status;
}

/* Both walks. *promoted receives the names that the body declares global (a new list). */
static int judge(const struct program *program, const struct session *session, PyObject *body,
	struct violations *found, PyObject **promoted)
{
	struct walker w = {
		.session = session, .source = &program->source, .found = found, .pass = PASS_BIND
	};
	int status = -1, added;

	w.expression = program->expression.text ? &program->expression : NULL;
	w.own = PySet_New(NULL);
	w.read = PySet_New(NULL);
	if (!w.own || !w.read || bind_names(&w, body) < 0 ||
		(added = w.stopped ? 0 : add_imports(&w, body)) < 0)
		goto out;
	if ((added > 0 && bind_names(&w, body) < 0) ||
		!(*promoted = scopes_promote(&w.scopes, session->builtins)))
		goto out;
	w.pass = PASS_JUDGE;
	w.scope = SCOPE_BODY;
	w.next_scope = SCOPE_BODY + 1;
	w.nodes = 0;
	status = w.stopped ? 0 : walk_value(&w, body);
out:
	scopes_free(&w.scopes);
	Py_XDECREF(w.own);
	Py_XDECREF(w.read);
	return status;
}

/*
 * A body that defines functions and does nothing with them has most likely forgotten its last line.
 */
static bool only_defines(PyObject *body)
{
	bool defines = false;

	for (Py_ssize_t i = 0; i < PyList_Size(body); i++) {
		enum node_kind kind = tree_kind(PyList_GetItem(body, i));
		bool definition = kind == NODE_FunctionDef || kind == NODE_AsyncFunctionDef ||
			kind == NODE_ClassDef;

		if (!definition && kind != NODE_Import && kind != NODE_ImportFrom &&
			!is_docstring(PyList_GetItem(body, i)))
			return false;
		defines = defines || definition;
	}
	return defines;
}

static int compile_body(struct program *program, const struct body_request *request,
	const struct session *session, PyObject *body, struct violations *found)
{
	PyObject *promoted = NULL, *module = NULL;
	size_t before = found->count;
	int status = judge(program, session, body, found, &promoted);

	if (status == 0 && (found->count == before || request->skip_validation)) {
		status = promoted && (module = wrap(body, promoted)) ? 0 : -1;
		if (module && !(program->code = tree_compile(module, BODY_FILE)))
			status = report_syntax(program, "", 0, found);
	}
	Py_XDECREF(promoted);
	Py_XDECREF(module);
	return status;
}

/* Blanks before an expression would be an indentation. */
static struct span without_leading_blanks(struct span text)
{
	while (text.length && (*text.bytes == ' ' || *text.bytes == '\t')) {
		text.bytes++;
		text.length--;
	}
	return text;
}

int program_load(struct program *program, const struct body_request *request,
	const struct session *session, struct violations *found)
{
	PyObject *tree = NULL, *body = NULL;
	int status = -1;

	*program = (struct program){ 0 };
	if (source_load(&program->source, request->source, "", found) < 0)
		return -1;
	if (request->return_expr.length &&
		source_load(&program->expression, without_leading_blanks(request->return_expr),
			"--return: ", found) < 0)
		return -1;
	if (!program->source.text || (request->return_expr.length && !program->expression.text) ||
		(found->count && !request->skip_validation))
		return 0;
	tree = tree_parse(program->source.text, BODY_FILE, "exec");
	if (!tree)
		return report_syntax(program, "", 0, found);
	body = tree_get(tree, FIELD_body);
	status = body ? 0 : -1;
	program->only_defines = status == 0 && !program->expression.text && only_defines(body);
	if (status == 0 && program->expression.text)
		status = append_return(program, body, found);
	if (status == 0 && (found->count == 0 || request->skip_validation))
		status = compile_body(program, request, session, body, found);
	Py_XDECREF(tree);
	Py_XDECREF(body);
	return status;
}

void program_free(struct program *program)
{
	source_free(&program->source);
	source_free(&program->expression);
	Py_CLEAR(program->code);
}

/* ---- session ---- */

/*
 * The lists of a request as sets, in a capsule.
 *
 * The guarded functions refer to the capsule and the capsule's builtins refer to the guarded
 * functions; session_close cuts that circle when the body has ended.
 */

static const char CAPSULE_NAME[] = "cordon.session";

static int add_item(PyObject *set, const char *bytes, size_t length)
{
	PyObject *item;
	int status;

	while (length && strchr(" \t\r\n", bytes[0])) {
		bytes++;
		length--;
	}
	while (length && strchr(" \t\r\n", bytes[length - 1]))
		length--;
	if (!length)
		return 0;
	item = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
	status = item ? PySet_Add(set, item) : -1;
	Py_XDECREF(item);
	return status;
}

static PyObject *split_list(struct span list)
{
	PyObject *set = PySet_New(NULL);
	size_t start = 0;

	for (size_t i = 0; set && i <= list.length && list.bytes; i++) {
		if (i < list.length && list.bytes[i] != ',')
			continue;
		if (add_item(set, list.bytes + start, i - start) < 0)
			Py_CLEAR(set);
		start = i + 1;
	}
	return set;
}

static void destroy(PyObject *capsule)
{
	struct session *session = PyCapsule_GetPointer(capsule, CAPSULE_NAME);

	if (session) {
		session_close(session);
		Py_CLEAR(session->allow);
		Py_CLEAR(session->permit);
		free(session);
	}
}

PyObject *session_open(const struct body_request *request, struct session **session)
{
	struct session *s = calloc(1, sizeof *s);
	PyObject *capsule;

	*session = NULL;
	if (!s)
		return PyErr_NoMemory();
	s->allow = split_list(request->allow);
	s->permit = split_list(request->permit);
	s->facades = PyDict_New();
	capsule = PyCapsule_New(s, CAPSULE_NAME, destroy);
	if (!capsule) {
		Py_XDECREF(s->allow);
		Py_XDECREF(s->permit);
		Py_XDECREF(s->facades);
		free(s);
		return NULL;
	}
	if (!s->allow || !s->permit || !s->facades) {
		Py_DECREF(capsule);
		return NULL;
	}
	*session = s;
	return capsule;
}

void session_close(struct session *session)
{
	Py_CLEAR(session->builtins);
	Py_CLEAR(session->facades);
}

struct session *session_of(PyObject *capsule)
{
	return PyCapsule_GetPointer(capsule, CAPSULE_NAME);
}

static bool contains(PyObject *set, PyObject *item)
{
	int found = PySet_Contains(set, item);

	if (found < 0)
		PyErr_Clear();
	return found == 1;
}

bool session_permits(const struct session *session, PyObject *name)
{
	return contains(session->permit, name);
}

bool session_allows(const struct session *session, PyObject *dotted)
{
	return contains(session->allow, dotted);
}
