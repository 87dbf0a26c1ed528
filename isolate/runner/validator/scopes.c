/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scopes and symbols of one body.
 *
 * Both arrays grow with the tree, whose size is capped, so they are bounded as well. Names are
 * exact str objects from the parser, which has folded them already (NFKC), so comparing them here
 * is comparing what the interpreter will look up.
 */
#include "isolate/runner/validator/scopes.h"

#include <stdlib.h>

int scopes_begin(struct scopes *scopes)
{
	*scopes = (struct scopes){ 0 };
	scopes->declared = PySet_New(NULL);
	scopes->nonlocals = PySet_New(NULL);
	scopes->globals = PySet_New(NULL);
	if (!scopes->declared || !scopes->nonlocals || !scopes->globals)
		return -1;
	return scopes_add(scopes, SCOPE_MODULE, -1) < 0 ||
			scopes_add(scopes, SCOPE_FUNCTION, SCOPE_GLOBAL) < 0
		? -1
		: 0;
}

static void free_origins(struct origin *origin)
{
	while (origin) {
		struct origin *next = origin->next;

		Py_DECREF(origin->module);
		Py_XDECREF(origin->name);
		free(origin);
		origin = next;
	}
}

void scopes_free(struct scopes *scopes)
{
	for (int i = 0; i < scopes->count; i++)
		Py_XDECREF(scopes->scopes[i].symbols);
	for (int i = 0; i < scopes->symbol_count; i++) {
		Py_XDECREF(scopes->symbols[i].name);
		Py_XDECREF(scopes->symbols[i].constant);
		free_origins(scopes->symbols[i].origins);
	}
	Py_XDECREF(scopes->declared);
	Py_XDECREF(scopes->nonlocals);
	Py_XDECREF(scopes->globals);
	free(scopes->scopes);
	free(scopes->symbols);
	*scopes = (struct scopes){ 0 };
}

/* Makes room for one more item. */
static void *grown(void *items, int count, int *capacity, size_t size)
{
	int wanted = *capacity ? *capacity * 2 : 16;
	void *more;

	if (count < *capacity)
		return items;
	more = realloc(items, (size_t)wanted * size);
	if (!more)
		PyErr_NoMemory();
	else
		*capacity = wanted;
	return more;
}

int scopes_add(struct scopes *scopes, enum scope_kind kind, int parent)
{
	struct scope *array =
		grown(scopes->scopes, scopes->count, &scopes->capacity, sizeof *array);
	PyObject *symbols;

	if (!array)
		return -1;
	scopes->scopes = array;
	symbols = PyDict_New();
	if (!symbols)
		return -1;
	array[scopes->count] = (struct scope){ kind, parent, symbols };
	return scopes->count++;
}

static struct symbol *find(const struct scopes *scopes, int scope, PyObject *name)
{
	PyObject *index = PyDict_GetItemWithError(scopes->scopes[scope].symbols, name);

	if (!index) {
		PyErr_Clear();
		return NULL;
	}
	return &scopes->symbols[PyLong_AsLong(index)];
}

struct symbol *scopes_symbol(struct scopes *scopes, int scope, PyObject *name)
{
	struct symbol *found = find(scopes, scope, name), *array;
	PyObject *index;
	int status;

	if (found)
		return found;
	array = grown(
		scopes->symbols, scopes->symbol_count, &scopes->symbol_capacity, sizeof *array);
	if (!array)
		return NULL;
	scopes->symbols = array;
	index = PyLong_FromLong(scopes->symbol_count);
	status = index ? PyDict_SetItem(scopes->scopes[scope].symbols, name, index) : -1;
	Py_XDECREF(index);
	if (status < 0)
		return NULL;
	array[scopes->symbol_count] = (struct symbol){ reference(name), 0, 0, scope, NULL, NULL };
	return &array[scopes->symbol_count++];
}

struct symbol *scopes_bind(struct scopes *scopes, int scope, PyObject *name, unsigned flags)
{
	struct symbol *symbol = scopes_symbol(scopes, scope, name);

	if (symbol && (symbol->flags & SYMBOL_GLOBAL))
		symbol = scopes_symbol(scopes, SCOPE_GLOBAL, name);
	if (symbol) {
		symbol->flags |= SYMBOL_BOUND | flags;
		symbol->binds++;
	}
	return symbol;
}

int scopes_declare(struct scopes *scopes, int scope, PyObject *name, unsigned flag)
{
	struct symbol *symbol = scopes_symbol(scopes, scope, name);

	if (!symbol)
		return -1;
	symbol->flags |= flag;
	if (PySet_Add(flag == SYMBOL_GLOBAL ? scopes->globals : scopes->nonlocals, name) < 0)
		return -1;
	return PySet_Add(scopes->declared, name);
}

int scopes_add_origin(struct symbol *symbol, PyObject *module, PyObject *name)
{
	struct origin *origin = malloc(sizeof *origin);

	if (!origin) {
		PyErr_NoMemory();
		return -1;
	}
	Py_XINCREF(name);
	*origin = (struct origin){ symbol->origins, false, reference(module), name };
	symbol->origins = origin;
	return 0;
}

