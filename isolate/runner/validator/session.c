/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of a request as sets, in a capsule.
 *
 * The guarded functions refer to the capsule and the capsule's builtins refer to the guarded functions; session_close cuts that
 * circle when the body has ended.
 */
#include "isolate/runner/validator/session.h"

#include <stdlib.h>
#include <string.h>

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
