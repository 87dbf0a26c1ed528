/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extension module _cordon.
 *
 * serve(fd, preload) is how cordon starts it: the fork server on one socket. The other functions
 * exist so that the validator and the wrapper can be tested in a plain interpreter, without
 * namespaces: perform() takes one request as a dict and returns the answer as one.
 */
#include "isolate/runner/validator/python.h"

#include "isolate/wire/body_request.h"
#include "isolate/runner/imports.h"
#include "isolate/runner/child.h"
#include "isolate/runner/validator/rules.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY_SLACK = 256 * 1024 };

/* The fork server may be absent: the validator can be built and tested by itself. */
#pragma weak runner_serve

/* A text or bytes item of a request. *owner keeps the bytes alive. */
static int read_span(PyObject *request, const char *key, struct span *span, PyObject **owner)
{
	PyObject *value = PyDict_GetItemString(request, key);
	char *data;
	Py_ssize_t length;

	if (!value || value == Py_None)
		return 0;
	*owner = PyUnicode_Check(value) ? PyUnicode_AsUTF8String(value) : reference(value);
	if (!*owner || PyBytes_AsStringAndSize(*owner, &data, &length) < 0)
		return -1;
	*span = (struct span){ data, (size_t)length };
	return 0;
}

static bool read_flag(PyObject *request, const char *key)
{
	PyObject *value = PyDict_GetItemString(request, key);

	return value && PyObject_IsTrue(value) == 1;
}

static PyObject *field_bytes(const struct body_reply *reply, enum body_field field)
{
	return PyBytes_FromStringAndSize(
		reply->data + reply->field[field].offset, (Py_ssize_t)reply->field[field].length);
}

static PyObject *reply_dict(const struct body_reply *reply)
{
	static const char *const verdicts[] = { "none", "succeeded", "failed", "refused" };

	return Py_BuildValue("{s:s,s:N,s:N,s:N}", "verdict", verdicts[reply->verdict], "output",
		field_bytes(reply, BODY_OUTPUT), "error", field_bytes(reply, BODY_ERROR), "detail",
		field_bytes(reply, BODY_DETAIL));
}

static PyObject *perform(PyObject *self, PyObject *dict)
{
	struct body_request request = { .output_limit = 1024 * 1024 };
	struct body_reply *reply = NULL;
	PyObject *owners[5] = { NULL }, *limit, *answer = NULL;

	(void)self;
	if (!PyDict_Check(dict))
		return PyErr_Format(PyExc_TypeError, "perform() takes a dict");
	if (read_span(dict, "source", &request.source, &owners[0]) < 0 ||
		read_span(dict, "args", &request.args, &owners[1]) < 0 ||
		read_span(dict, "return_expr", &request.return_expr, &owners[2]) < 0 ||
		read_span(dict, "allow", &request.allow, &owners[3]) < 0 ||
		read_span(dict, "permit", &request.permit, &owners[4]) < 0)
		goto out;
	limit = PyDict_GetItemString(dict, "output_limit");
	if (limit)
		request.output_limit = PyLong_AsUnsignedLongLong(limit);
	request.validate_only = read_flag(dict, "validate_only");
	request.skip_validation = read_flag(dict, "skip_validation");
	if (PyErr_Occurred())
		goto out;
	reply = malloc(sizeof *reply + request.output_limit + REPLY_SLACK);
	if (!reply) {
		PyErr_NoMemory();
		goto out;
	}
	reply->size = request.output_limit + REPLY_SLACK;
	body_perform(&request, NULL, reply);
	answer = reply_dict(reply);
out:
	free(reply);
	for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
		Py_XDECREF(owners[i]);
	return answer;
}

static PyObject *serve(PyObject *self, PyObject *arguments)
{
	const char *preload;
	int fd;

	(void)self;
	if (!PyArg_ParseTuple(arguments, "is:serve", &fd, &preload))
		return NULL;
	if (!runner_serve) {
		PyErr_SetString(PyExc_RuntimeError, "this build of the runner has no fork server");
		return NULL;
	}
	return PyLong_FromLong(runner_serve(fd, preload));
}

static PyObject *preload(PyObject *self, PyObject *names)
{
	char reason[512];
	char *data;
	Py_ssize_t length;
	PyObject *bytes = PyUnicode_Check(names) ? PyUnicode_AsUTF8String(names) : NULL,
		 *result = NULL;

	(void)self;
	if (bytes && PyBytes_AsStringAndSize(bytes, &data, &length) == 0) {
		if (body_preload((struct span){ data, (size_t)length }, reason, sizeof reason) == 0)
			result = reference(Py_None);
		else
			PyErr_SetString(PyExc_ImportError, reason);
	} else if (!PyErr_Occurred()) {
		PyErr_SetString(PyExc_TypeError, "preload() takes a str");
	}
	Py_XDECREF(bytes);
	return result;
}

static PyObject *rules(PyObject *self, PyObject *nothing)
{
	PyObject *dict = PyDict_New();

	(void)self;
	(void)nothing;
	for (int i = 0; dict && i < RULE_COUNT; i++) {
		PyObject *reason = PyUnicode_FromString(rule_reason((enum rule)i));

		if (!reason || PyDict_SetItemString(dict, rule_id((enum rule)i), reason) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(reason);
	}
	return dict;
}

static PyMethodDef METHODS[] = {
	{ "perform", perform, METH_O,
		"perform(request) -> answer: validate and call one body in this process." },
	{ "serve", serve, METH_VARARGS, "serve(fd, preload) -> status: the fork server." },
	{ "preload", preload, METH_O, "preload(names): import a comma-separated list." },
	{ "rules", rules, METH_NOARGS, "rules() -> {id: reason}." },
	{ NULL, NULL, 0, NULL },
};

static PyModuleDef MODULE = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_cordon",
	.m_doc = "The runner of cordon.",
	.m_size = -1,
	.m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__cordon(void);

PyMODINIT_FUNC PyInit__cordon(void)
{
	return PyModule_Create(&MODULE);
}
