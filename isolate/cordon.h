/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcordon: validate and run generated code in Linux namespaces, and get one honest record of what
 * happened.
 *
 *	cordon_options *options = cordon_options_new(CORDON_EXEC, &error);
 *	cordon_options_set(options, "allow", "re", &error);
 *	cordon_options_set(options, "args", "{\"text\":\"a1 b22\"}", &error);
 *	cordon_program *body = cordon_program_body(text, length, &error);
 *	if (cordon_execute(options, body, NULL, &result, &error) == 0)
 *		puts(cordon_result_json(result, NULL));
 *
 * What the code does is never an error of the library. Code that raises, is refused, runs out of
 * time or is killed gives a result, with success false. An error is kept for cordon's own failures
 * (no namespace to be had, no interpreter, an option that is not valid), and carries a short name
 * out of a closed list, which may be compared.
 *
 * Every function may be called from any thread. A handle may be used by one thread at a time, with
 * one exception: options and programs are only read by cordon_validate and cordon_execute, so
 * several threads may execute with the same ones at once. The library never ends the process,
 * installs no signal handler, changes no signal mask, directory, environment or other state of the
 * caller's, and waits for no child but its own, even when the caller ignores SIGCHLD. Every
 * descriptor it opens is close-on-exec. When the calling process dies, by whatever signal, its
 * sandboxes die with it.
 *
 * Functions that can fail take a cordon_error ** as their last argument. It may be NULL. On failure
 * *error becomes an error to be freed with cordon_error_free; on success it is left as it was. The
 * free functions take NULL.
 */
#ifndef CORDON_H
#define CORDON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is exported. Everything else in the library is hidden. */
#if defined(__GNUC__)
#define CORDON_API __attribute__((visibility("default")))
#else
#define CORDON_API
#endif

typedef struct cordon_options cordon_options;
typedef struct cordon_program cordon_program;
typedef struct cordon_result cordon_result;
typedef struct cordon_error cordon_error;

/* The version of the library that is linked, "0.1.0". Static. */
CORDON_API const char *cordon_version(void);

/*
 * --- Options: tier, limits, view, network and environment of an execution ---
 *
 * The names and values are those of the command line, without dashes; cordon(1) lists them. Which
 * options there are, and their defaults, follow from what is to be run.
 */
enum cordon_kind {
	CORDON_RUN = 1, /* a command or a script: the options of `cordon run` */
	CORDON_EXEC = 2 /* a body: the options of `cordon exec` */
};

/*
 * Makes options with the defaults of that kind. Returns NULL for an unknown kind (bad_option) or
 * without memory (resources_exhausted).
 */
CORDON_API cordon_options *cordon_options_new(enum cordon_kind kind, cordon_error **error);

/*
 * Sets one option. value is text as on the command line, or NULL for a flag; it is copied. Lists
 * are added to. Returns 0, or -1 with bad_option (no such option, or a value that is not valid: the
 * message names option, value and range), or path_missing for "args" of the form @FILE whose file
 * cannot be read. On failure the option keeps its value.
 */
CORDON_API int cordon_options_set(
	cordon_options *options, const char *name, const char *value, cordon_error **error);

/*
 * Applies a profile: JSON text of that length whose keys are option names (profile.schema.json).
 * name is what messages call it. Returns 0, or -1 with bad_option; keys before the one at fault
 * have then been applied.
 */
CORDON_API int cordon_options_profile(cordon_options *options, const char *name, const char *text,
	size_t length, cordon_error **error);

CORDON_API void cordon_options_free(cordon_options *options);

/*
 * --- Programs: what is to be run ---
 *
 * All text is copied. It may hold any bytes: text that Python cannot use is refused by validation,
 * or fails as a program, and either is a result. Returns NULL with bad_input (too long, empty argv)
 * or resources_exhausted.
 */

/*
 * A function body that sees `args` and returns a JSON value. Validated before it is called. Needs
 * options of CORDON_EXEC.
 */
CORDON_API cordon_program *cordon_program_body(
	const char *text, size_t length, cordon_error **error);

/*
 * A whole Python program. name is what tracebacks call it, NULL for "<script>". Needs options of
 * CORDON_RUN.
 */
CORDON_API cordon_program *cordon_program_script(
	const char *text, size_t length, const char *name, cordon_error **error);

/*
 * A command with its arguments, ended by NULL, looked up on the PATH inside the sandbox. Needs
 * options of CORDON_RUN.
 */
CORDON_API cordon_program *cordon_program_command(const char *const *argv, cordon_error **error);

CORDON_API void cordon_program_free(cordon_program *program);

/*
 * --- Validate and execute ---
 */

/*
 * Where the program's standard streams go while it runs. Start from CORDON_STREAMS_INIT.
 * Descriptors stay the caller's, are not closed, and keep their flags.
 */
struct cordon_streams {
	size_t size; /* sizeof (struct cordon_streams): lets later versions add members */
	int input;   /* read by the program; -1 = /dev/null. Needs the option "stdin" */
	int output;  /* receives standard output as it comes; -1 = captured into the result */
	int error;   /* the same for standard error */
	/*
	 * Each byte read from it is a signal number to pass on to the program (TERM INT HUP USR1
	 * USR2 CONT WINCH), and 9 ends the sandbox; -1 = none. At its end of file nothing happens.
	 */
	int control;
};

