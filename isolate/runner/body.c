/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One body from text to answer.
 *
 * Order matters here. Everything the wrapper needs is bound before the body runs, and memory for
 * the report is set aside, so that a body that filled the memory or changed a library still gets
 * its report. After the call only streams are flushed; the answer is then written by C code that
 * calls nothing of the body's. What the body left behind is kept, not torn down: its destructors
 * would run after its answer, and the process ends anyway.
 */
#include "isolate/wire/body_request.h"
#include "isolate/runner/validator/python.h"

#include "isolate/base/json_write.h"
#include "isolate/runner/arguments.h"
#include "isolate/runner/builtins.h"
#include "isolate/runner/failure.h"
#include "isolate/runner/output.h"
#include "isolate/runner/validator/import_policy.h"
#include "isolate/runner/child.h"
#include "isolate/runner/validator/rules.h"
#include "isolate/runner/validator/syntax_tree.h"
#include "isolate/runner/validator/validate.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_RESERVE = 1024 * 1024, REPORT_BUFFER = 64 * 1024, ERROR_MOST = 16 * 1024 };

struct execution {
	const struct body_request *request;
	bool (*decided)(enum body_decision decision);
	struct body_reply *reply;
	struct program program;
	PyObject *streams[2]; /* sys.stdout and sys.stderr as they were before the body */
	struct buffer error, detail;
	void *reserve; /* memory that is freed when a report must be made */
	size_t output_length;
};

/* What bodies left behind; see above. */
static PyObject *remains;

int body_prepare(void)
{
	return rules_prepare() < 0 || tree_prepare() < 0 || policy_prepare() < 0 ? -1 : 0;
}

/* Holds on to object; an exception that is set stays set. */
static void keep(PyObject *object)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (!remains)
		remains = PyList_New(0);
	if (remains && object)
		PyList_Append(remains, object);
	PyErr_Restore(type, value, traceback);
}

/* Grows a buffer ahead of time. */
static void set_aside(struct buffer *buffer, size_t size)
{
	void *blank = calloc(1, size);

	if (blank)
		buffer_add(buffer, blank, size);
	buffer->length = 0;
	free(blank);
}

static void flush(PyObject *stream)
{
	PyObject *done =
		stream && stream != Py_None ? PyObject_CallMethod(stream, "flush", NULL) : NULL;

	PyErr_Clear();
	Py_XDECREF(done);
}

static void flush_streams(const struct execution *x)
{
	static const char *const names[2] = { "stdout", "stderr" };

	for (int i = 0; i < 2; i++) {
		PyObject *now = PySys_GetObject(names[i]);

		flush(x->streams[i]);
		if (now && now != x->streams[i]) {
			Py_INCREF(now);
			flush(now);
			Py_DECREF(now);
		}
	}
}

/*
 * Runs the wrapping module and calls the function that it defines. A new reference, or NULL with an
 * exception.
 */
static PyObject *call_body(PyObject *code, PyObject *builtins, PyObject *arguments)
{
	PyObject *globals = Py_BuildValue("{s:O,s:s,s:O}", "__builtins__", builtins, "__name__",
		"__main__", "__doc__", Py_None);
	PyObject *nothing = PyTuple_New(0), *done = NULL, *function = NULL, *value = NULL;

	if (globals && nothing)
		done = PyEval_EvalCode(code, globals, globals);
	if (done && (function = PyDict_GetItemString(globals, BODY_FUNCTION))) {
		Py_INCREF(function);
		if (PyDict_DelItemString(globals, BODY_FUNCTION) == 0)
			value = PyObject_Call(function, nothing, arguments);
	}
	keep(globals);
	keep(function);
	Py_XDECREF(globals);
	Py_XDECREF(nothing);
	Py_XDECREF(done);
	Py_XDECREF(function);
	return value;
}

static void release_reserve(struct execution *x)
{
	free(x->reserve);
	x->reserve = NULL;
}

static enum body_verdict fail_with_exception(struct execution *x, const char *stage)
{
	release_reserve(x);
	failure_take(stage, &x->program.source, &x->error, &x->detail);
	return BODY_FAILED;
}

static enum body_verdict write_output(struct execution *x, PyObject *value)
{
	struct output_failure failure;
	size_t room = x->reply->size;

	if (room > x->request->output_limit)
		room = x->request->output_limit;
	if (output_write(value, x->reply->data, room, (size_t)x->request->output_limit,
		    &x->output_length, &failure) == 0)
		return BODY_SUCCEEDED;
	release_reserve(x);
	x->output_length = 0;
	failure_write("execute", failure.type, failure.message, &x->error, &x->detail);
	Py_XDECREF(failure.message);
	return BODY_FAILED;
}

static bool decide(const struct execution *x, enum body_decision decision)
{
	return !x->decided || x->decided(decision);
}

/*
 * What is allowed and not installed is an error before the body runs, and not where it may or may
 * not import it. Returns 0, or -1 with ImportError.
 */
static int check_allowed(const struct session *session)
{
	PyObject *iterator = PyObject_GetIter(session->allow), *name;
	int there = iterator ? 1 : -1;

	while (there == 1 && (name = PyIter_Next(iterator))) {
		there = policy_is_there(name);
		if (there == 0)
			PyErr_Format(PyExc_ImportError, "allowed import not available: %U", name);
		Py_DECREF(name);
	}
	Py_XDECREF(iterator);
	return PyErr_Occurred() ? -1 : 0;
}

static enum body_verdict execute(struct execution *x, const struct session *session)
{
	PyObject *arguments =
			 check_allowed(session) == 0 ? arguments_parse(x->request->args) : NULL,
		 *value;

