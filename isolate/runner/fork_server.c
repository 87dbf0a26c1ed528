/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork server. See child.h.
 *
 * One interpreter, one thread, no state between executions: a spawn message comes in, a child with
 * namespaces of its own is cloned, and the server waits for the next. The child is made by the
 * clone3 call itself, because only that makes it in its namespaces at once; it runs plain C until
 * it forks the program with fork(3), which puts the C library's and (PyOS_AfterFork_Child) the
 * interpreter's idea of the thread right again.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "isolate/runner/imports.h"
#include "isolate/runner/validator/import_policy.h"

#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include "isolate/runner/child.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/base/message.h"
#include "isolate/wire/init_report.h"

/*
 * What is printed must be seen at once, and must not be lost with the process: lines are written as
 * they end.
 */
static void flush_lines(const char *name)
{
	PyObject *stream = PySys_GetObject(name), *method = NULL, *none = NULL, *keywords = NULL,
		 *done = NULL;

	if (stream && (method = PyObject_GetAttrString(stream, "reconfigure")) &&
		(none = PyTuple_New(0)) &&
		(keywords = Py_BuildValue("{s:O}", "line_buffering", Py_True)))
		done = PyObject_Call(method, none, keywords);
	Py_XDECREF(done);
	Py_XDECREF(keywords);
	Py_XDECREF(none);
	Py_XDECREF(method);
	PyErr_Clear();
}

static void spawn_child(const struct runner_spawn *spawn, const int *fds, const char *preload)
{
	struct clone_args args;
	long pid;

	memset(&args, 0, sizeof args);
	args.flags = child_clone_flags(&spawn->limits);
	args.exit_signal = SIGCHLD;
	PyOS_BeforeFork();
	pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		child_run(spawn, fds, preload);
	PyOS_AfterFork_Parent();
	if (pid < 0) {
		struct report r;
		struct error err = ERROR_INIT;

		error_set(&err,
			errno == ENOSPC || errno == EUSERS ? FAILURE_USERNS_LIMIT
							   : FAILURE_USERNS_DENIED,
			errno, "making the namespaces of an execution");
		report_failure(&r, &err);
		message_send(fds[0], &r, sizeof r, NULL, 0);
	}
}

/*
 * What runs in a child must not reach the server: in tier subprocess both are processes of one
 * user. The kernel writes no core of it, since a handler of cores runs outside.
 */
static int protect_self(void)
{
	/* at 1 no handler is started, core(5); children could not raise a 0 */
	const struct rlimit no_core = { 1, 1 };

	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0
		? 0
		: -1;
}

int runner_serve(int socket, const char *preload)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	static char bytes[sizeof(struct runner_spawn)];

	/* The children report for themselves: the kernel may reap them. */
	if (sigaction(SIGCHLD, &ignore, NULL) != 0 || protect_self() < 0)
		return -1;
	if (body_prepare() < 0)
		PyErr_Clear(); /* each body then builds the tables for itself */
	flush_lines("stdout");
	flush_lines("stderr");
	for (;;) {
		struct runner_spawn spawn;
		int fds[RUNNER_SPAWN_FDS];
		size_t count;
		ssize_t got =
			message_receive(socket, bytes, sizeof bytes, fds, RUNNER_SPAWN_FDS, &count);

		if (got <= 0)
			return (int)got;
		if (count == RUNNER_SPAWN_FDS && runner_spawn_parse(bytes, (size_t)got, &spawn))
			spawn_child(&spawn, fds, preload);
		while (count > 0)
			close(fds[--count]);
	}
}

/* ---- preload ---- */

/*
 * What a confined child imports before its body: the interpreter's site directories, and what
 * --preload names.
 */

/* Puts "cannot import NAME: Type: message" into reason and clears the exception. */
static void describe(PyObject *name, char *reason, size_t size)
{
	PyObject *type, *value, *traceback, *type_name, *text = NULL, *bytes = NULL;
	char *data = NULL;

	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	type_name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
	text = value && type_name
		? PyUnicode_FromFormat("cannot import %S: %S: %S", name, type_name, value)
		: NULL;
	bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
	if (bytes)
		data = PyBytes_AsString(bytes);
	PyErr_Clear();
	PyOS_snprintf(reason, size, "%s", data ? data : "a module cannot be imported");
	for (char *c = reason; *c; c++) {
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	}
	Py_XDECREF(type_name);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
	Py_XDECREF(text);
	Py_XDECREF(bytes);
}

static int preload_one(const char *bytes, size_t length, char *reason, size_t size)
{
	PyObject *name, *module;

	while (length && strchr(" \t\r\n", bytes[0])) {
		bytes++;
		length--;
	}
	while (length && strchr(" \t\r\n", bytes[length - 1]))
		length--;
	if (!length)
		return 0;
	name = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
	module = name ? policy_load(name) : NULL;
	if (!module)
		describe(name ? name : Py_None, reason, size);
	Py_XDECREF(name);
	Py_XDECREF(module);
	return module ? 0 : -1;
}

int body_preload(struct span names, char *reason, size_t size)
{
	size_t start = 0;

	if (size)
		reason[0] = '\0';
	for (size_t i = 0; names.bytes && i <= names.length; i++) {
		if (i < names.length && names.bytes[i] != ',')
			continue;
		if (preload_one(names.bytes + start, i - start, reason, size) < 0)
			return -1;
		start = i + 1;
	}
	return 0;
}

int body_site(char *reason, size_t size)
{
	PyObject *name = PyUnicode_FromString("site"), *site = name ? policy_load(name) : NULL;
	PyObject *done = site ? PyObject_CallMethod(site, "main", NULL) : NULL;

	if (!done)
		describe(name ? name : Py_None, reason, size);
	Py_XDECREF(name);
	Py_XDECREF(site);
	Py_XDECREF(done);
	return done ? 0 : -1;
}
