/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcordon as a program of somebody else's uses it: from two threads at once, with the caller's
 * signals, children and descriptors (field case S8) untouched.
 *
 * Linked against the shared library with nothing but cordon.h, so a name that is not exported shows
 * as a failure to link. The helpers are found through CORDON_LIBEXECDIR, as they are for a program
 * that is installed elsewhere. Every wait is bounded: an alarm ends the program as a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/cordon.h"
#include "tests/unit/tap.h"

#define ROUNDS 10
#define LOWEST 10

static cordon_options *options_of(enum cordon_kind kind)
{
	cordon_error *error = NULL;
	cordon_options *options = cordon_options_new(kind, &error);

	if (!options) {
		diag("cordon_options_new: %s",
			error ? cordon_error_message(error) : "no error given");
		cordon_error_free(error);
		exit(1);
	}
	if (getenv("CORDON_TEST_PYTHON"))
		cordon_options_set(options, "python", getenv("CORDON_TEST_PYTHON"), NULL);
	return options;
}

static bool set(cordon_options *options, const char *name, const char *value)
{
	cordon_error *error = NULL;

	if (cordon_options_set(options, name, value, &error) == 0)
		return true;
	diag("%s: %s", name, cordon_error_message(error));
	cordon_error_free(error);
	return false;
}

static cordon_program *body_of(const char *text)
{
	return cordon_program_body(text, strlen(text), NULL);
}

/* Executes and returns the result, or NULL after saying why. */
static cordon_result *execute(const cordon_options *options, const cordon_program *program,
	const struct cordon_streams *streams)
{
	cordon_error *error = NULL;
	cordon_result *result = NULL;

	if (cordon_execute(options, program, streams, &result, &error) == 0)
		return result;
	diag("cordon_execute: %s", error ? cordon_error_message(error) : "no error given");
	cordon_error_free(error);
	return NULL;
}

/* What stands behind the lowest descriptors: one that was closed and opened again would show. */
static void look_at_descriptors(struct stat looks[LOWEST])
{
	memset(looks, 0, LOWEST * sizeof *looks);
	for (int fd = 0; fd < LOWEST; fd++)
		if (fstat(fd, &looks[fd]) == -1)
			looks[fd].st_ino = 0;
}

static bool same_descriptors(const struct stat one[LOWEST], const struct stat other[LOWEST])
{
	for (int fd = 0; fd < LOWEST; fd++)
		if (one[fd].st_dev != other[fd].st_dev || one[fd].st_ino != other[fd].st_ino) {
			diag("descriptor %d is not what it was", fd);
			return false;
		}
	return true;
}

static unsigned open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count;
}

/* ---- one after the other ---- */