	if (!arguments)
		return fail_with_exception(x, "execute");
	if (!decide(x, BODY_BEGINS)) {
		Py_DECREF(arguments);
		return BODY_NO_VERDICT;
	}
	value = call_body(x->program.code, session->builtins, arguments);
	keep(arguments);
	Py_DECREF(arguments);
	if (!value) {
		/* The report comes first: flushing runs with no exception pending. */
		enum body_verdict verdict = fail_with_exception(x, "execute");

		flush_streams(x);
		return verdict;
	}
	flush_streams(x);
	keep(value);
	return write_output(x, value);
}

static enum body_verdict refuse(struct execution *x, struct violations *found)
{
	release_reserve(x);
	if (!decide(x, BODY_IS_REFUSED))
		return BODY_NO_VERDICT;
	violations_sort(found);
	violations_summary(found, &x->error);
	violations_detail(found, &x->detail);
	return BODY_REFUSED;
}

static enum body_verdict validate_and_execute(struct execution *x, struct violations *found)
{
	struct session *session = NULL;
	PyObject *capsule = session_open(x->request, &session);
	enum body_verdict verdict;
	bool ran = false;

	if (!capsule || builtins_make(session, capsule) < 0 ||
		program_load(&x->program, x->request, session, found) < 0) {
		verdict = fail_with_exception(x, "validate");
	} else if (!x->program.code || (found->count && !x->request->skip_validation)) {
		verdict = refuse(x, found);
	} else if (x->request->validate_only) {
		verdict = BODY_SUCCEEDED;
		if (x->reply->size >= 4) {
			memcpy(x->reply->data, "null", 4);
			x->output_length = 4;
		}
	} else {
		verdict = execute(x, session);
		ran = true;
	}
	if (ran)
		keep(capsule);
	else if (session)
		session_close(session);
	Py_XDECREF(capsule);
	return verdict;
}

/*
 * Puts one field behind what is there; what does not fit is cut (an error) or replaced (a detail).
 */
static void add_field(struct body_reply *reply, enum body_field field, size_t *used,
	const char *bytes, size_t length)
{
	size_t room = reply->size - *used;

	if (length > room)
		length = room;
	if (length)
		memcpy(reply->data + *used, bytes, length);
	reply->field[field].offset = *used;
	reply->field[field].length = length;
	*used += length;
}

/* Cuts text to at most `most` bytes without splitting a character. */
static size_t cut(const char *text, size_t length, size_t most)
{
	if (length <= most)
		return length;
	while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
		most--;
	return most;
}

static void answer(struct execution *x, enum body_verdict verdict)
{
	static const char no_memory[] = "MemoryError: no memory was left to report the failure";
	static const char no_room[] = "{\"stage\":\"execute\",\"type\":\"Error\",\"message\":\"the "
				      "details did not fit into the report\",\"line\":null,"
				      "\"column\":null,\"traceback\":[]}";
	struct body_reply *reply = x->reply;
	size_t used = 0;

	reply->field[BODY_OUTPUT].offset = 0;
	reply->field[BODY_OUTPUT].length = x->output_length;
	used = x->output_length;
	if (verdict == BODY_FAILED || verdict == BODY_REFUSED) {
		bool lost = x->error.failed || !x->error.length;
		const char *error = lost ? no_memory : x->error.data;

		add_field(reply, BODY_ERROR, &used, error,
			cut(error, lost ? sizeof no_memory - 1 : x->error.length, ERROR_MOST));
		if (!x->detail.failed && x->detail.length && x->detail.length <= reply->size - used)
			add_field(reply, BODY_DETAIL, &used, x->detail.data, x->detail.length);
		else if (sizeof no_room - 1 <= reply->size - used)
			add_field(reply, BODY_DETAIL, &used, no_room, sizeof no_room - 1);
	}
	/* Of a success the details are a mark only: the supervisor has the words for it. */
	if (verdict == BODY_SUCCEEDED && x->program.only_defines && !x->request->validate_only)
		add_field(reply, BODY_DETAIL, &used, "{}", 2);
	__atomic_store_n(&reply->verdict, (uint32_t)verdict, __ATOMIC_RELEASE);
}

void body_perform(const struct body_request *request, bool (*decided)(enum body_decision decision),
	struct body_reply *reply)
{
	struct execution x = { .request = request,
		.decided = decided,
		.reply = reply,
		.error = BUFFER_INIT,
		.detail = BUFFER_INIT };
	struct violations *found = calloc(1, sizeof *found);
	enum body_verdict verdict;

	memset(reply->field, 0, sizeof reply->field);
	reply->verdict = BODY_NO_VERDICT;
	x.reserve = malloc(REPORT_RESERVE);
	set_aside(&x.error, ERROR_MOST);
	set_aside(&x.detail, REPORT_BUFFER);
	x.streams[0] = PySys_GetObject("stdout");
	x.streams[1] = PySys_GetObject("stderr");
	Py_XINCREF(x.streams[0]);
	Py_XINCREF(x.streams[1]);
	if (!found)
		PyErr_NoMemory();
	if (!found || body_prepare() < 0)
		verdict = fail_with_exception(&x, "validate");
	else
		verdict = validate_and_execute(&x, found);
	PyErr_Clear();
	answer(&x, verdict);
	if (found)
		violations_clear(found);
	free(found);
	program_free(&x.program);
	release_reserve(&x);
	buffer_free(&x.error);
	buffer_free(&x.detail);
	Py_XDECREF(x.streams[0]);
	Py_XDECREF(x.streams[1]);
}