static bool same_origin(const struct origin *origin, PyObject *module, PyObject *name)
{
	if (PyUnicode_Compare(origin->module, module) != 0 || !origin->name != !name)
		return false;
	return !name || PyUnicode_Compare(origin->name, name) == 0;
}

void scopes_meet_origin(struct symbol *symbol, PyObject *module, PyObject *name, bool rebinds)
{
	struct origin **at = &symbol->origins;

	while (*at) {
		struct origin *origin = *at;

		if (same_origin(origin, module, name)) {
			origin->met = true;
			at = &origin->next;
		} else if (rebinds && origin->met) {
			*at = origin->next;
			origin->next = NULL;
			free_origins(origin);
		} else {
			at = &origin->next;
		}
	}
}

const struct symbol *scopes_resolve(const struct scopes *scopes, int scope, PyObject *name)
{
	const struct symbol *symbol, *in_class = NULL;

	for (int at = scope; at > SCOPE_GLOBAL; at = scopes->scopes[at].parent) {
		bool is_class = scopes->scopes[at].kind == SCOPE_CLASS;

		if (at != scope && is_class)
			continue;
		symbol = find(scopes, at, name);
		if (!symbol || (symbol->flags & SYMBOL_NONLOCAL))
			continue;
		if (symbol->flags & SYMBOL_GLOBAL)
			break;
		if (!(symbol->flags & SYMBOL_BOUND))
			continue;
		if (!is_class || symbol->origins)
			return in_class && !symbol->origins ? in_class : symbol;
		/*
		 * Before the class body binds it, the name is the one outside; an import there must
		 * not hide behind it.
		 */
		in_class = symbol;
	}
	symbol = find(scopes, SCOPE_GLOBAL, name);
	if (!symbol || !(symbol->flags & SYMBOL_BOUND) || (in_class && !symbol->origins))
		return in_class;
	return symbol;
}

/* What a nonlocal statement's scope binds belongs to the function further out. */
static int settle_nonlocal(struct scopes *scopes, int index)
{
	struct symbol *inner = &scopes->symbols[index], *outer;
	int parent = scopes->scopes[inner->scope].parent;

	if (!(inner->flags & SYMBOL_NONLOCAL) || !inner->binds || parent < 0)
		return 0;
	outer = (struct symbol *)scopes_resolve(scopes, parent, inner->name);
	if (!outer)
		return 0;
	outer->binds += inner->binds;
	outer->flags |= inner->flags & (SYMBOL_OTHER | SYMBOL_EXCEPTION);
	for (struct origin *o = inner->origins; o; o = o->next) {
		if (scopes_add_origin(outer, o->module, o->name) < 0)
			return -1;
	}
	return 0;
}

bool scopes_may_fall_through(const struct scopes *scopes, const struct symbol *symbol)
{
	return symbol->scope == SCOPE_GLOBAL || scopes->scopes[symbol->scope].kind == SCOPE_CLASS;
}

static bool is_promoted(const struct scopes *scopes, const struct symbol *symbol, PyObject *taken)
{
	if (!(symbol->flags & SYMBOL_BOUND) ||
		(symbol->flags & (SYMBOL_PARAMETER | SYMBOL_GLOBAL | SYMBOL_NONLOCAL)))
		return false;
	if (PySet_Contains(scopes->nonlocals, symbol->name) != 0)
		return false;
	if (!(symbol->flags & SYMBOL_DEFINITION) &&
		PySet_Contains(scopes->globals, symbol->name) != 1)
		return false;
	return PyDict_GetItemWithError(taken, symbol->name) == NULL;
}

/* Gives the module's symbol what the body's own one had. */
static int move_to_module(struct scopes *scopes, int index)
{
	PyObject *name = scopes->symbols[index].name;
	struct symbol *global = scopes_symbol(scopes, SCOPE_GLOBAL, name), *local;

	if (!global)
		return -1;
	local = &scopes->symbols[index];
	for (struct origin *o = local->origins; o; o = o->next) {
		if (scopes_add_origin(global, o->module, o->name) < 0)
			return -1;
	}
	global->flags |= local->flags;
	global->binds += local->binds;
	Py_CLEAR(global->constant);
	local->flags |= SYMBOL_GLOBAL;
	return PySet_Add(scopes->declared, name);
}

PyObject *scopes_promote(struct scopes *scopes, PyObject *taken)
{
	PyObject *names = PyList_New(0);

	for (int i = 0; names && i < scopes->symbol_count; i++) {
		if (settle_nonlocal(scopes, i) < 0)
			Py_CLEAR(names);
	}
	for (int i = 0; names && i < scopes->symbol_count; i++) {
		const struct symbol *symbol = &scopes->symbols[i];

		if (symbol->scope != SCOPE_BODY || !is_promoted(scopes, symbol, taken))
			continue;
		if (PyList_Append(names, symbol->name) < 0 || move_to_module(scopes, i) < 0)
			Py_CLEAR(names);
	}
	PyErr_Clear();
	return names;
}