static void test_body(void)
{
	cordon_options *options = options_of(CORDON_EXEC);
	cordon_program *program = body_of("import re\nreturn re.findall(r'\\d+', args['text'])");
	cordon_result *result;
	size_t length = 0;

	ok(set(options, "allow", "re") && set(options, "args", "{\"text\":\"a1 b22 c333\"}"),
		"options of a body are taken");
	result = execute(options, program, NULL);
	ok(result && cordon_result_success(result), "a body runs");
	if (result) {
		const char *output = cordon_result_output(result, &length);

		ok(output && length == strlen(output) && strstr(output, "\"333\""),
			"its value comes back as JSON text");
		ok(strstr(cordon_result_json(result, &length), "\"success\":true") &&
				strlen(cordon_result_json(result, NULL)) == length,
			"so does the record");
		ok(cordon_result_status(result) == 0 && !cordon_result_error(result) &&
				!cordon_result_refused(result),
			"status, error and refusal agree");
		ok(*cordon_result_execution_id(result) != '\0' &&
				cordon_result_duration_ms(result) > 0,
			"it has an id and took time");
	} else {
		skip(4, "the body did not run");
	}
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

static void test_refusal(void)
{
	cordon_options *options = options_of(CORDON_EXEC);
	cordon_program *program = body_of("import os\nreturn eval('1')");
	cordon_result *result = NULL;

	ok(cordon_validate(options, program, &result, NULL) == 0 && result &&
			!cordon_result_success(result) && cordon_result_refused(result),
		"validation refuses, and that is a result");
	ok(result && strstr(cordon_result_json(result, NULL), "\"violations\""),
		"with every violation in the record");
	cordon_result_free(result);
	result = execute(options, program, NULL);
	ok(result && cordon_result_refused(result) && cordon_result_status(result) == 2,
		"execution refuses the same");
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

static void test_command(void)
{
	static const char *const argv[] = { "/bin/sh", "-c",
		"printf 'a\\000b'; echo err >&2; exit 7", NULL };
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_command(argv, NULL);
	cordon_result *result = execute(options, program, NULL);
	size_t length = 0;

	ok(result && cordon_result_exit_code(result) == 7 && cordon_result_status(result) == 7 &&
			cordon_result_signal(result) == 0,
		"a command's status comes back");
	ok(result && memcmp(cordon_result_stdout(result, &length), "a\0b", 4) == 0 && length == 3,
		"and its bytes, NUL among them");
	ok(result && strcmp(cordon_result_stderr(result, &length), "err\n") == 0,
		"and what it said on standard error");
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

static void test_timeout(void)
{
	static const char script[] = "while True: pass";
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_script(script, sizeof script - 1, NULL, NULL);
	cordon_result *result;

	set(options, "timeout", "0.3");
	result = execute(options, program, NULL);
	ok(result && cordon_result_timed_out(result) && cordon_result_status(result) == 124,
		"the clock ends a script");
	ok(result && cordon_result_error(result) &&
			strcmp(cordon_result_error(result),
				"sandbox execution timed out after 0.30s") == 0,
		"in the words of the contract");
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

static void test_errors(void)
{
	static const char *const argv[] = { "true", NULL };
	static const char *const nothing[] = { NULL };
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_command(argv, NULL), *body = body_of("return 1");
	cordon_result *result = NULL;
	cordon_error *error = NULL;

	ok(cordon_options_set(options, "timeout", "soon", &error) == -1 && error &&
			strcmp(cordon_error_code(error), "bad_option") == 0,
		"a bad value is bad_option");
	ok(error && strstr(cordon_error_message(error), "timeout") &&
			*cordon_error_json(error, NULL) == '{',
		"that names the option, also as JSON");
	cordon_error_free(error);
	error = NULL;
	ok(cordon_options_set(options, "no-such-option", "1", &error) == -1 && error,
		"an unknown option is an error");
	cordon_error_free(error);
	error = NULL;
	ok(!cordon_program_command(nothing, &error) && error &&
			strcmp(cordon_error_code(error), "bad_input") == 0,
		"an empty argv is bad_input");
	cordon_error_free(error);
	error = NULL;
	ok(cordon_validate(options, program, &result, &error) == -1 && error && !result,
		"a command cannot be validated");
	cordon_error_free(error);
	error = NULL;
	ok(cordon_execute(options, body, NULL, &result, &error) == -1 && error && !result,
		"a body needs options of its kind");
	cordon_error_free(error);
	error = NULL;
	set(options, "ro", "/no/such/directory");
	ok(cordon_execute(options, program, NULL, &result, &error) == -1 && error &&
			strcmp(cordon_error_code(error), "path_missing") == 0,
		"a failure of cordon itself has its name");
	cordon_error_free(error);
	cordon_options_free(NULL);
	cordon_program_free(NULL);
	cordon_result_free(NULL);
	cordon_error_free(NULL);
	cordon_program_free(body);
	cordon_program_free(program);
	cordon_options_free(options);
}

static void test_streams(void)
{
	static const char *const argv[] = { "cat", NULL };
	struct cordon_streams streams = CORDON_STREAMS_INIT;
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_command(argv, NULL);
	cordon_result *result = NULL;
	char got[64] = "";
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1) {
		ok(false, "pipes");
		return;
	}
	set(options, "stdin", NULL);
	streams.input = in[0];
	streams.output = out[1];
	ok(write(in[1], "through", 7) == 7 && close(in[1]) == 0, "something to read");
	result = execute(options, program, &streams);
	ok(result && cordon_result_exit_code(result) == 0,
		"a command runs on descriptors of the caller's");
	ok(fcntl(out[1], F_GETFD) != -1 && close(out[1]) == 0, "which stay open");
	ok(read(out[0], got, sizeof got - 1) == 7 && strcmp(got, "through") == 0,
		"and carry its bytes");
	close(out[0]);
	close(in[0]);
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

/* ---- two threads ---- */

struct work {
	const cordon_options *options;
	const cordon_program *program;
	const char *wanted;
	int good;
};

static void *work_on(void *argument)
{
	struct work *w = argument;

	for (int i = 0; i < ROUNDS; i++) {
		cordon_result *result = NULL;

		if (cordon_execute(w->options, w->program, NULL, &result, NULL) == 0 &&
			cordon_result_output(result, NULL) &&
			strcmp(cordon_result_output(result, NULL), w->wanted) == 0)
			w->good++;
		cordon_result_free(result);
	}
	return NULL;
}

static void test_threads(void)
{
	cordon_options *first = options_of(CORDON_EXEC), *second = options_of(CORDON_EXEC);
	cordon_program *program = body_of("return args['n'] * 2");
	struct work work[4] = { { first, program, "42", 0 }, { second, program, "2000", 0 },
		{ first, program, "42", 0 }, { second, program, "2000", 0 } };
	pthread_t threads[4];
	unsigned before = open_descriptors();

	set(first, "args", "{\"n\":21}");
	set(second, "args", "{\"n\":1000}");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work_on, &work[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		ok(work[i].good == ROUNDS, "thread %d got its own answers (%d of %d)", i,
			work[i].good, ROUNDS);
	ok(open_descriptors() == before, "no descriptor is left open");
	cordon_program_free(program);
	cordon_options_free(first);
	cordon_options_free(second);
}

static void *kill_soon(void *argument)
{
	int fd = *(int *)argument;
	unsigned char number = SIGKILL;

	if (write(fd, &number, 1) != 1)
		diag("write to the control descriptor: %s", strerror(errno));
	return NULL;
}

static void test_control(void)
{
	static const char *const argv[] = { "sleep", "1000", NULL };
	struct cordon_streams streams = CORDON_STREAMS_INIT;
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_command(argv, NULL);
	cordon_result *result;
	pthread_t thread;
	int control[2];

	if (pipe2(control, O_CLOEXEC) == -1) {
		ok(false, "pipe");
		return;
	}
	streams.control = control[0];
	pthread_create(&thread, NULL, kill_soon, &control[1]);
	result = execute(options, program, &streams);
	pthread_join(thread, NULL);
	ok(result && !cordon_result_success(result),
		"a byte on the control descriptor ends an execution from another thread");
	close(control[0]);
	close(control[1]);
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

/*
 * ---- what is the caller's stays the caller's
 * ---------------------------------------------------------------------------
 */

static volatile sig_atomic_t seen;

static void on_signal(int number)
{
	seen = number;
}

static void test_caller(void)
{
	static const char *const argv[] = { "sh", "-c", "exit 9", NULL };
	struct sigaction mine = { .sa_handler = on_signal }, after;
	cordon_options *options = options_of(CORDON_RUN);
	cordon_program *program = cordon_program_command(argv, NULL);
	cordon_result *result;
	sigset_t before_mask, after_mask;
	char before_cwd[4096], after_cwd[4096];
	pid_t child;
	int status = 0;

	sigaction(SIGUSR1, &mine, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &before_mask);
	ok(getcwd(before_cwd, sizeof before_cwd) != NULL, "a working directory to compare with");
	child = fork();
	if (child == 0)
		_exit(77);
	result = execute(options, program, NULL);
	ok(result && cordon_result_exit_code(result) == 9,
		"a command runs beside a child of the caller's own");
	cordon_result_free(result);
	ok(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 77,
		"whose status is still there to be read");
	sigaction(SIGUSR1, NULL, &after);
	pthread_sigmask(SIG_SETMASK, NULL, &after_mask);
	ok(after.sa_handler == on_signal && memcmp(&before_mask, &after_mask, sizeof(long)) == 0,
		"signal handlers and mask are as they were");
	ok(getcwd(after_cwd, sizeof after_cwd) && strcmp(before_cwd, after_cwd) == 0,
		"so is the directory");

	signal(SIGCHLD, SIG_IGN);
	result = execute(options, program, NULL);
	ok(result && cordon_result_exit_code(result) == 9,
		"a caller that ignores SIGCHLD gets the status too");
	ok(signal(SIGCHLD, SIG_DFL) == SIG_IGN, "and still ignores it");
	cordon_result_free(result);
	cordon_program_free(program);
	cordon_options_free(options);
}

int main(void)
{
	const char *libexec = getenv("CORDON_TEST_LIBEXECDIR");
	struct stat before[LOWEST], after[LOWEST];

	plan(0);
	alarm(120);
	if (libexec)
		setenv("CORDON_LIBEXECDIR", libexec, 1);
	ok(strspn(cordon_version(), "0123456789.") == strlen(cordon_version()) &&
			strchr(cordon_version(), '.'),
		"the library has a version");
	look_at_descriptors(before);
	test_body();
	look_at_descriptors(after);
	ok(same_descriptors(before, after),
		"the caller's descriptors are what they were before the first execution");
	test_refusal();
	test_command();
	test_timeout();
	test_errors();
	test_streams();
	test_threads();
	test_control();
	test_caller();
	look_at_descriptors(after);
	ok(same_descriptors(before, after), "and after the last one");
	return done();
}
