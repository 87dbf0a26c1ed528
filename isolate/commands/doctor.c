/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cordon doctor: what this host can do, and how to get the rest.
 *
 * A check does the thing, rather than reading a setting about it, wherever that is possible:
 * settings are named only to explain a refusal. The failures are the ones that `cordon run` would
 * end with, from the same table.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "isolate/base/cleanup.h"
#include "fs/view/scratch.h"
#include "isolate/commands/print_record.h"
#include "isolate/commands/commands.h"
#include "isolate/commands/help.h"
#include "isolate/sandbox/cgroup.h"
#include "isolate/sandbox/launch.h"
#include "isolate/init/privileges.h"
#include "isolate/options/options.h"
#include "isolate/sandbox/interpreter.h"
#include "isolate/tiers/tier.h"

enum state { STATE_OK, STATE_LESS, STATE_MISSING };

struct finding {
	enum state state;
	char text[1500];
	struct error error; /* STATE_MISSING */
};

struct patient {
	const char *python;
};

static void missing(struct finding *f, const struct error *err)
{
	f->state = STATE_MISSING;
	f->error = *err;
	error_sentence(err, f->text, sizeof f->text);
}

static void check_kernel(const struct patient *p, struct finding *f)
{
	struct error err = ERROR_INIT;
	struct utsname name;

	(void)p;
	if (uname(&name) == 0)
		snprintf(f->text, sizeof f->text, "Linux %s on %s", name.release, name.machine);
	if (launch_check_kernel(&err) < 0)
		missing(f, &err);
}

/*
 * Ubuntu's restriction lets the namespace be made and empties it of capabilities: say so, with a
 * profile that lifts it for this program alone.
 */
static void explain_apparmor(struct finding *f)
{
	char value[8] = "", program[PATH_MAX];
	ssize_t length;
	size_t used;
	int fd = open(
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	length = read(fd, value, sizeof value - 1);
	close(fd);
	if (length < 1 || value[0] != '1')
		return;
	length = readlink("/proc/self/exe", program, sizeof program - 1);
	program[length > 0 ? length : 0] = '\0';
	used = strlen(f->text);
	snprintf(f->text + used, sizeof f->text - used,
		"\n    kernel.apparmor_restrict_unprivileged_userns is 1. This profile, as "
		"/etc/apparmor.d/cordon, lifts it for cordon alone"
		" (then: apparmor_parser -r /etc/apparmor.d/cordon):\n"
		"      abi <abi/4.0>,\n      profile cordon \"%.300s\" flags=(unconfined) {\n      "
		"  userns,\n      }",
		program);
}

static void check_tier(const char *name, struct finding *f)
{
	struct error err = ERROR_INIT;
	const struct tier *tier = tier_find(name, &err);

	if (!tier || tier->probe(&err) < 0) {
		missing(f, &err);
		if (err.code == FAILURE_USERNS_DENIED)
			explain_apparmor(f);
		return;
	}
	snprintf(f->text, sizeof f->text, "%s (level %u)", tier->summary, tier->level);
}

static void check_namespace(const struct patient *p, struct finding *f)
{
	(void)p;
	check_tier("namespace", f);
}

static void check_subprocess(const struct patient *p, struct finding *f)
{
	(void)p;
	check_tier("subprocess", f);
}

/* A body through the whole of it: interpreter, runner, fork server, nested namespaces. */
static void check_python(const struct patient *p, struct finding *f)
{
	static const char BODY[] = "return 6 * 7\n";
	const struct program program = {
		.kind = PROGRAM_BODY, .text = BODY, .length = sizeof BODY - 1
	};
	const struct streams streams = STREAMS_CAPTURE;
	struct error err = ERROR_INIT;
	const struct tier *tier = tier_find("namespace", &err);
	struct python *python = malloc(sizeof *python); /* too large for a small stack */
	struct options options;
	struct record result;
	int status = -1;

	options_init(&options, FOR_EXEC);
	if (!python)
		error_set(&err, FAILURE_RESOURCES_EXHAUSTED, ENOMEM, "looking for the interpreter");
	else if (tier && options_set(&options, FOR_EXEC, "python", p->python, &err) == 0 &&
		python_find(p->python, python, &err) == 0 && record_init(&result, &err) == 0) {
		status = tier->execute(&options, &program, &streams, 0, &result, &err);
		if (status == 0 && !result.success)
			status = error_set(&err, FAILURE_RUNNER_BROKEN, 0,
				"a body that returns 42 failed: %.200s",
				result.error.length ? result.error.data : "");
		if (status == 0)
			snprintf(f->text, sizeof f->text,
				"%.200s runs bodies in the tier namespace (%.0f ms)", python->path,
				(double)result.duration_us / 1000);
		record_free(&result);
	}
	options_free(&options);
	free(python);
	if (status < 0)
		missing(f, &err);
}

/*
 * A directory through the view, to the end: the device, the mount in a user namespace, the server,
 * a program that reads.
 */
static void check_view(const struct patient *p, struct finding *f)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c",
		(char *)"test -d /view && ls /view >/dev/null", NULL };
	const struct program program = { .kind = PROGRAM_COMMAND, .argv = argv };
	const struct streams streams = STREAMS_CAPTURE;
	struct error err = ERROR_INIT;
	const struct tier *tier = tier_find("namespace", &err);
	struct options options;
	struct record result;
	int status = -1;

	(void)p;
	options_init(&options, FOR_RUN);
	if (tier && options_set(&options, FOR_RUN, "ro", "/usr/bin:/view", &err) == 0 &&
		record_init(&result, &err) == 0) {
		status = tier->execute(&options, &program, &streams, 0, &result, &err);
		if (status == 0 && (!result.success || result.view.opened == 0))
			status = error_set(&err, FAILURE_FUSE_UNAVAILABLE, 0,
				"a program could not list a directory through the view");
		record_free(&result);
	}
	options_free(&options);
	if (status == 0) {
		snprintf(f->text, sizeof f->text,
			"paths that are named are shown through FUSE in a user namespace: hidden "
			"things are absent, every open can be seen");
		return;
	}
	missing(f, &err);
	snprintf(f->text + strlen(f->text), sizeof f->text - strlen(f->text),
		"\n    Without it --ro needs --view bind, which loses this: nothing below a named "
		"path is hidden (--hide, --mask and the built-in secrets),"
		" no event says what was opened, host sockets there can be connected to, and there "
		"is no --scratch");
}