#define CORDON_STREAMS_INIT \
	{ \
		sizeof(struct cordon_streams), -1, -1, -1, -1 \
	}

/*
 * Checks a body against the rules, in a sandbox, without running it. Returns 0 and a result in
 * *result (to be freed): success true, or false with error_detail listing every violation. Returns
 * -1 with an error for a failure of cordon itself, or with bad_input for a program that is no body;
 * *result is then NULL.
 */
CORDON_API int cordon_validate(const cordon_options *options, const cordon_program *program,
	cordon_result **result, cordon_error **error);

/*
 * Runs the program in a fresh sandbox and waits for its end; a body is validated first. streams may
 * be NULL: no input, output captured. Returns 0 and a result in *result (to be freed) whatever the
 * code did, or -1 with an error for a failure of cordon itself; *result is then NULL.
 *
 * When it returns, nothing of the sandbox is left: no process, mount, cgroup or file. Without a
 * "timeout" option it waits for as long as the program runs; `control` ends it from another thread.
 */
CORDON_API int cordon_execute(const cordon_options *options, const cordon_program *program,
	const struct cordon_streams *streams, cordon_result **result, cordon_error **error);

/*
 * --- Results ---
 *
 * Pointers that these functions return belong to the result and are good until it is freed. length
 * may be NULL. Texts are NUL-terminated as well, but may hold NUL bytes inside their length.
 */

/* The whole record as one line of JSON without a newline (record.schema.json). */
CORDON_API const char *cordon_result_json(const cordon_result *result, size_t *length);

/*
 * Whether the program did what it was asked to: the body returned a JSON value, the command or
 * script ended with 0, validation found nothing.
 */
CORDON_API bool cordon_result_success(const cordon_result *result);

/* Whether validation refused the code, so that it never ran. */
CORDON_API bool cordon_result_refused(const cordon_result *result);

/*
 * What a body returned, as JSON text to the byte; NULL when it returned nothing that could be had,
 * and for commands and scripts.
 */
CORDON_API const char *cordon_result_output(const cordon_result *result, size_t *length);

/*
 * One line, "Type: message", or NULL. It is UTF-8 and comes from the code: pass it through
 * cordon_text_visible before a person sees it.
 */
CORDON_API const char *cordon_result_error(const cordon_result *result);

/*
 * The bytes captured of standard output and standard error, as they were written, at most
 * "output-limit" of each; empty when they were passed through.
 */
CORDON_API const char *cordon_result_stdout(const cordon_result *result, size_t *length);
CORDON_API const char *cordon_result_stderr(const cordon_result *result, size_t *length);

/* How many bytes of each were dropped over the limit. */
CORDON_API uint64_t cordon_result_stdout_dropped(const cordon_result *result);
CORDON_API uint64_t cordon_result_stderr_dropped(const cordon_result *result);

/* The program's exit status, or -1 when a signal ended it or it never ran. */
CORDON_API int cordon_result_exit_code(const cordon_result *result);

/* The number of the signal that ended it, or 0. */
CORDON_API int cordon_result_signal(const cordon_result *result);

CORDON_API bool cordon_result_timed_out(const cordon_result *result);

/* Whether the memory limit ended it. */
CORDON_API bool cordon_result_oom(const cordon_result *result);

/* Wall time in milliseconds. */
CORDON_API double cordon_result_duration_ms(const cordon_result *result);

CORDON_API const char *cordon_result_execution_id(const cordon_result *result);

/* The exit status that the command line gives for this result (cordon(1), EXIT STATUS). */
CORDON_API int cordon_result_status(const cordon_result *result);

CORDON_API void cordon_result_free(cordon_result *result);

/*
 * --- Errors ---
 */

/*
 * The short name: "userns_denied", "interpreter_missing", ... (cordon(1), FAILURE CODES). Static,
 * never NULL, never changed between versions.
 */
CORDON_API const char *cordon_error_code(const cordon_error *error);

/*
 * What was tried on what, what it means, what the kernel said and what to do: one printable
 * sentence for people.
 */
CORDON_API const char *cordon_error_message(const cordon_error *error);

/* What puts it right, for people. Static. */
CORDON_API const char *cordon_error_remedy(const cordon_error *error);

/* The errno that the kernel gave, or 0 when it had no part in it. */
CORDON_API int cordon_error_errno(const cordon_error *error);

/* The same as one line of JSON, as `cordon run --json` prints it when cordon itself fails. */
CORDON_API const char *cordon_error_json(const cordon_error *error, size_t *length);

CORDON_API void cordon_error_free(cordon_error *error);

/*
 * --- Text of others, for people ---
 */

/*
 * Makes text that others wrote safe to show on a terminal: controls, escape sequences,
 * bidirectional and invisible characters become <U+202E>, bytes that are no UTF-8 <0xFF>. With
 * lines true newline and tab pass. Returns a NUL-terminated string to be freed with free(3), its
 * length in *shown_length unless that is NULL; or NULL without memory.
 */
CORDON_API char *cordon_text_visible(
	const void *bytes, size_t length, bool lines, size_t *shown_length);

#ifdef __cplusplus
}
#endif

#endif