static void check_scratch(const struct patient *p, struct finding *f)
{
	struct error err = ERROR_INIT;

	(void)p;
	if (scratch_check(-1, &err) < 0)
		missing(f, &err);
	else
		snprintf(f->text, sizeof f->text,
			"a tmpfs here can hold what a program writes to a directory (--scratch)");
}

static void check_cgroup(const struct patient *p, struct finding *f)
{
	const char *obstacle = cgroup_obstacle();

	(void)p;
	f->state = obstacle ? STATE_LESS : STATE_OK;
	if (obstacle)
		snprintf(f->text, sizeof f->text,
			"memory is held by a watchdog over the sum, every 20 ms, because %s. With "
			"systemd: systemd-run --user --scope -p Delegate=yes cordon ...",
			obstacle);
	else
		snprintf(f->text, sizeof f->text,
			"memory and processes are held by a cgroup (version 2)");
}

static void check_landlock(const struct patient *p, struct finding *f)
{
	int version = landlock_version();

	(void)p;
	f->state = version >= 6 ? STATE_OK : STATE_LESS;
	snprintf(f->text, sizeof f->text,
		"Landlock ABI %d: the tier subprocess %s keep its programs from signalling the "
		"user's other processes",
		version, version >= 6 ? "can" : "cannot");
}

static const struct {
	const char *name;
	bool required; /* by the default tier */
	void (*check)(const struct patient *, struct finding *);
} CHECKS[] = {
	{ "kernel", true, check_kernel },
	{ "tier namespace", true, check_namespace },
	{ "python", true, check_python },
	{ "view", false, check_view },
	{ "scratch", false, check_scratch },
	{ "tier subprocess", false, check_subprocess },
	{ "cgroup", false, check_cgroup },
	{ "landlock", false, check_landlock },
};

static void write_json(struct json_writer *w, size_t i, const struct finding *f)
{
	json_open_object(w);
	json_key(w, "name");
	json_string(w, CHECKS[i].name);
	json_key(w, "required");
	json_bool(w, CHECKS[i].required);
	json_key(w, "state");
	json_string(w, f->state == STATE_OK ? "ok" : f->state == STATE_LESS ? "less" : "missing");
	json_key(w, "text");
	json_string(w, f->text);
	json_key(w, "code");
	json_string(w, f->state == STATE_MISSING ? failure_name(f->error.code) : NULL);
	json_key(w, "fix");
	json_string(w, f->state == STATE_MISSING ? failure_remedy(f->error.code) : NULL);
	json_close_object(w);
}

static int examine(const struct options *o)
{
	static const char *const WORDS[] = { "ok     ", "less   ", "MISSING" };
	const struct patient patient = { o->python };
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	struct json_writer w;
	int status = EXIT_OK, written;

	json_begin(&w, &out);
	if (o->json) {
		json_open_object(&w);
		json_key(&w, "checks");
		json_open_array(&w);
	}
	for (size_t i = 0; i < sizeof CHECKS / sizeof *CHECKS; i++) {
		struct finding f = { .state = STATE_OK, .error = ERROR_INIT };

		CHECKS[i].check(&patient, &f);
		if (f.state == STATE_MISSING && CHECKS[i].required)
			status = EXIT_FAILED;
		if (o->json)
			write_json(&w, i, &f);
		else
			buffer_printf(&out, "%s%s  %-16s %s%s%s%s", i ? "\n" : "", WORDS[f.state],
				CHECKS[i].name, f.text, f.state == STATE_MISSING ? " [" : "",
				f.state == STATE_MISSING ? failure_name(f.error.code) : "",
				f.state == STATE_MISSING ? "]" : "");
	}
	if (o->json) {
		json_close_array(&w);
		json_key(&w, "ready");
		json_bool(&w, status == EXIT_OK);
		json_close_object(&w);
	}
	written = answer_line(&out);
	return written == EXIT_OK ? status : written;
}

int command_doctor(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct options options;
	bool help = false;
	int at, status;

	options_init(&options, FOR_DOCTOR);
	at = options_parse(&options, FOR_DOCTOR, argc, argv, &help, &err);
	if (!help && at >= 0 && at != argc)
		at = error_set(&err, FAILURE_BAD_OPTION, 0,
			"doctor takes no words after its options (\"%.60s\")", argv[at]);
	if (help)
		status = print_command_help(FOR_DOCTOR);
	else if (at < 0)
		status = answer_usage("doctor", &err, options.json);
	else
		status = examine(&options);
	options_free(&options);
	return status;
}
